#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/collective.hpp"
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
                   std::span<std::uint32_t> rows, int n_threads)
        : data_(data), mapper_(mapper), gradients_(gradients), rows_(rows), n_threads_(n_threads) {}

    /// The rows of the nodes that were grown, in the order of the nodes.
    std::vector<RowRange> ranges;
    /// The sums of gradients of leaves over all parts of the table, indexed by node.
    std::vector<GradientCell> leaf_totals;

    const GradientScale& scale() const { return gradients_.scale; }
    RowRange root();
    GradientCell total(const RowRange& range) const;
    std::int64_t n_rows(const GradientCell& total) const { return scale().rows(total); }
    double n_samples(const GradientCell& total) const { return static_cast<double>(n_rows(total)); }
    void build(const RowRange& range, GradientHistogram& histogram) const;

    struct Children {
        std::array<RowRange, 2> rows;
        std::array<GradientCell, 2> totals;  ///< over all parts of the table
        RowRange third;                      ///< rows that go third
    };
    Children partition(const RowRange& parent, const GradientSplit& split);
    /// Whether nodes have fractions of rows.
    static constexpr bool kFractional = false;
    void keep_leaf(std::int32_t node, RowRange&& range, const GradientCell& total);

  private:
    const BinnedData data_;
    const BinMapper& mapper_;
    const Gradients& gradients_;
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
                             std::span<const std::uint32_t> rows, std::size_t n_table_rows, bool keeps_leaves,
                             int n_threads)
        : data_(data),
          mapper_(mapper),
          scale_(gradients, n_table_rows),
          rows_(rows),
          keeps_leaves_(keeps_leaves),
          n_threads_(n_threads) {}

    /// The samples of the leaves, indexed by node, if `keeps_leaves`.
    std::vector<FractionalSamples> leaves;

    const FractionalScale& scale() const { return scale_; }
    FractionalSamples root() const;
    FractionalCell total(const FractionalSamples& samples) const;
    std::int64_t n_rows(const FractionalCell& total) const { return total.rows; }
    double n_samples(const FractionalCell& total) const {
        return scale_.memberships(total) + kMembershipTolerance;
    }
    void build(const FractionalSamples& samples, FractionalHistogram& histogram) const;

    struct Children {
        std::array<FractionalSamples, 2> rows;
        std::array<FractionalCell, 2> totals;  ///< over the rows here
        FractionalSamples third;
    };
    Children partition(const FractionalSamples& parent, const GradientSplit& split) const;
    static constexpr bool kFractional = true;
    void keep_leaf(std::int32_t node, FractionalSamples&& samples, const FractionalCell& total);

  private:
    const BinnedData data_;
    const BinMapper& mapper_;
    const FractionalScale scale_;
    std::span<const std::uint32_t> rows_;
    bool keeps_leaves_;
    int n_threads_;
};

/// Grows a binary boosted tree below a leaf: the fitted tree, or a third branch. `Partitioner` has the rows
/// of the nodes: all of them, or those of a part of the table, whose parts then grow the same tree together.
template <class Partitioner>
class BoostedGrower {
  public:
    BoostedGrower(Partitioner& partitioner, const TablePart& part, const BinMapper& mapper,
                  const GrowthParameters& params, int n_threads)
        : partitioner_(partitioner), part_(part), mapper_(mapper), params_(params), n_threads_(n_threads) {}

    /// Grow below the newest node of a tree, a leaf. The values of nodes minimise the loss.
    void grow(BinnedTree& tree, std::span<const std::int32_t> columns, int max_depth);

  private:
    using Cell = typename Partitioner::Cell;
    using NodeRows = typename Partitioner::NodeRows;
    using Histogram = ColumnsHistogram<Cell>;

    struct Entry {
        std::int32_t node = 0;
        NodeRows rows;
        Cell total;  ///< over all parts of the table, as are histograms
        Histogram histogram;
        std::optional<GradientSplit> split;

        double gain() const { return split->gain; }
    };
    /// A node that is split.
    struct Expansion {
        Entry parent;
        std::array<Entry, 2> children;
        NodeRows third;
        Histogram third_histogram;
        int smaller = 0;         ///< the child with fewer rows
        bool subtracts = false;  ///< whether the histogram of the other one is a difference
    };
    struct HistogramRequest {
        const NodeRows* rows;
        Histogram* histogram;
    };

    std::size_t max_expansions() const;
    void keep_leaf(Entry& entry);
    void start(BinnedTree& tree, Entry& root, int max_depth);
    std::vector<Expansion> expand(BinnedTree& tree, std::vector<Entry> parents);
    void build_histograms(const BinnedTree& tree, std::vector<Expansion>& expansions, int max_depth) const;
    void request_histograms(const BinnedTree& tree, Expansion& expansion, int max_depth,
                            std::vector<HistogramRequest>& requests) const;
    void subtract_histograms(Expansion& expansion) const;
    void build(std::span<const HistogramRequest> requests) const;
    bool may_split(const BinnedTree& tree, const Entry& entry, int max_depth) const;
    void add_total(BinnedTree& tree, std::int32_t node, const Cell& total) const;
    void find_splits(const BinnedTree& tree, std::span<Entry* const> entries,
                     std::span<const std::int32_t> columns) const;

    Partitioner& partitioner_;
    const TablePart& part_;
    const BinMapper& mapper_;
    const GrowthParameters& params_;
    int n_threads_;
};

}  // namespace tritree
