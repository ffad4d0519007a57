#pragma once

#include <optional>
#include <span>

#include "cut.hpp"
#include "part_sums.hpp"

namespace tritree::boosting {

/// Return the best cut of a node on some columns, or nothing if none lowers the loss. Rows whose value is
/// missing are on both sides, in proportion to the rows that are observed there.
std::optional<Cut> best_shared_cut(const PartHistogram& histogram, const Bins& bins,
                                   std::span<const std::int32_t> columns, const PartCell& total,
                                   const Bounds& bounds, const PartUnit& unit, const Plan& plan);

}  // namespace tritree::boosting
