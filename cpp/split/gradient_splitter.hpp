#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "common/parameters.hpp"
#include "data/binned_rows.hpp"
#include "split/gradient_histogram.hpp"
#include "split/splitter.hpp"

namespace tritree {

/// Bounds of the values of a node, which keep predictions monotonic in a column.
struct ValueBounds {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
};

/// The best split of a node by gradients. Thresholds are set when the tree is finished, `child_cells` never.
struct GradientSplit : SplitInfo {
    GradientCell left, right;                ///< totals of the children; not of fractional splits
    double left_value = 0, right_value = 0;  ///< of the children; in the order that a constraint requires

    /// Return the first bin that goes right; 0 if all observed values do.
    std::uint32_t first_right_bin() const { return missing_vs_observed ? 0 : threshold_bin + 1; }
};

/// Return the best split of a node on some columns, or nothing if none lowers the loss by more than its
/// penalty. As in LightGBM, its gain is twice the reduction of the loss to second order. Ties: the smaller
/// column, the smaller threshold, missing left before third before right.
std::optional<GradientSplit> best_split(const GradientHistogram& histogram, const BinMapper& mapper,
                                        std::span<const std::int32_t> columns, const GradientCell& total,
                                        const ValueBounds& bounds, const GradientScale& scale,
                                        const GrowthParameters& params);
/// The same under the strategy `fractional`: missing rows are on both sides, in proportion to the observed
/// rows.
std::optional<GradientSplit> best_split(const FractionalHistogram& histogram, const BinMapper& mapper,
                                        std::span<const std::int32_t> columns, const FractionalCell& total,
                                        const ValueBounds& bounds, const FractionalScale& scale,
                                        const GrowthParameters& params);

/// Return the value that minimises the regularised loss of a node, within its bounds.
double node_value(const GradientSums& sums, const GrowthParameters& params, const ValueBounds& bounds);

}  // namespace tritree
