#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/binned_columns.hpp"
#include "grow/expand_queue.hpp"
#include "grow/ladder.hpp"
#include "grow/small_subtree.hpp"
#include "grow/split_finder.hpp"
#include "tree/tree.hpp"

namespace tritree {

/// The training table that single trees and forests grow from.
struct TrainingData {
    std::shared_ptr<const BinnedColumns> binned;
    Target target;
};

/// Grows a tree by ladders: first the nodes that a binary tree has, then any branch on demand.
///
/// A branch comes out the same whatever was grown before, and with any number of threads. Not thread-safe.
class LadderGrower {
  public:
    /// `in_bag`: the rows to grow from, in ascending order, repeated if sampled twice; empty for all rows.
    LadderGrower(std::shared_ptr<const TrainingData> data, const GrowthParameters& params,
                 std::vector<std::uint32_t> in_bag, Tree& tree_);
    LadderGrower(const LadderGrower&) = delete;
    LadderGrower& operator=(const LadderGrower&) = delete;

    /// Grow the root and the children of the first split of each ladder, level by level, or best first if the
    /// number of leaves is limited; `check_signals` may throw to interrupt.
    void grow_binary_tree(int n_threads, const std::function<void()>& check_signals = {});
    /// Grow those of the given branches that have not been grown, as long as there are fewer than
    /// `max_new_nodes` new nodes; of Branch::Both, find the evidence. If the number of leaves is limited, a
    /// third branch is grown as a whole, and the last one may exceed the limit.
    void grow(std::vector<BranchRef> branches, int n_threads, std::int64_t max_new_nodes = kNoLimit);
    /// The same for any branches that have not been grown: repeated calls grow them all.
    void grow_some(std::int64_t max_new_nodes, int n_threads);
    /// Recompute the rows of all ladders grown by fit, of a copy or of a tree read from a file; throw
    /// std::invalid_argument if nodes have other numbers of rows.
    void restore_rows(const std::function<void()>& check_signals = {});
    /// Return whether sums over the rows of a ladder cannot overflow in its scale.
    bool fits(std::int32_t ladder) {
        return finder_.stats_builder().fits(rows_of(ladder), ladders[ladder].scale);
    }
    /// Return the rows of a ladder, recomputed if they were dropped. Valid until they are dropped again.
    std::span<const std::uint32_t> rows_of(std::int32_t ladder);
    /// Drop the rows of the oldest ladders grown on demand, if there are too many.
    void drop_old_rows();

    const std::shared_ptr<const TrainingData>& data() const { return data_; }
    const BinnedColumns& binned() const { return *data_->binned; }
    const Target& target() const { return data_->target; }
    const GrowthParameters& params() const { return params_; }
    const std::vector<std::uint32_t>& in_bag() const { return in_bag_; }
    std::vector<std::uint32_t> sampled_rows() const;

    Tree& tree;
    std::vector<Ladder> ladders;
    std::vector<LadderPosition> positions;  ///< one per node

  private:
    using NodeSurrogates = std::vector<std::vector<Surrogate>>;           // by node
    using HistogramCache = std::unordered_map<std::int32_t, Histograms>;  // by ladder

    // growth by fit
    ExpandEntry make_root();
    ExpandEntry make_child(std::int32_t node, Branch branch) const;
    std::vector<ExpandEntry> make_children(const std::vector<ExpandEntry>& parents) const;
    std::vector<SiblingPair> make_pairs(std::vector<ExpandEntry>& children) const;
    std::vector<ExpandEntry> next_entries(std::vector<ExpandEntry> grown, ExpandQueue<ExpandEntry>& queue,
                                          std::int64_t n_leaves) const;
    /// Return by how much gains may differ in the subtree of a node and be equal.
    double tie_tolerance(std::int32_t node) const {
        return kNegligible * finder_.stats_builder().scaled_loss(tree.loss[node]);
    }
    void append_nodes(std::span<ExpandEntry> entries);
    void apply_split(ExpandEntry& entry);
    void take_small_subtrees(std::vector<ExpandEntry>& children,
                             std::vector<SubtreeNode>& subtree_roots) const;
    void grow_small_subtrees(std::vector<SubtreeNode>& subtree_roots, NodeSurrogates& surrogates,
                             int n_threads, const std::function<void()>& check_signals);
    void append_nodes(std::vector<SubtreeNode>& nodes, NodeSurrogates& surrogates);
    void place_rows(std::int32_t node, std::span<std::uint32_t> rows,
                    std::vector<std::pair<std::int32_t, std::span<std::uint32_t>>>& beside);
    bool splits_below(std::int32_t depth) const { return depth + 1 < params_.max_depth; }
    bool keeps_histograms(std::int32_t depth, std::size_t n_rows);
    /// Make room for other histograms: those of an entry are not needed after its children.
    void release_histograms(const ExpandEntry& entry) {
        if (entry.keeps_histograms)
            cached_histogram_size_ -=
                finder_.max_cached_size(static_cast<std::size_t>(tree.rows[entry.node]));
    }

    // growth on demand
    void grow_branches(std::vector<BranchRef> branches, int n_threads, std::int64_t max_new_nodes);
    void find_evidence_of(std::span<const BranchRef> nodes, int n_threads);
    std::vector<Evidence> evidence_of(std::int32_t node) const;
    std::vector<BranchRef> find_ungrown(std::int64_t max_branches);
    void complete_ladders(std::span<const BranchRef> branches, int n_threads);
    std::int32_t add_third(std::int32_t node);
    void grow_limited_third(std::int32_t node, int n_threads);
    std::int64_t max_third_leaves(std::int32_t node) const;
    std::int64_t count_leaves(std::int32_t node) const;
    std::vector<ExpandEntry> grow_children(std::span<const BranchRef> branches, HistogramCache& cache,
                                           int n_threads);
    void grow_leaves(std::span<const BranchRef> branches, int n_threads);
    void stats_from_rows(std::span<const BranchRef> branches, std::span<std::optional<NodeStats>> leaves,
                         int n_threads);
    void build_ladder_histograms(std::span<const SiblingPair> pairs, HistogramCache& cache, int n_threads);
    Partition partition_of(const Ladder& ladder, std::int32_t rank) const;
    void partition_pair(SiblingPair& pair) const;
    void set_own_rows(std::int32_t ladder, std::vector<std::uint32_t> rows);
    void find_rows(std::span<const std::int32_t> ladder_indices, int n_threads);
    std::vector<std::int32_t> path_without_rows(std::int32_t ladder) const;
    const FixedPointScale* parent_scale(const Ladder& ladder) const {
        return ladder.parent.node == kNone ? nullptr : &ladders[positions[ladder.parent.node].ladder].scale;
    }
    const SplitFinder& finder() const { return complete_cells_ ? complete_finder_ : finder_; }

    std::shared_ptr<const TrainingData> data_;
    const BinnedColumns& binned_;
    GrowthParameters params_;
    std::vector<std::uint32_t> in_bag_;
    // Complete cells take longer to accumulate, which pays off if most of the leaves below are grown.
    SplitFinder finder_, complete_finder_;
    bool complete_cells_ = false;
    std::vector<std::uint32_t> all_rows_;   // of the root, partitioned by the ladders grown by fit
    std::vector<std::int32_t> row_owners_;  // ladders with rows of their own, oldest first
    std::size_t n_own_rows_ = 0;
    // of the ladders that the last call has grown: the next call will most likely grow their children
    HistogramCache cached_histograms_;
    std::size_t cached_histogram_size_ = 0;  // of histograms to be cached
    std::vector<std::int32_t> unfinished_;   // ladders that may have branches to grow
};

}  // namespace tritree
