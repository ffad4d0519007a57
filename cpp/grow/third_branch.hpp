#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "data/binned_rows.hpp"
#include "grow/background.hpp"
#include "grow/boosted_grower.hpp"
#include "tree/binned_tree.hpp"

namespace tritree {

/// Rows that traverse a tree whose third branches grow as they need them.
class TraversingRows {
  public:
    /// `at` has the nodes from which the rows go on, and is updated.
    TraversingRows(const BinnedRows& binned, std::span<const std::uint32_t> rows, std::int32_t* at);
    /// Traverse down to leaves and to third branches that have not been grown; return the nodes of the
    /// latter, in ascending order.
    std::vector<std::int32_t> advance(const BinnedTree& tree, int n_threads);

  private:
    const BinnedRows& binned_;
    std::span<const std::uint32_t> rows_;
    std::int32_t* at_;
    std::vector<std::vector<std::uint32_t>> open_;  ///< positions of rows that are not at a leaf, by task
};

/// Grows third branches of a boosted tree.
///
/// The third branch of a split on a column is a tree on the other columns, fitted to the predictions of the
/// split's own left and right branches for the background rows of the node whose value is observed. It
/// depends on the tree, the background rows and the path of the node, but not on the order in which branches
/// are grown. Background rows may need third branches below left and right themselves: branches that do not
/// depend on each other are fitted in parallel, and appended to the tree in the order of their nodes.
class ThirdBranchGrower {
  public:
    /// `previous` is the sum of the preceding trees for each background row; without it no variance is
    /// estimated.
    ThirdBranchGrower(BinnedTree& tree, const BackgroundRows& background, const BinMapper& mapper,
                      const GrowthParameters& params, int n_threads, std::span<const double> previous = {});

    /// Traverse rows from the nodes `at` down to leaves, growing the branches that they need.
    void traverse(const BinnedRows& binned, std::span<const std::uint32_t> rows, std::int32_t* at);
    /// Grow the third branches of nodes, as far as the limit allows.
    void grow_branches(const std::vector<std::int32_t>& nodes);
    /// Return whether the tree has as many nodes of third branches as it may have.
    bool is_full() const { return tree_.arrays.n_grown() >= params_.max_third_nodes; }

  private:
    /// The background rows of a third branch, in the order of its nodes.
    struct BranchRows {
        std::int32_t root = 0;
        std::vector<std::uint32_t> rows;
        double n_rows_per_row = 1;     ///< how many background rows each of them stands for
        std::vector<RowRange> ranges;  ///< of its nodes
    };
    /// A third branch that is being grown.
    struct Growth {
        std::int32_t node = 0;            ///< whose third branch it is
        BranchRows fitted;                ///< the rows that it is fitted to
        std::vector<std::int32_t> at;     ///< where these are below left and right
        std::vector<std::uint32_t> open;  ///< positions of those that are not at a leaf yet
        BinnedTree branch;
    };

    void start(Growth& growth) const;
    std::vector<std::int32_t> advance(Growth& growth) const;
    void sort_by_leaf(Growth& growth) const;
    void fit(Growth& growth) const;
    void to_fine_bins(BinnedTree& branch) const;
    void append(Growth& growth);
    void estimate_variance(const BranchRows& fitted);

    void find_observed_rows(std::int32_t node, BranchRows& branch) const;
    double sum_of_squares() const;
    void find_rows(std::int32_t root);
    BranchRows restore_rows(std::int32_t root) const;
    std::vector<std::int32_t> usable_columns(std::int32_t node) const;
    std::int32_t root_of(std::int32_t node) const;
    std::int32_t end_of(std::int32_t root) const;

    BinnedTree& tree_;
    const BackgroundRows& background_;
    const BinMapper& mapper_;
    const GrowthParameters params_;  // of third branches
    const int n_threads_;
    const std::span<const double> previous_;
    const double min_gain_;                                        // of a split, for all background rows
    std::unordered_map<std::int32_t, BranchRows> rows_of_branch_;  // by root
    std::size_t n_cached_rows_ = 0;
};

}  // namespace tritree
