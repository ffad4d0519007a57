#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/require.hpp"
#include "model/serialization.hpp"

namespace tritree {

// What saving and loading of all models share.

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

/// Return the next `n` entries of an array, and advance `at`.
template <class T>
std::vector<T> take(const std::vector<T>& all, std::size_t& at, std::size_t n) {
    require(at <= all.size() && n <= all.size() - at, "array too short");
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    at += n;
    return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

inline std::size_t to_size(std::int64_t n) {
    require(n >= 0, "negative number of entries");
    return static_cast<std::size_t>(n);
}

TreesState save_trees(std::span<const Tree* const> trees);
std::vector<Tree> load_trees(const TreesState& state, const GrowthParameters& params, int n_outputs,
                             std::size_t n_columns);

}  // namespace tritree
