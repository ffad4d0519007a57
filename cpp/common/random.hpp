#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tritree {

// Random choices are hashes of a seed and an index, not draws from a generator, so they do not depend on the
// order in which nodes are grown or on the number of threads.

/// Return a pseudo-random hash of two numbers (splitmix64).
inline std::uint64_t hash_seed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a + 0x9e3779b97f4a7c15u * (b + 1);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// Return the number of columns in a fraction of `n_columns`: at least one.
inline std::size_t n_sampled_columns(std::size_t n_columns, double fraction) {
    const auto n = static_cast<std::size_t>(fraction * static_cast<double>(n_columns));
    return std::clamp<std::size_t>(n, std::min<std::size_t>(n_columns, 1), n_columns);
}

/// Shuffle the first `n` columns (Fisher-Yates).
inline void partial_shuffle(std::span<std::int32_t> columns, std::size_t n, std::uint64_t seed) {
    for (std::size_t i = 0; i < n; ++i)
        std::swap(columns[i], columns[i + hash_seed(seed, i) % (columns.size() - i)]);
}

/// Move a random fraction of the columns, at least one, to the front; return them in ascending order.
inline std::span<const std::int32_t> sample_columns_in_place(std::span<std::int32_t> columns, double fraction,
                                                             std::uint64_t seed) {
    const auto sampled = columns.first(n_sampled_columns(columns.size(), fraction));
    if (sampled.size() == columns.size()) return sampled;
    partial_shuffle(columns, sampled.size(), seed);
    std::sort(sampled.begin(), sampled.end());
    return sampled;
}

/// Return a random fraction of the columns, at least one, in ascending order.
inline std::vector<std::int32_t> sample_columns(std::span<const std::int32_t> columns, double fraction,
                                                std::uint64_t seed) {
    std::vector<std::int32_t> sampled(columns.begin(), columns.end());
    sampled.resize(sample_columns_in_place(sampled, fraction, seed).size());
    return sampled;
}

/// Sample `n` of the rows 0 ... n_rows - 1 without replacement; return those among `n_part` rows from
/// `first` on, in ascending order, counted from `first`.
std::vector<std::uint32_t> sample_rows(std::size_t n_rows, std::size_t n, std::uint64_t seed,
                                       std::size_t first, std::size_t n_part);

}  // namespace tritree
