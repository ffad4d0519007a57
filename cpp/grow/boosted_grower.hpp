#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "grow/expand_queue.hpp"
#include "split/gradient_splitter.hpp"
#include "tree/binned_tree.hpp"
#include "tree/partition.hpp"

namespace tritree {

/// Consecutive rows of a partitioned array: those of a child are among those of its parent,
/// [ left | right | third ].
struct RowRange {
    std::size_t begin = 0, end = 0;

    std::size_t size() const { return end - begin; }
};

/// The rows of the nodes of a tree, each row in one node: an array that is partitioned in place.
class RowPartitioner {
  public:
    using NodeRows = RowRange;
    using Cell = GradientCell;

    /// `rows` is reordered by node.
    RowPartitioner(const BinnedData& data, const BinMapper& mapper, const Gradients& gradients,
                   const GrowthParameters& params, std::span<std::uint32_t> rows, int n_threads)
        : data_(data),
          mapper_(mapper),
          gradients_(gradients),
          params_(params),
          rows_(rows),
          n_threads_(n_threads) {}

    /// The rows of the nodes that were grown, in the order of the nodes, and the sums of their gradients.
    std::vector<RowRange> ranges;
    std::vector<GradientCell> totals;

    const GradientScale& scale() const { return gradients_.scale; }
    RowRange root();
    GradientCell total(const RowRange& range) const;
    std::int64_t n_rows(const GradientCell& total) const { return scale().rows(total); }
    bool has_enough_rows(const RowRange& range, const GradientCell&) const {
        return static_cast<std::int64_t>(range.size()) >= 2 * params_.min_samples_leaf;
    }
    void build(const RowRange& range, GradientHistogram& histogram) const;

    struct Children {
        std::array<RowRange, 2> rows;
        std::array<GradientCell, 2> totals;
        RowRange third;            ///< rows that go third
        bool are_disjoint = true;  ///< whether no row is in both
    };
    Children partition(const RowRange& parent, const GradientSplit& split);
    /// Whether nodes have fractions of rows.
    static constexpr bool kFractional = false;
    void keep_leaf(std::int32_t, RowRange&&) const {}

  private:
    const BinnedData data_;
    const BinMapper& mapper_;
    const Gradients& gradients_;
    const GrowthParameters& params_;
    std::span<std::uint32_t> rows_;
    int n_threads_;
};

/// The same under the strategy `fractional`: fractions of a row may be in several nodes. A row whose value is
/// missing is in both children, in proportion to the rows that are observed there.
class FractionalRowPartitioner {
  public:
    using NodeRows = FractionalSamples;
    using Cell = FractionalCell;

    FractionalRowPartitioner(const BinnedData& data, const BinMapper& mapper, const Gradients& gradients,
                             const GrowthParameters& params, std::span<const std::uint32_t> rows,
                             bool keeps_leaves, int n_threads)
        : data_(data),
          mapper_(mapper),
          scale_(gradients),
          params_(params),
          rows_(rows),
          keeps_leaves_(keeps_leaves),
          n_threads_(n_threads) {}

    /// The samples of the leaves, indexed by node, if `keeps_leaves`.
    std::vector<FractionalSamples> leaves;

    const FractionalScale& scale() const { return scale_; }
    FractionalSamples root() const;
    FractionalCell total(const FractionalSamples& samples) const;
    std::int64_t n_rows(const FractionalCell& total) const { return total.rows; }
    bool has_enough_rows(const FractionalSamples&, const FractionalCell& total) const {
        return scale_.memberships(total) >=
               2 * static_cast<double>(params_.min_samples_leaf) - kMembershipTolerance;
    }
    void build(const FractionalSamples& samples, FractionalHistogram& histogram) const;

    struct Children {
        std::array<FractionalSamples, 2> rows;
        std::array<FractionalCell, 2> totals;
        FractionalSamples third;
        bool are_disjoint = true;
    };
    Children partition(const FractionalSamples& parent, const GradientSplit& split) const;
    static constexpr bool kFractional = true;
    void keep_leaf(std::int32_t node, FractionalSamples&& samples);

  private:
    const BinnedData data_;
    const BinMapper& mapper_;
    const FractionalScale scale_;
    const GrowthParameters& params_;
    std::span<const std::uint32_t> rows_;
    bool keeps_leaves_;
    int n_threads_;
};

/// Grows a binary boosted tree below a leaf: the fitted tree, or a third branch. `Partitioner` has the rows
/// of the nodes.
template <class Partitioner>
class BoostedGrower {
  public:
    BoostedGrower(Partitioner& partitioner, const BinMapper& mapper, const GrowthParameters& params,
                  int n_threads)
        : partitioner_(partitioner), mapper_(mapper), params_(params), n_threads_(n_threads) {}

    /// Grow below the newest node of a tree, a leaf. The values of nodes minimise the loss.
    void grow(BinnedTree& tree, std::span<const std::int32_t> columns, int max_depth);

  private:
    using Cell = typename Partitioner::Cell;
    using NodeRows = typename Partitioner::NodeRows;

    struct Entry {
        std::int32_t node = 0;
        NodeRows rows;
        Cell total;
        ColumnsHistogram<Cell> histogram;
        std::optional<GradientSplit> split;

        double gain() const { return split->gain; }
    };
    using Children = std::array<Entry, 2>;

    bool may_split(const BinnedTree& tree, const Entry& entry, int max_depth) const;
    void add_total(BinnedTree& tree, std::int32_t node, const Cell& total) const;
    Children apply_split(BinnedTree& tree, const Entry& entry, const typename Partitioner::Children& parts);
    void build_histograms(const BinnedTree& tree, Entry& parent, Children& children, const NodeRows& third,
                          bool are_disjoint, int max_depth) const;
    void find_splits(const BinnedTree& tree, std::span<Entry> entries,
                     std::span<const std::int32_t> columns) const;

    ColumnsHistogram<Cell> build_histogram_of(const NodeRows& rows) const;

    Partitioner& partitioner_;
    const BinMapper& mapper_;
    const GrowthParameters& params_;
    int n_threads_;
};

}  // namespace tritree
