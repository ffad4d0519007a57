#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/parameters.hpp"
#include "data/binned_columns.hpp"
#include "split/histogram.hpp"
#include "split/node_stats.hpp"
#include "split/routing.hpp"

namespace tritree {

/// The best split of a node on one column.
struct SplitInfo {
    std::int32_t column = -1;
    double gain = 0;
    bool categorical = false;
    bool missing_vs_observed = false;  ///< missing values left, observed values right
    std::uint32_t threshold_bin = 0;   ///< numeric: the largest bin that goes left
    double threshold = 0;              ///< numeric: left is value < threshold
    CategorySets sets;
    Branch missing_to = Branch::None;
    Branch larger_side = Branch::Right;
    double left_fraction = 0;  ///< fraction of the observed rows that goes left
    CellSums child_cells;      ///< cells of the left and the right rows, if statistics of leaves need them

    Side side(std::uint32_t bin, std::uint32_t missing_bin) const {
        if (bin == missing_bin) return Side::Missing;
        if (missing_vs_observed) return Side::Right;
        if (categorical) return sets.side(bin);
        return bin <= threshold_bin ? Side::Left : Side::Right;
    }
    Branch branch(std::uint32_t bin, std::uint32_t missing_bin) const {
        return route(side(bin, missing_bin), missing_to, larger_side);
    }
};

/// Return the best split of a node on one column, or nothing if none is admissible and lowers the loss.
std::optional<SplitInfo> best_split(const GrowthParameters& params, const BinnedColumn& column,
                                    std::int32_t column_number, const CellReader& cells,
                                    const NodeSamples& node, const CellLayout& layout,
                                    const NodeStats& stats);

/// Sort splits into a ladder: higher gain first, ties by column. Under trinary_mia the ladder ends with the
/// first split that sends missing values left or right.
void sort_ladder(std::vector<SplitInfo>& splits, const GrowthParameters& params, double node_loss);

}  // namespace tritree
