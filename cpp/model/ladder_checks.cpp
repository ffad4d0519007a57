#include "model/ladder_checks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "model/state_arrays.hpp"

namespace tritree {
namespace {

/// Return whether a node of a tree has this split.
bool is_split_of(const SplitInfo& split, const Tree& tree, std::size_t node) {
    if (split.column != tree.split.column[node] ||
        static_cast<std::int8_t>(split.missing_to) != tree.missing_to[node])
        return false;
    if (!split.categorical) return split.threshold == tree.split.threshold[node];
    const auto& words = split.sets.words();
    return !tree.split.set_begin.empty() && tree.split.set_begin[node] >= 0 &&
           2 * static_cast<std::size_t>(tree.split.set_words[node]) == words.size() &&
           std::equal(words.begin(), words.end(), tree.sets.begin() + tree.split.set_begin[node]);
}

// ---- splits that follow the first, of ladders grown by fit ----

/// The bins of a column that some rows have: all of them if categorical, else the smallest, the largest and
/// that of missing values. Sorted.
using SeenBins = std::vector<std::uint32_t>;

SeenBins join(const SeenBins& one, const SeenBins& other, const BinnedColumn& column) {
    SeenBins both;
    std::set_union(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
    const bool has_missing = !both.empty() && both.back() == column.missing_bin();
    if (!column.categorical && both.size() > 2 + has_missing)
        both.erase(both.begin() + 1, both.end() - 1 - has_missing);
    return both;
}

SeenBins bins_of(std::vector<std::uint32_t> bins, const BinnedColumn& column) {
    std::sort(bins.begin(), bins.end());
    bins.erase(std::unique(bins.begin(), bins.end()), bins.end());
    return join(bins, {}, column);
}

/// Return whether a split sends some of the bins left and some right.
bool splits_bins(const SplitInfo& split, const SeenBins& bins, const BinnedColumn& column) {
    const auto has = [&](Branch branch) {
        return std::any_of(bins.begin(), bins.end(), [&](std::uint32_t bin) {
            return split.branch(bin, column.missing_bin()) == branch;
        });
    };
    return has(Branch::Left) && has(Branch::Right);
}

/// Return the bins of the rows of a ladder that are on none of the ladders of its children.
SeenBins bins_of_no_child(const LadderGrower& grower, const Ladder& ladder, const BinnedColumn& column) {
    std::vector<std::uint32_t> bins;
    const auto add = [&](std::span<const std::uint32_t> rows) {
        column.visit([&](const auto* all) {
            for (const std::uint32_t row : rows) bins.push_back(all[row]);
        });
    };
    const auto [n_left, n_right] = ladder.sizes;  // 0 in a leaf
    const auto is_leaf = [&](std::int32_t child) { return grower.positions[child].ladder == kNone; };
    if (n_left > 0 && is_leaf(grower.tree.left[ladder.node])) add(ladder.rows.first(n_left));
    if (n_right > 0 && is_leaf(grower.tree.right[ladder.node])) add(ladder.rows.subspan(n_left, n_right));
    add(ladder.rows.subspan(n_left + n_right));
    return bins_of(std::move(bins), column);
}

/// Check the splits of ladders grown by fit that follow the first. The bins of a ladder are those of its
/// children and of rows that go to neither: every row is read once per column, however deep the tree is.
void check_later_splits(const LadderGrower& grower, const CheckSignals& check_signals) {
    const auto& ladders = grower.ladders;
    // children come after their parents, so that all begin with the last ladder
    std::map<std::int32_t, std::vector<std::pair<std::size_t, const SplitInfo*>>> splits_of_column;
    for (std::size_t number = ladders.size(); number-- > 0;)
        for (std::size_t rank = 1; rank < ladders[number].splits.size() && !ladders[number].rows.empty();
             ++rank)
            splits_of_column[ladders[number].splits[rank].column].emplace_back(number,
                                                                               &ladders[number].splits[rank]);
    for (const auto& [column_number, splits] : splits_of_column) {
        if (check_signals) check_signals();
        const BinnedColumn& column = grower.binned().columns[column_number];
        std::vector<SeenBins> seen(ladders.size());
        auto split = splits.begin();
        for (std::size_t number = ladders.size(); number-- > 0;) {
            const Ladder& ladder = ladders[number];
            if (ladder.rows.empty()) continue;
            const SeenBins bins =
                join(std::exchange(seen[number], {}), bins_of_no_child(grower, ladder, column), column);
            for (; split != splits.end() && split->first == number; ++split)
                require(splits_bins(*split->second, bins, column), "split without rows on one side");
            if (number == 0) continue;
            SeenBins& above = seen[grower.positions[ladder.parent.node].ladder];
            above = join(above, bins, column);
        }
    }
}

// ---- branches grown on demand ----

PartitionSizes count_sides(const SplitInfo& split, const BinnedColumn& column,
                           std::span<const std::uint32_t> rows) {
    PartitionSizes sizes;
    column.visit([&](const auto* bins) {
        for (const std::uint32_t row : rows) {
            const Branch to = split.branch(bins[row], column.missing_bin());
            sizes.left += to == Branch::Left;
            sizes.right += to == Branch::Right;
        }
    });
    return sizes;
}

/// Check that the children of a node whose branches grow on demand have the rows that its split sends them.
void check_children(LadderGrower& grower, std::int32_t node) {
    const Tree& tree = grower.tree;
    const auto& [number, rank] = grower.positions[node];
    if (tree.left[node] < 0 && tree.right[node] < 0) return;
    grower.drop_old_rows();
    const SplitInfo& split = grower.ladders[number].splits[rank];
    const auto [n_left, n_right] =
        count_sides(split, grower.binned().columns[split.column], grower.rows_of(number));
    for (const auto& [child, n] : {std::pair(tree.left[node], n_left), {tree.right[node], n_right}})
        require(child < 0 || static_cast<std::size_t>(tree.rows[child]) == n,
                "node with other rows than its own");
}

}  // namespace

void check_positions(const LadderGrower& grower) {
    const Tree& tree = grower.tree;
    const auto n_ladders = static_cast<std::int32_t>(grower.ladders.size());
    require(grower.positions.size() == tree.size() && n_ladders > 0, "ladders do not match the trees");
    std::int32_t n_seen = 0;  // ladders are numbered in the order of their nodes
    for (std::size_t node = 0; node < tree.size(); ++node) {
        const auto [ladder, rank] = grower.positions[node];
        if (ladder == kNone && tree.is_leaf(node) && rank == 0 && node > 0) continue;
        require(ladder >= 0 && ladder < n_ladders && rank >= 0, "ladder position out of range");
        const auto n_splits = static_cast<std::int32_t>(grower.ladders[ladder].splits.size());
        require(tree.is_leaf(node) ? rank >= n_splits : rank < n_splits, "split without a ladder");
        require(rank > 0 || ladder == n_seen, "ladders out of order");
        if (rank == 0) ++n_seen;
        if (!tree.is_leaf(node))
            require(is_split_of(grower.ladders[ladder].splits[rank], tree, node),
                    "ladder does not match the split");
        for (const std::int32_t child : {tree.left[node], tree.right[node]}) {
            require(child != kUngrown || grower.params().max_leaf_nodes == 0,
                    "ungrown branch of a tree that grows best first");
            if (child < 0) continue;
            require(grower.positions[child].rank == 0, "child out of place");
            if (grower.positions[child].ladder < 0 || grower.positions[child].ladder >= n_ladders) continue;
            auto used = grower.ladders[ladder].used_columns;
            for (std::int32_t k = 0; k < rank; ++k) used.push_back(grower.ladders[ladder].splits[k].column);
            require(grower.ladders[grower.positions[child].ladder].used_columns == used,
                    "used columns do not match the parent");
        }
        const std::int32_t third = tree.third[node];
        require(third < 0 ||
                    (grower.positions[third].ladder == ladder && grower.positions[third].rank == rank + 1),
                "third branch out of place");
    }
    require(grower.positions[0].ladder == 0 && grower.positions[0].rank == 0 &&
                grower.ladders[0].used_columns.empty(),
            "root out of place");
    require(n_seen == n_ladders, "ladder without a node");
}

void check_ladders(LadderGrower& grower, const CheckSignals& check_signals) {
    std::vector<bool> is_fitted;
    for (const Ladder& ladder : grower.ladders) is_fitted.push_back(!ladder.rows.empty());
    check_later_splits(grower, check_signals);
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(grower.tree.size()); ++node) {
        const auto& [number, rank] = grower.positions[node];
        if (number == kNone) continue;
        if (check_signals) check_signals();
        if (!grower.tree.is_leaf(node) && (rank > 0 || !is_fitted[number])) check_children(grower, node);
        if (rank > 0) continue;
        const Ladder& ladder = grower.ladders[number];
        // a scale of its own is much finer than that of its parent, whose rows include these
        const FixedPointScale* above =
            node == 0 ? nullptr : &grower.ladders[grower.positions[ladder.parent.node].ladder].scale;
        if (above == nullptr || ladder.scale != *above) {
            require(above == nullptr || ladder.scale.is_much_finer_than(*above),
                    "fixed-point scale out of range");
            grower.drop_old_rows();
            require(grower.fits(number), "fixed-point scale too fine for the rows");
        }
        std::vector<std::int32_t> used = ladder.used_columns;
        for (const SplitInfo& split : ladder.splits) {
            used.push_back(split.column);
            if (is_fitted[number]) continue;
            grower.drop_old_rows();
            const auto [left, right] =
                count_sides(split, grower.binned().columns[split.column], grower.rows_of(number));
            require(left > 0 && right > 0, "split without rows on one side");
        }
        std::sort(used.begin(), used.end());
        require(std::adjacent_find(used.begin(), used.end()) == used.end(), "column used twice on a ladder");
    }
}

}  // namespace tritree
