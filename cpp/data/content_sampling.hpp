#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/binned_columns.hpp"

namespace tritree {

/// Return `n` rows of a table, or all if there are fewer, sampled without replacement and in random order.
/// Both follow from the seed and the content of the rows, bins and weights, so the order of the table does
/// not matter.
std::vector<std::uint32_t> sample_rows_by_content(const BinnedColumns& binned, std::span<const double> weight,
                                                  std::size_t n, std::uint64_t seed, int n_threads);

}  // namespace tritree
