#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/binned_columns.hpp"

namespace tritree {

/// Return the rows of parts of a table one after the other, with the smallest and largest values of all
/// parts; throws std::invalid_argument if they do not have the same bins.
BinnedColumns join_rows(const std::vector<std::shared_ptr<const BinnedColumns>>& parts);

/// Return some rows of a table in the given order; throws std::invalid_argument.
BinnedColumns take_rows(const BinnedColumns& binned, std::span<const std::int64_t> rows);

}  // namespace tritree
