#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tritree {

/// Return a number that is as good as random, and depends on both.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a + 0x9e3779b97f4a7c15u * (b + 1);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// Return how many of some columns a share of them is: at least one.
inline std::size_t share_of(std::size_t n_columns, double share) {
    const auto n = static_cast<std::size_t>(share * static_cast<double>(n_columns));
    return std::clamp<std::size_t>(n, std::min<std::size_t>(n_columns, 1), n_columns);
}

/// Put columns, from the first on, into an order drawn by a number that is as good as random.
inline void shuffle_first(std::span<std::int32_t> columns, std::size_t n, std::uint64_t random) {
    for (std::size_t i = 0; i < n; ++i)
        std::swap(columns[i], columns[i + mixed(random, i) % (columns.size() - i)]);
}

/// Return a share of the columns, at least one, drawn by a number that is as good as random, in their order:
/// they are put before the others.
inline std::span<const std::int32_t> drawn(std::span<std::int32_t> columns, double share,
                                           std::uint64_t random) {
    const auto some = columns.first(share_of(columns.size(), share));
    if (some.size() == columns.size()) return some;
    shuffle_first(columns, some.size(), random);
    std::sort(some.begin(), some.end());
    return some;
}

/// Return the same as columns of their own.
inline std::vector<std::int32_t> draw_columns(std::span<const std::int32_t> columns, double share,
                                              std::uint64_t random) {
    std::vector<std::int32_t> some(columns.begin(), columns.end());
    some.resize(drawn(some, share, random).size());
    return some;
}

}  // namespace tritree
