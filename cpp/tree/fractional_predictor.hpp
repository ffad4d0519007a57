#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tree/binned_tree.hpp"

namespace tritree {

/// Traverses boosted trees under the strategy `fractional`: a row goes both ways where its value is missing,
/// and its prediction is the mean of those of the children, weighted by their fractions. Calls reuse the
/// buffers of earlier ones.
class FractionalPredictor {
  public:
    /// Predict consecutive rows.
    void predict(const BinnedTree& tree, const BinnedRows& binned, std::size_t begin, std::size_t end,
                 double* predictions);
    /// Find for each of the consecutive rows the leaf with its largest fraction; the leftmost at a tie.
    void apply(const BinnedTree& tree, const BinnedRows& binned, std::size_t begin, std::size_t end,
               std::int32_t* nodes);

  private:
    template <class F>
    void for_each_batch(const BinnedTree& tree, std::size_t begin, std::size_t end, F&& f);
    void traverse(const BinnedTree& tree, const BinnedRows& binned, std::size_t begin, std::size_t end);
    void compute_fractions(const BinnedTree& tree);

    // Per visit. The first visits are those of the rows; a left child is followed by its right sibling.
    std::vector<std::uint32_t> row_;
    std::vector<std::int32_t> node_;          // a leaf, or where the row goes both ways
    std::vector<std::uint32_t> first_child_;  // the visit of the left child; 0 in a leaf
    std::vector<double> fraction_, prediction_;
};

}  // namespace tritree
