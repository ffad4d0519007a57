#pragma once

#include <cstddef>
#include <cstdint>

#include "data/binned_columns.hpp"

namespace tritree {

/// Return a table followed by copies of it with missing values: in each row of a copy, a fraction of the
/// cells, drawn uniformly from [0, 1], is missing.
BinnedColumns with_masked_copies(const BinnedColumns& binned, std::size_t n_copies, std::uint64_t seed,
                                 int n_threads);

}  // namespace tritree
