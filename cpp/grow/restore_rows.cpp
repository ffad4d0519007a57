#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "grow/ladder_grower.hpp"

namespace tritree {
namespace {

/// A node of a heavy path: one that leads from a node always to the child with more rows.
struct PathStep {
    std::int32_t node;
    const SplitInfo* split;
    Branch heavy;
};

Branch branch_of(std::uint32_t row, const SplitInfo& split, const BinnedColumns& binned) {
    const BinnedColumn& column = binned.columns[split.column];
    return column.visit([&](const auto* bins) { return split.branch(bins[row], column.missing_bin()); });
}

/// Return for each bin of a column the first of some steps at which rows with this bin leave the path, or
/// `end`. The steps are those that split on the column.
std::vector<std::uint32_t> leaving_steps(const BinnedColumn& column, std::span<const PathStep> path,
                                         std::span<const std::uint32_t> steps, std::uint32_t end) {
    const std::uint32_t missing = column.missing_bin();
    std::vector<std::uint32_t> leaves_at(missing + 1, end);
    const auto leave = [&](std::uint32_t begin_bin, std::uint32_t end_bin, std::uint32_t step) {
        for (std::uint32_t bin = begin_bin; bin < end_bin; ++bin)
            if (leaves_at[bin] == end && path[step].split->branch(bin, missing) != path[step].heavy)
                leaves_at[bin] = step;
    };
    // Numeric bins that stay are an interval, of which every step removes one end. Sets of categories have a
    // bit per category, so that a step may look at all of them.
    std::uint32_t low = 0, high = column.n_bins;
    for (const std::uint32_t step : steps) {
        leave(missing, missing + 1, step);
        if (column.categorical) {
            leave(0, missing, step);
            continue;
        }
        const SplitInfo& split = *path[step].split;
        const std::uint32_t first_right =
            std::clamp(split.missing_vs_observed ? 0 : split.threshold_bin + 1, low, high);
        if (path[step].heavy == Branch::Left) {
            leave(first_right, high, step);
            high = first_right;
        } else {
            leave(low, first_right, step);
            low = first_right;
        }
    }
    return leaves_at;
}

/// Return for each row the first step of a path at which it leaves, or the number of steps.
std::vector<std::uint32_t> find_leaving_steps(std::span<const PathStep> path,
                                              std::span<const std::uint32_t> rows,
                                              const BinnedColumns& binned) {
    constexpr std::uint32_t kLongPath = 64;
    const auto end = static_cast<std::uint32_t>(path.size());
    std::vector<std::uint32_t> leaves_at(rows.size(), end);
    if (end < kLongPath) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::uint32_t step = 0; step < end && leaves_at[i] == end; ++step)
                if (branch_of(rows[i], *path[step].split, binned) != path[step].heavy) leaves_at[i] = step;
        return leaves_at;
    }
    // Per column, the step follows from the bin of a row: it is looked up once per column, not per split.
    std::map<std::int32_t, std::vector<std::uint32_t>> steps_of_column;
    for (std::uint32_t step = 0; step < end; ++step)
        steps_of_column[path[step].split->column].push_back(step);
    for (const auto& [number, steps] : steps_of_column) {
        const BinnedColumn& column = binned.columns[number];
        const std::vector<std::uint32_t> step_of_bin = leaving_steps(column, path, steps, end);
        column.visit([&](const auto* bins) {
            for (std::size_t i = 0; i < rows.size(); ++i)
                leaves_at[i] = std::min(leaves_at[i], step_of_bin[bins[rows[i]]]);
        });
    }
    return leaves_at;
}

void require_rows(bool holds, const char* error) {
    if (!holds) throw std::invalid_argument(error);
}

}  // namespace

void LadderGrower::restore_rows(const std::function<void()>& check_signals) {
    all_rows_ = sampled_rows();
    ladders[0].path = params_.seed;
    // parents come before their children
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(tree.size()); ++node) {
        const auto& [number, rank] = positions[node];
        if (number == kNone) continue;
        Ladder& ladder = ladders[number];
        if (rank == 0) {
            ladder.node = node;
            if (!ladder.splits.empty()) unfinished_.push_back(number);
        }
        for (const Branch branch : {Branch::Left, Branch::Right}) {
            const std::int32_t child = tree.child(node, branch);
            if (child < 0 || positions[child].ladder == kNone) continue;
            Ladder& below = ladders[positions[child].ladder];
            below.parent = {node, branch};
            below.path = child_path(ladder.path, rank, branch);
        }
    }
    // Heavy paths: a row is on at most log2(rows) of them, however deep the tree is.
    std::vector<std::pair<std::int32_t, std::span<std::uint32_t>>> pending{{0, all_rows_}};
    while (!pending.empty()) {
        if (check_signals) check_signals();
        const auto [node, rows] = pending.back();
        pending.pop_back();
        place_rows(node, rows, pending);
    }
}

/// Place the rows of a node that fit has grown on the heavy path from it: set the rows of its ladders, and
/// append the children beside it.
void LadderGrower::place_rows(std::int32_t node, std::span<std::uint32_t> rows,
                              std::vector<std::pair<std::int32_t, std::span<std::uint32_t>>>& beside) {
    std::vector<PathStep> path;
    for (; !tree.is_leaf(node); node = tree.child(node, path.back().heavy)) {
        const bool left = tree.rows[tree.left[node]] >= tree.rows[tree.right[node]];
        path.push_back(
            {node, &ladders[positions[node].ladder].splits[0], left ? Branch::Left : Branch::Right});
    }
    const auto end = static_cast<std::uint32_t>(path.size());
    const std::vector<std::uint32_t> leaves_at = find_leaving_steps(path, rows, binned_);

    // per step, rows that leave for the other child, and for neither
    std::vector<std::size_t> n_beside(end, 0), n_third(end, 0);
    std::vector<std::uint8_t> is_third(rows.size(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (leaves_at[i] == end) continue;
        const Branch branch = branch_of(rows[i], *path[leaves_at[i]].split, binned_);
        is_third[i] = branch != Branch::Left && branch != Branch::Right;
        ++(is_third[i] ? n_third : n_beside)[leaves_at[i]];
    }

    // rows of a step: [ left | right | third ], of which the heavy part is that of the next step
    std::vector<std::size_t> beside_at(end), third_at(end);
    std::size_t begin = 0, size = rows.size();
    for (std::uint32_t step = 0; step < end; ++step) {
        const auto& [parent, split, heavy] = path[step];
        require_rows(size == static_cast<std::size_t>(tree.rows[parent]),
                     "node with other rows than its own");
        const std::size_t n_heavy = size - n_beside[step] - n_third[step];
        const bool left = heavy == Branch::Left;
        Ladder& ladder = ladders[positions[parent].ladder];
        ladder.rows = rows.subspan(begin, size);
        ladder.sizes = {left ? n_heavy : n_beside[step], left ? n_beside[step] : n_heavy};
        beside_at[step] = left ? begin + n_heavy : begin;
        third_at[step] = begin + n_heavy + n_beside[step];
        beside.emplace_back(left ? tree.right[parent] : tree.left[parent],
                            rows.subspan(beside_at[step], n_beside[step]));
        begin += left ? 0 : n_beside[step];
        size = n_heavy;
    }
    require_rows(size == static_cast<std::size_t>(tree.rows[node]), "node with other rows than its own");
    if (positions[node].ladder != kNone) ladders[positions[node].ladder].rows = rows.subspan(begin, size);

    const std::vector<std::uint32_t> unordered(rows.begin(), rows.end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint32_t step = leaves_at[i];
        rows[step == end ? begin++ : (is_third[i] ? third_at : beside_at)[step]++] = unordered[i];
    }
}

}  // namespace tritree
