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
class RowSamples {
  public:
    using Node = RowRange;
    using Cell = GradientCell;

    /// `rows` is reordered by node.
    RowSamples(const BinnedData& data, const BinMapper& mapper, const Gradients& gradients,
               const GrowthParameters& params, std::span<std::uint32_t> rows, int n_threads)
        : data_(data),
          mapper_(mapper),
          gradients_(gradients),
          params_(params),
          rows_(rows),
          n_threads_(n_threads) {}

    /// The rows of the nodes that were grown, in the order of the nodes.
    std::vector<RowRange> ranges;

    const GradientScale& scale() const { return gradients_.scale; }
    RowRange root();
    GradientCell total(const RowRange& range) const;
    std::int64_t n_rows(const GradientCell& total) const { return scale().rows(total); }
    bool has_enough_rows(const RowRange& range, const GradientCell&) const {
        return static_cast<std::int64_t>(range.size()) >= 2 * params_.min_samples_leaf;
    }
    void build(const RowRange& range, GradientHistogram& histogram) const;

    struct Children {
        std::array<RowRange, 2> nodes;
        std::array<GradientCell, 2> totals;
        RowRange rest;  ///< rows that are in neither
        bool disjoint = true;
    };
    Children partition(RowRange& parent, const GradientSplit& split, BinnedTree& tree, std::int32_t node);
    void init_root(BinnedTree&, const GradientCell&) const {}
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
class FractionalRowSamples {
  public:
    using Node = FractionalSamples;
    using Cell = FractionalCell;

    FractionalRowSamples(const BinnedData& data, const BinMapper& mapper, const Gradients& gradients,
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
        std::array<FractionalSamples, 2> nodes;
        std::array<FractionalCell, 2> totals;
        FractionalSamples rest;
        bool disjoint = true;
    };
    Children partition(FractionalSamples& parent, const GradientSplit& split, BinnedTree& tree,
                       std::int32_t node);
    /// Initialise the arrays of fractional trees with the root.
    void init_root(BinnedTree& tree, const FractionalCell& total) const;
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

/// Grows a binary boosted tree below a leaf: the fitted tree, or a third branch.
template <class Samples>
class BoostedGrower {
  public:
    BoostedGrower(Samples& samples, const BinMapper& mapper, const GrowthParameters& params, int n_threads)
        : samples_(samples), mapper_(mapper), params_(params), n_threads_(n_threads) {}

    /// Grow below the newest node of a tree, a leaf. The values of nodes minimise the loss.
    void grow(BinnedTree& tree, std::span<const std::int32_t> columns, int max_depth);

  private:
    using Cell = typename Samples::Cell;

    struct Entry {
        std::int32_t node = 0;
        typename Samples::Node samples;
        Cell total;
        ColumnsHistogram<Cell> histogram;
        std::optional<GradientSplit> split;

        double gain() const { return split->gain; }
    };
    using Children = std::array<Entry, 2>;

    bool may_split(const BinnedTree& tree, const Entry& entry, int max_depth) const;
    Children apply_split(BinnedTree& tree, Entry& entry, typename Samples::Node& rest, bool& disjoint);
    void build_histograms(const BinnedTree& tree, Entry& parent, Children& children,
                          const typename Samples::Node& rest, bool disjoint, int max_depth) const;
    void find_splits(const BinnedTree& tree, std::span<Entry> entries,
                     std::span<const std::int32_t> columns) const;

    Samples& samples_;
    const BinMapper& mapper_;
    const GrowthParameters& params_;
    int n_threads_;
};

}  // namespace tritree
