#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codes.hpp"
#include "target.hpp"

namespace tritree {

/// The cells of all codes of one column, `layout.width` integers each, missing last.
using Histogram = std::vector<std::int64_t>;

/// Return the size of a column's histogram.
inline std::size_t histogram_size(const CodedColumn& column, const Layout& layout) {
    return (std::size_t{column.n_codes} + 1) * static_cast<std::size_t>(layout.width);
}

/// A column, and the histogram that it is counted into.
struct Counting {
    const CodedColumn* column;
    Histogram* histogram;
};

/// Count the node's rows into the histograms, which are made anew.
void count_rows(std::span<const Counting> countings, const NodeRows& node, const Layout& layout);

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
    void add_to(std::size_t cell, std::int64_t* sum) const {
        if (histogram_ == nullptr) return add_items_to(cell, sum);
        const std::int64_t* from = &(*histogram_)[codes_[cell] * static_cast<std::size_t>(width_)];
        sum[0] += from[0];
        sum[1] += from[1];
        for (int k = 2; k < width_; ++k) sum[k] += from[k];
    }

  private:
    void add_items_to(std::size_t cell, std::int64_t* sum) const;
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
