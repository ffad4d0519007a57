#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "data/binned_rows.hpp"
#include "grow/boosted_grower.hpp"
#include "tree/binned_tree.hpp"

namespace tritree {

/// Fewer bins per column: a third branch has too few rows to need many, and grows four times as fast.
struct CoarseBins {
    static constexpr std::uint32_t kMaxBins = 64;  ///< of a numeric column; categories are not merged

    BinMapper mapper;
    std::vector<std::vector<std::uint16_t>> coarse_bin;      ///< by column and bin, missing included
    std::vector<std::vector<std::uint16_t>> first_fine_bin;  ///< by column and coarse bin

    CoarseBins() = default;
    explicit CoarseBins(const BinMapper& fine);
};

/// Background rows: a sample of the training rows, from which third branches grow.
class BackgroundRows {
  public:
    BackgroundRows(BinnedRows rows_, std::vector<double> weight_, const BinMapper& mapper);

    BinnedRows rows;
    std::vector<double> weight;  ///< empty if all rows have weight 1
    CoarseBins coarse;
    BinnedRows coarse_rows;
};

/// Grows third branches of a boosted tree.
///
/// The third branch of a split on a column is a tree on the other columns, fitted to the predictions of the
/// split's own left and right branches for the background rows of the node whose value is observed. It
/// depends on the tree, the background rows and the path of the node, but not on the order in which branches
/// are grown.
class ThirdBranchGrower {
  public:
    /// `previous` is the sum of the preceding trees for each background row; without it no variance is
    /// estimated.
    ThirdBranchGrower(BinnedTree& tree, const BackgroundRows& background, const BinMapper& mapper,
                      const GrowthParameters& params, std::span<const double> previous = {});

    /// Traverse rows from the nodes `at` down to leaves, growing the branches that they need.
    void traverse(const BinnedRows& binned, std::span<const std::uint32_t> rows, std::int32_t* at);
    /// Grow the third branches of nodes, as far as the limit allows.
    void grow_branches(std::vector<std::int32_t> nodes);

  private:
    /// A binary subtree, the fitted tree or a third branch, with the background rows in the order of its
    /// nodes.
    struct Subtree {
        std::int32_t root = 0;
        std::vector<std::uint32_t> rows;
        std::vector<RowRange> ranges;  ///< of its nodes
    };

    void grow(std::int32_t node);
    const Subtree& subtree_of(std::int32_t node);
    Subtree restore_subtree(std::int32_t root) const;
    void partition_subtree(Subtree& subtree) const;
    std::vector<std::int32_t> usable_columns(std::int32_t root) const;
    std::vector<std::uint32_t> sample(std::int32_t node, const Subtree& subtree) const;
    std::vector<double> predictions_below(std::int32_t node, const std::vector<std::uint32_t>& rows);
    BinnedRows gather_coarse_rows(const std::vector<std::uint32_t>& rows) const;
    void fit(Subtree& subtree, const std::vector<double>& target);
    void to_fine_bins(std::int32_t first);
    void estimate_variance(const Subtree& subtree);
    bool is_full() const { return tree_.arrays.n_grown() >= params_.max_third_nodes; }
    std::int32_t root_of(std::int32_t node) const;
    std::int32_t end_of(std::int32_t root) const;

    BinnedTree& tree_;
    const BackgroundRows& background_;
    const BinMapper& mapper_;
    GrowthParameters params_;  // of third branches
    std::span<const double> previous_;
    std::unordered_map<std::int32_t, Subtree> subtrees_;  // by root
    std::size_t n_cached_rows_ = 0;
};

}  // namespace tritree
