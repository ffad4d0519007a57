#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "grow/ladder.hpp"
#include "split/histogram.hpp"
#include "split/node_stats.hpp"
#include "split/surrogate.hpp"

namespace tritree {

/// Cached histograms of a node.
struct Histograms {
    std::vector<Histogram> columns;  ///< one per column, those that are not cached empty
    CellSums total;                  ///< cell of all rows of the node, squares included

    bool empty() const { return columns.empty(); }
};

/// A node that is being grown. First its splits are searched, then it becomes a leaf of the tree, and then it
/// is split, if it is its turn.
struct ExpandEntry {
    std::int32_t node = kNone;  ///< once it is in the tree
    std::int32_t depth = 0;
    Ladder ladder;                                  ///< until it is in the tree
    const FixedPointScale* parent_scale = nullptr;  ///< the root has none
    const Histograms* parent_histograms = nullptr;  ///< where cached
    bool keeps_histograms = false;
    bool is_derived = false;    ///< statistics and histograms follow from others: no samples are read
    FractionalRows fractional;  ///< strategy fractional: the rows, from which the children take theirs
    // results of the split search
    NodeSamples data;
    NodeStats stats;
    bool is_leaf = false;
    std::vector<std::int32_t> columns;                      ///< to be searched, in ascending order
    std::vector<std::optional<SplitInfo>> best_per_column;  ///< empty if the ladder keeps the best at once
    Histograms histograms;
    std::vector<SplitInfo> splits;  ///< of the ladder, until the node is split
    std::vector<Surrogate> surrogates;

    double gain() const { return splits[0].gain; }
};

/// The children of a node that are grown together. If the histograms of the parent are cached, only the
/// smaller child and the rows in neither child are accumulated; subtracting both from the parent leaves the
/// larger child.
struct SiblingPair {
    std::int32_t parent_node = kNone;               ///< the root has none
    ExpandEntry* smaller = nullptr;                 ///< null if it is not grown
    ExpandEntry* larger = nullptr;                  ///< null if it is not grown; not both are null
    const Histograms* parent_histograms = nullptr;  ///< where cached
    NodeSamples rest;                               ///< rows of the parent that are in neither child
    std::vector<std::uint32_t> rest_rows;           ///< memory of `rest.rows`
    bool can_subtract = false;                      ///< all use the scale of the parent
    std::vector<std::int32_t> columns;              ///< to be searched

    std::array<ExpandEntry*, 2> children() const { return {smaller, larger}; }
};

/// Buffers of finished nodes for reuse by the next ones: allocating them takes longer than filling them.
class BufferPool {
  public:
    NodeSamples acquire();
    void release(NodeSamples buffers);
    void clear();

  private:
    static constexpr std::size_t kMaxBuffers = 8;
    static constexpr std::size_t kMaxRows = std::size_t{1} << 16;  // larger buffers are freed
    std::mutex mutex_;
    std::vector<NodeSamples> buffers_;
};

/// Finds the splits of nodes. With complete cells the search takes longer, but the statistics of leaves
/// follow from the cells.
class SplitFinder {
  public:
    SplitFinder(const BinnedColumns& binned, const Target& target, const GrowthParameters& params,
                bool complete_cells)
        : binned_(binned), params_(params), stats_builder_(target, params, complete_cells) {}

    const NodeStatsBuilder& stats_builder() const { return stats_builder_; }
    const BinnedColumns& binned() const { return binned_; }
    /// Return whether the nodes below small ones can be grown as small subtrees.
    bool grows_small_subtrees() const {
        return params_.keep_best_split_only && params_.max_leaf_nodes == 0 &&
               params_.missing != Strategy::Fractional;
    }
    /// Return the surrogates of a split, if the strategy has them.
    std::vector<Surrogate> surrogates_of(SplitInfo& split, const NodeSamples& data,
                                         std::uint64_t path) const {
        if (params_.missing != Strategy::Surrogate) return {};
        return find_surrogates(params_, binned_, data, split, path);
    }
    /// Partition the rows of a node by its split.
    PartitionSizes partition(std::span<std::uint32_t> rows, SplitInfo& split,
                             const std::vector<Surrogate>& surrogates) const;
    /// Return the best split of a single node, in a vector that is empty if the node stays a leaf.
    std::vector<SplitInfo> first_split(const NodeSamples& data, const NodeStats& stats, std::int32_t depth,
                                       std::uint64_t path) const;
    /// Find the splits of entries, each of which is in one of the pairs.
    void find_splits(std::vector<ExpandEntry>& entries, std::vector<SiblingPair>& pairs, int n_threads) const;
    void free_buffers() const { buffers_.clear(); }
    /// Return the maximum size, in integers, of the histograms that a node with `n_rows` rows keeps.
    std::size_t max_cached_size(std::size_t n_rows) const;
    /// Return the splits of a ladder beyond its first, of all columns.
    std::vector<SplitInfo> remaining_splits(const Ladder& ladder, const FixedPointScale* parent_scale) const;
    /// Return the histograms of ladders, from which those of children are to be subtracted.
    std::vector<Histograms> build_histograms_of(std::span<const Ladder* const> ladders, int n_threads) const;

  private:
    struct ColumnTask;

    void find_pair_splits(SiblingPair& pair) const;
    bool derives_larger(const SiblingPair& pair) const;
    void prepare_entry(ExpandEntry& entry, bool column_by_column) const;
    void prepare_search(ExpandEntry& entry, bool column_by_column) const;
    void prepare_pair(SiblingPair& pair, bool column_by_column) const;
    void derive_larger(SiblingPair& pair, bool column_by_column) const;
    CellSums read_rest(SiblingPair& pair) const;
    bool subtraction_pays(const SiblingPair& pair, std::int32_t column, std::size_t extra_rows) const;
    bool subtracts(const SiblingPair& pair, std::int32_t column) const;
    void finish_pair(SiblingPair& pair) const;
    void find_column_splits(SiblingPair& pair, std::span<const std::int32_t> columns) const;
    void build_column_histograms(SiblingPair& pair, std::span<ColumnTask> tasks) const;
    void find_best_split(ExpandEntry& entry, const ColumnTask& task, const Histogram& histogram) const;
    static void keep_if_best(std::vector<SplitInfo>& splits, SplitInfo split, double node_loss);
    void finish(ExpandEntry& entry) const;
    void sample_more_columns(std::vector<SplitInfo>& splits, const NodeSamples& data, const NodeStats& stats,
                             std::uint64_t path, const std::vector<std::int32_t>& used_columns) const;
    std::optional<SplitInfo> best_split_on(std::int32_t number, const NodeSamples& data,
                                           const NodeStats& stats) const;
    bool is_leaf(const NodeStats& stats, std::int32_t depth) const;
    bool keeps_histogram(std::size_t histogram_size, std::size_t n_rows) const {
        return 2 * histogram_size <= n_rows;
    }
    std::vector<std::int32_t> usable_columns(const std::vector<std::int32_t>& used_columns) const;

    const BinnedColumns& binned_;
    const GrowthParameters& params_;
    NodeStatsBuilder stats_builder_;
    mutable BufferPool buffers_;
};

}  // namespace tritree
