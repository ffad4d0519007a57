#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/require.hpp"
#include "model/serialization.hpp"

namespace tritree {

// What saving and loading of all models share.

template <class T, class More>
void append(std::vector<T>& all, const More& more) {
    all.insert(all.end(), more.begin(), more.end());
}

/// Return the next `n` entries of an array, and advance `at`.
template <class T>
std::span<const T> next(const std::vector<T>& all, std::size_t& at, std::size_t n) {
    require(at <= all.size() && n <= all.size() - at, "array too short");
    at += n;
    return {all.data() + (at - n), n};
}

/// Return a copy of them.
template <class T>
std::vector<T> take(const std::vector<T>& all, std::size_t& at, std::size_t n) {
    const auto found = next(all, at, n);
    return {found.begin(), found.end()};
}

inline std::size_t to_size(std::int64_t n) {
    require(n >= 0, "negative number of entries");
    return static_cast<std::size_t>(n);
}

TreesState save_trees(std::span<const Tree* const> trees);
std::vector<Tree> load_trees(const TreesState& state, const GrowthParameters& params, int n_outputs,
                             std::size_t n_columns);

}  // namespace tritree
