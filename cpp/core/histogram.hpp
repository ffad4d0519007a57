#pragma once

#include <cstdint>
#include <vector>

#include "codes.hpp"
#include "target.hpp"

namespace tritree {

/// The cells of all codes of one column, `layout.width` integers each, missing last.
using Histogram = std::vector<std::int64_t>;

/// Add the node's rows to the histogram of a column.
void count_rows(const CodedColumn& column, const NodeRows& node, const Layout& layout, Histogram& histogram);

/// Take `other` off `histogram`: what is left of a parent is its other child.
void subtract(Histogram& histogram, const Histogram& other);

/// The non-empty cells of one column in one node, in the order of their codes, and the cell of its missing
/// rows.
///
/// They come from a histogram where the node has rows enough to make one worth while, and from sorting the
/// node's rows otherwise, so that a small node never pays for codes it has not got. Both give the same
/// integers.
class Cells {
  public:
    /// Count or sort the node's rows, whichever is cheaper; `histogram` is used, and outlives the cells.
    void read(const CodedColumn& column, const NodeRows& node, const Layout& layout, Histogram& histogram);
    /// Read the cells off a histogram.
    void from_histogram(const Histogram& histogram, std::uint32_t n_codes, const Layout& layout);
    /// Collect the cells by sorting the node's rows by code.
    void from_sorting(const CodedColumn& column, const NodeRows& node, const Layout& layout);

    std::size_t size() const { return codes_.size(); }
    std::uint32_t code(std::size_t cell) const { return codes_[cell]; }
    const std::vector<std::int64_t>& missing() const { return missing_; }
    /// Add a cell to `sum`.
    void add_to(std::size_t cell, std::int64_t* sum) const;

  private:
    void add_item(std::uint32_t item, std::int64_t* sum) const;

    int width_ = 2;
    std::vector<std::uint32_t> codes_;
    std::vector<std::int64_t> missing_;
    const Histogram* histogram_ = nullptr;
    // by sorting: the node's rows (their positions in it) of cell i are items_[begin_[i] ... begin_[i + 1]]
    const NodeRows* node_ = nullptr;
    const Layout* layout_ = nullptr;
    std::vector<std::uint64_t> items_;
    std::vector<std::uint32_t> begin_;
};

/// Say whether a histogram is cheaper than sorting for this many rows.
inline bool histogram_pays(std::size_t n_rows, std::uint32_t n_codes, const Layout& layout) {
    return std::size_t{n_codes} * layout.width <= 8 * n_rows;
}

}  // namespace tritree
