#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/split.hpp"
#include "counting.hpp"
#include "plan.hpp"

namespace tritree::boosting {

/// A node as the search sees it.
struct NodeSums {
    Cell total;
    Bounds bounds;
};

/// The best way to part a node's rows.
struct Cut {
    std::int32_t column = -1;
    double gain = 0;
    std::uint32_t begin = 0;  ///< numeric: the first code on the right; 0 if all that is observed goes right
    bool categorical = false;
    CategorySets sets;
    Branch missing_to = Branch::None;
    Branch larger = Branch::Right;  ///< where a row goes that the cut knows nothing of, unless it is third
    Cell left, right;
    double left_value = 0, right_value = 0;
    std::int64_t observed_left = 0, observed_right = 0;

    /// Say where a training row with this code goes.
    Branch branch(std::uint32_t code, std::uint32_t missing) const {
        if (code == missing) return missing_to;
        if (!categorical) return code < begin ? Branch::Left : Branch::Right;
        const Branch side = sets.side(code);
        return side != Branch::None ? side : missing_to >= Branch::Third ? missing_to : larger;
    }
    /// Return how much of a row whose value is missing goes left, if it goes both ways.
    double share() const {
        return static_cast<double>(observed_left) / static_cast<double>(observed_left + observed_right);
    }
};

/// Return the best cut of a node on some columns, or nothing if none lowers the loss by more than its price.
/// Of equals it is that of the first column, the smaller threshold, and missing left before third before
/// right.
std::optional<Cut> best_cut(const Histogram& histogram, const Bins& bins,
                            std::span<const std::int32_t> columns, const NodeSums& node, const Unit& unit,
                            const Plan& plan);

/// Return the value that lowers a node's loss most.
double best_value(const Sums& sums, const Plan& plan, const Bounds& bounds);

}  // namespace tritree::boosting
