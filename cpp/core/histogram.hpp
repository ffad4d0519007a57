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
/// rows. A node with rows enough reads them off a histogram; a smaller one pays only for the codes it has.
/// All ways give the same integers.
class Cells {
  public:
    /// Read the cells off a histogram, which must outlive them.
    void from_histogram(const Histogram& histogram, std::uint32_t n_codes, const Layout& layout);
    /// Collect the cells of a node whose rows are few beside the column's codes.
    void from_rows(const CodedColumn& column, const NodeRows& node, const Layout& layout);

    /// Give memory back if the cells took more than so many integers; the cells are gone then.
    void trim(std::size_t n_integers) {
        if (collected_.capacity() > n_integers) collected_ = Cell();
    }

    std::size_t size() const { return codes_.size(); }
    std::uint32_t code(std::size_t cell) const { return codes_[cell]; }
    const std::vector<std::int64_t>& missing() const { return missing_; }
    const std::int64_t* at(std::size_t cell) const {
        return cells_ + place(cell) * static_cast<std::size_t>(width_);
    }
    /// Add a cell to `sum`.
    void add_to(std::size_t cell, std::int64_t* sum) const {
        const std::int64_t* from = at(cell);
        sum[0] += from[0];
        sum[1] += from[1];
        for (int k = 2; k < width_; ++k) sum[k] += from[k];
    }

  private:
    std::size_t place(std::size_t cell) const { return dense_ ? cell : codes_[cell]; }
    void from_marks(const CodedColumn& column, const NodeRows& node, const Layout& layout);
    void from_sorting(const CodedColumn& column, const NodeRows& node, const Layout& layout);

    int width_ = 2;
    bool dense_ = false;  // cell i is the i-th of cells_, not that of its code
    const std::int64_t* cells_ = nullptr;
    std::vector<std::uint32_t> codes_;
    std::vector<std::int64_t> missing_;
    std::vector<std::int64_t> collected_;  // the cells themselves, unless they are those of a histogram
    std::vector<std::uint64_t> items_;     // from_sorting
    Histogram marked_;                     // from_marks: zero between calls, and a bit per code
    std::vector<std::uint64_t> marks_;
};

/// Say whether a histogram is cheaper than reading the rows one by one.
inline bool histogram_pays(std::size_t n_rows, std::uint32_t n_codes, const Layout& layout) {
    return std::size_t{n_codes} * layout.width <= 8 * n_rows;
}

}  // namespace tritree
