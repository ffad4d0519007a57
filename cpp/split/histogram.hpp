#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/binned_columns.hpp"
#include "split/node_stats.hpp"

namespace tritree {

/// Histogram of one column: a cell of `layout.width` integers per bin, missing values last.
using Histogram = std::vector<std::int64_t>;

inline std::size_t histogram_size(const BinnedColumn& column, const CellLayout& layout) {
    return (std::size_t{column.n_bins} + 1) * static_cast<std::size_t>(layout.width);
}

/// A column and the histogram to be built from it.
struct ColumnHistogram {
    const BinnedColumn* column;
    Histogram* histogram;
};

/// Build the histograms of a node.
void build_histograms(std::span<const ColumnHistogram> columns, const NodeSamples& node,
                      const CellLayout& layout);

/// Subtract `other` from `histogram`: a parent minus one child is the other child.
void subtract(Histogram& histogram, const Histogram& other);

/// The non-empty cells of one column in one node, in the order of their bins, and the cell of its missing
/// rows. Large nodes read them from a histogram; small ones collect only the bins that occur. The integers
/// are the same.
class CellReader {
  public:
    /// Read the cells from a histogram, which must outlive them.
    void from_histogram(const Histogram& histogram, std::uint32_t n_bins, const CellLayout& layout);
    /// Collect the cells of a node that has few rows compared with the bins of the column.
    void from_rows(const BinnedColumn& column, const NodeSamples& node, const CellLayout& layout);

    /// Free the memory of collected cells if it exceeds `n_integers`, which invalidates them.
    void trim(std::size_t n_integers) {
        if (collected_.capacity() > n_integers) collected_ = CellSums();
    }

    std::size_t size() const { return bins_.size(); }
    std::uint32_t bin(std::size_t cell) const { return bins_[cell]; }
    const CellSums& missing() const { return missing_; }
    const std::int64_t* at(std::size_t cell) const {
        return cells_ + (dense_ ? cell : bins_[cell]) * static_cast<std::size_t>(width_);
    }
    /// Add a cell to `sum`.
    void add_to(std::size_t cell, std::int64_t* sum) const {
        const std::int64_t* from = at(cell);
        sum[0] += from[0];
        sum[1] += from[1];
        for (int k = 2; k < width_; ++k) sum[k] += from[k];
    }

  private:
    void from_bitmap(const BinnedColumn& column, const NodeSamples& node, const CellLayout& layout);
    void from_sorting(const BinnedColumn& column, const NodeSamples& node, const CellLayout& layout);

    int width_ = 2;
    bool dense_ = false;  // cells_ has the non-empty cells only
    const std::int64_t* cells_ = nullptr;
    std::vector<std::uint32_t> bins_;
    CellSums missing_;
    CellSums collected_;                    // the cells, unless they are those of a histogram
    std::vector<std::uint64_t> sort_keys_;  // from_sorting
    Histogram sparse_;                      // from_bitmap: zero between calls
    std::vector<std::uint64_t> used_;       // from_bitmap: a bit per bin
};

/// Return whether building a histogram is cheaper than collecting the bins that occur.
inline bool histogram_pays(std::size_t n_rows, std::uint32_t n_bins, const CellLayout& layout) {
    return std::size_t{n_bins} * layout.width <= 8 * n_rows;
}

}  // namespace tritree
