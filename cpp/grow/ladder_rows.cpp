#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "grow/ladder_grower.hpp"

namespace tritree {
namespace {

// Rows of ladders grown on demand are cached for later calls. Those beyond the limit are dropped, and
// recomputed when needed, with those of the ladders above.
constexpr std::size_t kMaxOwnRows = std::size_t{1} << 24;  // 64 MB of row indices
constexpr std::size_t kMaxCachedPath = 32;                 // ladders above; more are not cached

}  // namespace

/// Return the rows of a ladder, partitioned by one of its splits.
Partition LadderGrower::partition_of(const Ladder& ladder, std::int32_t rank) const {
    const bool sorted = !ladder.own_rows.empty();
    return tritree::partition_of(ladder.rows, sorted, binned_, ladder.splits[rank]);
}

/// Return the ladders without rows from this one up to one that has them.
std::vector<std::int32_t> LadderGrower::path_without_rows(std::int32_t ladder) const {
    std::vector<std::int32_t> path;
    for (; ladders[ladder].rows.empty(); ladder = positions[ladders[ladder].parent.node].ladder)
        path.push_back(ladder);
    return path;
}

std::span<const std::uint32_t> LadderGrower::rows_of(std::int32_t number) {
    std::vector<std::int32_t> path = path_without_rows(number);
    if (path.size() <= kMaxCachedPath) {
        find_rows({&number, 1}, 1);
        return ladders[number].rows;
    }
    std::vector<std::uint32_t> rows;
    for (; !path.empty(); path.pop_back()) {
        const auto& [node, branch] = ladders[path.back()].parent;
        const auto& [number_above, rank] = positions[node];
        const Ladder& above = ladders[number_above];
        Partition parts = rows.empty() ? partition_of(above, rank)
                                       : tritree::partition_of(rows, true, binned_, above.splits[rank]);
        rows = std::move(branch == Branch::Left ? parts.left : parts.right);
        if (rows.empty()) return {};
    }
    set_own_rows(number, std::move(rows));
    return ladders[number].rows;
}

/// Recompute the rows of ladders that were dropped, and of those above, which are cached for later calls: a
/// level of the tree at a time, on all threads. The children of a node share the partition of its rows.
void LadderGrower::find_rows(std::span<const std::int32_t> ladder_indices, int n_threads) {
    std::vector<std::int32_t> lacking;
    for (const std::int32_t number : ladder_indices) {
        const std::vector<std::int32_t> path = path_without_rows(number);
        if (path.size() > kMaxCachedPath)
            rows_of(number);
        else
            lacking.insert(lacking.end(), path.begin(), path.end());
    }
    const auto level_of = [&](std::int32_t ladder) { return tree.depth[ladders[ladder].node]; };
    const auto order = [&](std::int32_t ladder) {
        return std::tuple(level_of(ladder), ladders[ladder].parent.node, ladder);
    };
    std::ranges::sort(lacking, {}, order);
    lacking.erase(std::unique(lacking.begin(), lacking.end()), lacking.end());

    // A task recomputes the rows of one child of a node, or of both.
    std::vector<std::span<const std::int32_t>> tasks;
    std::vector<Partition> parts;
    for (std::size_t begin = 0, end = 0; begin < lacking.size(); begin = end) {
        const std::int32_t level = level_of(lacking[begin]);
        tasks.clear();
        for (std::size_t first = begin; end < lacking.size() && level_of(lacking[end]) == level;
             first = end) {
            const std::int32_t parent = ladders[lacking[first]].parent.node;
            while (end < lacking.size() && ladders[lacking[end]].parent.node == parent) ++end;
            tasks.push_back(std::span(lacking).subspan(first, end - first));
        }
        parts.assign(tasks.size(), {});
        parallel_for(tasks.size(), n_threads, [&](std::size_t t) {
            const auto& [number, rank] = positions[ladders[tasks[t][0]].parent.node];
            parts[t] = partition_of(ladders[number], rank);
            parts[t].third = {};
        });
        for (std::size_t t = 0; t < tasks.size(); ++t)
            for (const std::int32_t ladder : tasks[t])
                set_own_rows(ladder,
                             std::move(ladders[ladder].parent.branch == Branch::Left ? parts[t].left
                                                                                     : parts[t].right));
    }
}

void LadderGrower::set_own_rows(std::int32_t number, std::vector<std::uint32_t> rows) {
    Ladder& ladder = ladders[number];
    ladder.own_rows = std::move(rows);
    ladder.rows = ladder.own_rows;
    row_owners_.push_back(number);
    n_own_rows_ += ladder.own_rows.size();
}

void LadderGrower::drop_old_rows() {
    std::size_t n_dropped = 0;
    while (n_own_rows_ > kMaxOwnRows) {
        Ladder& ladder = ladders[row_owners_[n_dropped++]];
        n_own_rows_ -= ladder.own_rows.size();
        ladder.own_rows = std::vector<std::uint32_t>();  // {} would keep the memory
        ladder.rows = {};
    }
    row_owners_.erase(row_owners_.begin(), row_owners_.begin() + static_cast<std::ptrdiff_t>(n_dropped));
}

}  // namespace tritree
