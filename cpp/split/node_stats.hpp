#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/parameters.hpp"
#include "common/uninitialized_vector.hpp"
#include "split/fixed_point.hpp"

namespace tritree {

/// Return an error message unless sample weights are finite, at least 0 and not all 0; null otherwise.
const char* validate_weights(std::span<const double> weight);

/// The training target: a number or a class per row, and sample weights.
struct Target {
    int n_classes = 0;
    std::vector<double> y;             ///< regression
    std::vector<std::int32_t> labels;  ///< classification
    std::vector<double> weight;        ///< empty if all rows have weight 1

    std::size_t n_rows() const { return n_classes > 0 ? labels.size() : y.size(); }
    bool weighted() const { return !weight.empty(); }
    /// Return an error message, or null if the target of a table of `n_rows` rows is valid.
    const char* validate(std::size_t n_rows) const;
    bool operator==(const Target&) const = default;
};

/// Layout of a histogram cell, `width` integers about a set of rows:
///
///     regression      [ n | sum | weight? | membership? | square? ]
///     classification  [ n | one weight per class | membership? ]
///
/// An absent weight or membership has the position of a field that equals it.
struct CellLayout {
    int width = 2;
    int weight = 0;      ///< position of the sum of weights (regression)
    int membership = 0;  ///< position of the sum of fractional memberships
    int n_classes = 0;
    bool complete = false;  ///< whether a cell determines all node statistics
    int square = 0;         ///< position of the sum of squares (regression, if complete)

    CellLayout(const GrowthParameters& params, bool weighted, bool complete = false);
};

/// The integers of one histogram cell.
using CellSums = std::vector<std::int64_t>;

/// The rows of a node, with the fixed-point numbers that histograms accumulate, in the order of the rows.
struct NodeSamples {
    std::span<const std::uint32_t> rows;
    std::span<const double> membership;  ///< fractional: the fraction of each row in this node
    FixedPointScale scale;
    UninitializedVector<std::int64_t> sum;     ///< regression: w (y - center)
    UninitializedVector<std::int64_t> square;  ///< regression: w (y - center)^2, where the layout has it
    UninitializedVector<std::int32_t> label;   ///< classification
    UninitializedVector<std::int64_t> weight;  ///< weight times membership, where the layout has it
    UninitializedVector<std::int64_t> membership_units;  ///< where the layout has it apart from the weight
    double membership_scale = 1;

    std::size_t size() const { return rows.size(); }
};

/// Targets of some rows, in their order.
struct TargetView {
    std::span<const double> y;            ///< regression: scaled to about 1
    std::span<const std::int32_t> label;  ///< classification
    std::span<const double> weight;       ///< times membership, at most about 1; empty if all are 1
    std::uint32_t weighted_row = 0;       ///< a row with positive weight if there is one, else any

    std::size_t size() const { return std::max(y.size(), label.size()); }
};

/// Targets of a node, copied to contiguous memory: if they are read several times, this is several times as
/// fast.
struct TargetBuffer {
    UninitializedVector<double> y, weight;
    UninitializedVector<std::int32_t> label;
    std::uint32_t weighted_row = 0;

    TargetView view() const { return {y, label, weight, weighted_row}; }
    /// Free the memory of a large node.
    void trim() {
        if (std::max({y.capacity(), label.capacity(), weight.capacity()}) > kMaxReused)
            *this = TargetBuffer();
    }
    static constexpr std::size_t kMaxReused = std::size_t{1} << 16;
};

/// Node statistics that do not depend on the features.
struct NodeStats {
    std::int64_t rows = 0;
    double memberships = 0;     ///< sum of fractional memberships
    double weight = 0;          ///< in the user's unit
    double loss = 0;            ///< in the user's unit
    double scaled_loss = 0;     ///< in the unit of the criterion's gains
    bool pure = false;          ///< all rows with weight have the same target
    bool from_cell = false;     ///< computed from a cell, without reading the rows
    std::vector<double> value;  ///< in the user's unit
    CellSums total;             ///< of all rows, squares included
};

/// Computes the statistics and the fixed-point samples of nodes. Weights are scaled to at most 1 and y to
/// about 1, by powers of two.
class NodeStatsBuilder {
  public:
    NodeStatsBuilder(const Target& target, const GrowthParameters& params, bool complete);

    const CellLayout& layout() const { return layout_; }
    bool weighted() const { return target_->weighted(); }
    /// Return a loss, given in the user's unit, in the unit of the criterion's gains.
    double scaled_loss(double loss) const {
        return loss * weight_scale_ * (full_.n_classes > 0 ? 1 : y_scale_ * y_scale_);
    }
    /// Fill in the scale of a node (`parent`'s, if that is fine enough) and its samples; return its
    /// statistics.
    NodeStats read(NodeSamples& node, const FixedPointScale* parent) const;
    /// Return whether no sum over these rows can exceed 2^62 in a scale.
    bool fits(std::span<const std::uint32_t> rows, const FixedPointScale& scale) const;
    /// Fill in the samples of a node in the scale it has; return the cell of all rows, squares included.
    CellSums read_in_scale(NodeSamples& node) const;
    void gather(std::span<const std::uint32_t> rows, TargetBuffer& buffer) const;
    /// Return the statistics of a leaf whose parent has this scale: from its cell, if that is precise enough,
    /// or else from its rows. Both give the same bits.
    std::optional<NodeStats> stats_of_cell(std::span<const std::int64_t> cell,
                                           const FixedPointScale& parent) const;
    NodeStats stats_of_leaf(const TargetView& rows, const FixedPointScale& parent) const;

  private:
    /// Range of the targets of rows with positive weight.
    struct ValueRange {
        double low = 0, high = 0;
    };
    static ValueRange range_of(const TargetView& rows);
    static FixedPointScale scale_of(const TargetView& rows, const ValueRange& range,
                                    const FixedPointScale* parent);
    void gather_y(std::span<const std::uint32_t> rows, TargetBuffer& buffer) const;
    void gather_labels_and_weights(std::span<const std::uint32_t> rows, std::span<const double> membership,
                                   TargetBuffer& buffer) const;
    template <class Y, class F>
    CellSums sum_rows(std::size_t n_rows, const TargetView& rest, const FixedPointScale& scale, Y&& y_of,
                      F&& store) const;
    CellSums sum_rows(const TargetView& rows, const FixedPointScale& scale) const;
    CellSums to_fixed_point(NodeSamples& node, const TargetBuffer& rows) const;
    NodeStats stats_of_rows(const TargetView& rows, const ValueRange& range, const FixedPointScale& scale,
                            const CellSums& cell) const;
    NodeStats stats_of_classes(std::span<const std::int64_t> cell, const FixedPointScale& scale) const;
    NodeStats stats_of_numbers(const TargetView& rows, const ValueRange& range, const FixedPointScale& scale,
                               const CellSums& cell) const;

    const Target* target_;
    const GrowthParameters* params_;
    CellLayout layout_;        // what histograms accumulate
    CellLayout full_;          // the same with squares
    double y_scale_ = 1;       // power of two: |y| * y_scale_ is about 1
    double weight_scale_ = 1;  // power of two: weight * weight_scale_ is about 1
};

/// Return the cross-entropy or the Gini loss of class weights under their own proportions.
double class_loss(CriterionKind criterion, const double* weights, int n_classes);

}  // namespace tritree
