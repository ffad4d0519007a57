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

/// Return a share of the columns, at least one, drawn by a number that is as good as random, in their order.
inline std::vector<std::int32_t> draw_columns(std::span<const std::int32_t> columns, double share,
                                              std::uint64_t random) {
    std::vector<std::int32_t> some(columns.begin(), columns.end());
    if (some.empty()) return some;
    const auto n = std::clamp<std::size_t>(static_cast<std::size_t>(share * static_cast<double>(some.size())),
                                           1, some.size());
    for (std::size_t i = 0; i < n; ++i) std::swap(some[i], some[i + mixed(random, i) % (some.size() - i)]);
    some.resize(n);
    std::sort(some.begin(), some.end());
    return some;
}

}  // namespace tritree
