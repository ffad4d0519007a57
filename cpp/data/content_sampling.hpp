#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/binned_columns.hpp"

namespace tritree {

// Rows are sampled by a hash of their content, so that the order of the table does not matter. Those of
// parts of a table are sampled together: by their hashes.

/// Return a hash of the bins of each row.
std::vector<std::uint64_t> hash_rows(const BinnedColumns& binned, std::uint64_t seed, int n_threads);

/// Sampled rows, in random order, which is that of their keys.
struct SampledRows {
    std::vector<std::uint64_t> keys;
    std::vector<std::int64_t> rows;
};
/// Return `n` rows, or all if there are fewer, sampled without replacement, given hashes and weights
/// (possibly none). The `n` smallest keys of several samples are those of a sample of all rows, provided that
/// equal hashes are in one of them.
SampledRows sample_by_hash(std::span<const std::uint64_t> hashes, std::span<const double> weight,
                           std::size_t n);

}  // namespace tritree
