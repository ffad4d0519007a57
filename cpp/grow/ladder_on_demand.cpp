#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "grow/ladder_grower.hpp"

namespace tritree {
namespace {

// Growth on demand holds samples of all rows of a batch of nodes in memory.
constexpr std::size_t kBatchRows = std::size_t{1} << 20;  // per batch, or all rows if more

}  // namespace

void LadderGrower::grow_some(std::int64_t max_new_nodes, int n_threads) {
    if (!std::exchange(complete_cells_, true)) cached_histograms_.clear();  // their cells have another layout
    const auto before = static_cast<std::int64_t>(tree.size());
    std::vector<BranchRef> branches = find_ungrown(max_new_nodes);
    const std::int64_t n_added = static_cast<std::int64_t>(tree.size()) - before;
    grow_branches(std::move(branches), n_threads, max_new_nodes - n_added);
}

void LadderGrower::grow(std::vector<BranchRef> branches, int n_threads, std::int64_t max_new_nodes) {
    if (std::exchange(complete_cells_, false)) cached_histograms_.clear();
    grow_branches(std::move(branches), n_threads, max_new_nodes);
}

void LadderGrower::grow_branches(std::vector<BranchRef> branches, int n_threads, std::int64_t max_new_nodes) {
    const auto first_both = std::partition(branches.begin(), branches.end(),
                                           [](const BranchRef& ref) { return ref.branch != Branch::Both; });
    find_evidence_of(std::span(first_both, branches.end()), n_threads);
    branches.erase(first_both, branches.end());
    std::sort(branches.begin(), branches.end());
    branches.erase(std::unique(branches.begin(), branches.end()), branches.end());
    std::erase_if(branches,
                  [&](const BranchRef& ref) { return tree.child(ref.node, ref.branch) != kUngrown; });
    if (static_cast<std::int64_t>(branches.size()) > max_new_nodes)
        branches.resize(static_cast<std::size_t>(max_new_nodes));
    complete_ladders(branches, n_threads);
    const auto before = static_cast<std::int64_t>(tree.size());
    for (const auto& [node, branch] : branches) {
        if (branch != Branch::Third || static_cast<std::int64_t>(tree.size()) - before >= max_new_nodes)
            continue;
        if (params_.max_leaf_nodes > 0)
            grow_limited_third(node, n_threads);
        else
            tree.set_child(node, Branch::Third, add_third(node));
    }
    std::erase_if(branches, [](const BranchRef& ref) { return ref.branch == Branch::Third; });
    if (branches.empty()) return;

    // Children that may split come first, and those of one ladder are adjacent.
    auto ladder_of = [&](const BranchRef& ref) { return positions[ref.node].ladder; };
    auto may_split = [&](const BranchRef& ref) { return splits_below(tree.depth[ref.node]); };
    std::stable_sort(branches.begin(), branches.end(), [&](const BranchRef& a, const BranchRef& b) {
        return std::tuple(!may_split(a), ladder_of(a)) < std::tuple(!may_split(b), ladder_of(b));
    });
    auto cache = std::exchange(cached_histograms_, {});
    cached_histogram_size_ = 0;
    const std::size_t batch_rows = std::max(binned_.n_rows, kBatchRows);
    std::size_t begin = 0, rows = 0;
    for (std::size_t end = 0; end < branches.size();) {
        const std::int32_t ladder = ladder_of(branches[end]);
        const bool batch_may_split = may_split(branches[end]);
        for (; end < branches.size() && ladder_of(branches[end]) == ladder; ++end)
            rows += static_cast<std::size_t>(tree.rows[branches[end].node]);
        if (rows < batch_rows && end < branches.size() && may_split(branches[end]) == batch_may_split)
            continue;
        const auto batch = std::span(branches).subspan(begin, end - begin);
        drop_old_rows();
        if (batch_may_split) {
            for (ExpandEntry& child : grow_children(batch, cache, n_threads))
                if (!child.splits.empty()) apply_split(child);
        } else {
            grow_leaves(batch, n_threads);
        }
        for (const BranchRef& ref : batch) cache.erase(ladder_of(ref));
        begin = end;
        rows = 0;
    }
    drop_old_rows();
    finder().free_buffers();
}

/// Find the evidence of nodes that lack it.
void LadderGrower::find_evidence_of(std::span<const BranchRef> nodes, int n_threads) {
    std::vector<std::int32_t> lacking;
    for (const BranchRef& ref : nodes)
        if (tree.lacks_evidence(ref.node)) lacking.push_back(ref.node);
    std::sort(lacking.begin(), lacking.end());
    lacking.erase(std::unique(lacking.begin(), lacking.end()), lacking.end());
    const std::size_t batch_rows = std::max(binned_.n_rows, kBatchRows);
    std::vector<std::vector<Evidence>> found;
    for (std::size_t begin = 0, end = 0; begin < lacking.size(); begin = end) {
        drop_old_rows();
        for (std::size_t rows = 0; end < lacking.size() && rows < batch_rows; ++end)
            rows += rows_of(positions[lacking[end]].ladder).size();
        found.assign(end - begin, {});
        parallel_for(found.size(), n_threads,
                     [&](std::size_t i) { found[i] = evidence_of(lacking[begin + i]); });
        for (std::size_t i = 0; i < found.size(); ++i) tree.evidence.add(lacking[begin + i], found[i]);
    }
}

/// Return the evidence of a node, whose rows are there.
std::vector<Evidence> LadderGrower::evidence_of(std::int32_t node) const {
    constexpr std::uint64_t kSampleOfEvidence = ~std::uint64_t{0};  // differs from the branches of a path
    const auto& [number, rank] = positions[node];
    const Ladder& ladder = ladders[number];
    std::span<const std::uint32_t> rows = ladder.rows;
    // The rows of a ladder grown by fit are partitioned down to the leaves, which gives them an order that
    // depends on the tree alone, but with a limit of leaves also by splits that were not used.
    thread_local std::vector<std::uint32_t> sorted;
    if (params_.max_leaf_nodes > 0 && ladder.own_rows.empty() &&
        static_cast<std::int64_t>(rows.size()) > params_.surrogate_rows) {
        sorted.assign(rows.begin(), rows.end());
        std::sort(sorted.begin(), sorted.end());
        rows = sorted;
    }
    const std::uint64_t seed = hash_seed(ladder.path, kSampleOfEvidence - static_cast<std::uint64_t>(rank));
    return find_evidence(params_, binned_, data_->target, rows, ladder.splits[rank], seed);
}

/// Find the remaining splits of ladders that have only the first, before their third branches are grown.
void LadderGrower::complete_ladders(std::span<const BranchRef> branches, int n_threads) {
    std::vector<std::int32_t> ladder_indices;
    for (const auto& [node, branch] : branches)
        if (branch == Branch::Third && ladders[positions[node].ladder].first_split_only)
            ladder_indices.push_back(positions[node].ladder);
    std::sort(ladder_indices.begin(), ladder_indices.end());
    ladder_indices.erase(std::unique(ladder_indices.begin(), ladder_indices.end()), ladder_indices.end());
    find_rows(ladder_indices, n_threads);
    std::vector<std::vector<SplitInfo>> rest(ladder_indices.size());
    parallel_for(ladder_indices.size(), n_threads, [&](std::size_t i) {
        const Ladder& ladder = ladders[ladder_indices[i]];
        rest[i] = finder().remaining_splits(ladder, parent_scale(ladder));
    });
    for (std::size_t i = 0; i < ladder_indices.size(); ++i) {
        Ladder& ladder = ladders[ladder_indices[i]];
        reserve_more(ladder.splits, rest[i].size());
        for (SplitInfo& split : rest[i]) ladder.splits.push_back(std::move(split));
        ladder.first_split_only = false;
    }
}

/// Append the third branch of a node: the next split of its ladder, or a leaf; return its index.
std::int32_t LadderGrower::add_third(std::int32_t node) {
    const LadderPosition position = positions[node];
    const auto& splits = ladders[position.ladder].splits;
    const bool is_split = static_cast<std::size_t>(position.rank) + 1 < splits.size();
    tree.reserve_more(1, is_split ? splits[position.rank + 1].sets.words().size() : 0);
    reserve_more(positions, 1);
    const std::int32_t third = tree.add_third(node);
    positions.push_back({position.ladder, position.rank + 1});
    if (is_split) tree.set_split(third, splits[position.rank + 1]);
    return third;
}

/// Grow the third branch of a node as a binary tree of its own, best first.
void LadderGrower::grow_limited_third(std::int32_t node, int n_threads) {
    const std::int64_t max_leaves = max_third_leaves(node);
    const std::int32_t third = add_third(node);
    ExpandQueue<ExpandEntry> queue(true, tie_tolerance(node));
    cached_histograms_.clear();
    cached_histogram_size_ = 0;
    const auto expand = [&](std::int32_t parent) {
        drop_old_rows();
        for (ExpandEntry& child :
             grow_children(std::array{BranchRef{parent, Branch::Left}, BranchRef{parent, Branch::Right}},
                           cached_histograms_, n_threads))
            if (!child.splits.empty()) queue.push(std::move(child));
    };
    if (!tree.is_leaf(third)) expand(third);
    for (std::int64_t n_leaves = 2; !queue.empty() && n_leaves < max_leaves; ++n_leaves) {
        ExpandEntry entry = queue.pop();
        apply_split(entry);
        expand(entry.node);
        cached_histograms_.erase(positions[entry.node].ladder);
    }
    cached_histograms_.clear();
    tree.set_child(node, Branch::Third, third);  // last: a branch whose growth failed is never traversed
}

/// Return the maximum number of leaves of the third branch of a node: as many as its binary tree may have in
/// place of those below the left and the right branch.
std::int64_t LadderGrower::max_third_leaves(std::int32_t node) const {
    std::int64_t max_leaves = params_.max_leaf_nodes;
    for (;;) {
        max_leaves += count_leaves(node);
        while (positions[node].rank == 0 && node != 0) node = ladders[positions[node].ladder].parent.node;
        max_leaves -= count_leaves(node);
        if (node == 0) return max_leaves;
        // the root of a third branch, whose own limit follows from the node that it belongs to
        const auto [ladder, rank] = positions[node];
        node = ladders[ladder].node;
        for (std::int32_t above = 1; above < rank; ++above) node = tree.third[node];
    }
}

/// Return the number of leaves below the left and the right branch of a node, third branches not included.
std::int64_t LadderGrower::count_leaves(std::int32_t node) const {
    std::int64_t n_leaves = 0;
    std::vector<std::int32_t> pending{node};
    while (!pending.empty()) {
        const std::int32_t next = pending.back();
        pending.pop_back();
        if (tree.is_leaf(next)) {
            ++n_leaves;
            continue;
        }
        for (const std::int32_t child : {tree.left[next], tree.right[next]}) pending.push_back(child);
    }
    return n_leaves;
}

/// Grow children at maximum depth: only their statistics are needed.
void LadderGrower::grow_leaves(std::span<const BranchRef> branches, int n_threads) {
    std::vector<std::optional<NodeStats>> leaves(branches.size());
    auto stats_from_cells = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const auto& [number, rank] = positions[branches[i].node];
            const Ladder& ladder = ladders[number];
            const std::span<const std::int64_t> child_cells = ladder.splits[rank].child_cells;
            if (child_cells.empty()) continue;
            const std::size_t width = child_cells.size() / 2,
                              branch = branches[i].branch == Branch::Left ? 0 : 1;
            leaves[i] = finder_.stats_builder().stats_of_cell(child_cells.subspan(branch * width, width),
                                                              ladder.scale);
        }
    };
    parallel_blocks(branches.size(), 256, n_threads, stats_from_cells);
    stats_from_rows(branches, leaves, n_threads);
    tree.reserve_more(branches.size(), 0);
    reserve_more(positions, branches.size());
    for (std::size_t i = 0; i < branches.size(); ++i) {
        const auto& [node, branch] = branches[i];
        tree.set_child(node, branch, tree.add_leaf(*leaves[i], tree.depth[node] + 1));
        positions.push_back({kNone, 0});
        const auto& [ladder, rank] = positions[node];
        if (tree.left[node] >= 0 && tree.right[node] >= 0)
            ladders[ladder].splits[rank].child_cells = CellSums();
    }
}

/// Compute the statistics of leaves whose cells are absent or not precise enough.
void LadderGrower::stats_from_rows(std::span<const BranchRef> branches,
                                   std::span<std::optional<NodeStats>> leaves, int n_threads) {
    // A task is a few leaves of one ladder, whose targets are gathered once.
    constexpr std::size_t kLeavesPerTask = 16;
    std::vector<std::vector<std::size_t>> tasks;
    std::vector<std::int32_t> ladder_indices;
    for (std::size_t i = 0; i < branches.size(); ++i) {
        if (leaves[i]) continue;
        const std::int32_t ladder = positions[branches[i].node].ladder;
        const bool open = !tasks.empty() && tasks.back().size() < kLeavesPerTask &&
                          positions[branches[tasks.back()[0]].node].ladder == ladder;
        if (!open) {
            if (ladder_indices.empty() || ladder_indices.back() != ladder) ladder_indices.push_back(ladder);
            tasks.emplace_back();
        }
        tasks.back().push_back(i);
    }
    find_rows(ladder_indices, n_threads);
    parallel_for(tasks.size(), n_threads, [&](std::size_t t) {
        thread_local TargetBuffer buffer;
        const Ladder& ladder = ladders[positions[branches[tasks[t][0]].node].ladder];
        finder_.stats_builder().gather(ladder.rows, buffer);
        std::int32_t last_node = kNone;
        std::array<TargetView, 2> child_targets;
        for (const std::size_t i : tasks[t]) {
            const auto& [node, branch] = branches[i];
            if (last_node != node)
                child_targets = partition_targets(ladder.rows, buffer.view(), binned_,
                                                  ladder.splits[positions[node].rank]);
            last_node = node;
            leaves[i] = finder_.stats_builder().stats_of_leaf(child_targets[static_cast<std::size_t>(branch)],
                                                              ladder.scale);
        }
        buffer.trim();
    });
}

/// Grow children that may split, as leaves with the splits that were found for them.
std::vector<ExpandEntry> LadderGrower::grow_children(std::span<const BranchRef> branches,
                                                     HistogramCache& cache, int n_threads) {
    std::vector<ExpandEntry> entries;
    entries.reserve(branches.size());  // pairs point into it
    std::vector<SiblingPair> pairs;
    std::vector<std::int32_t> ladder_indices;
    for (const auto& [node, branch] : branches) {
        if (pairs.empty() || pairs.back().parent_node != node) {
            const std::int32_t ladder = positions[node].ladder;
            if (ladder_indices.empty() || ladder_indices.back() != ladder) ladder_indices.push_back(ladder);
            pairs.emplace_back().parent_node = node;
        }
        ExpandEntry& child = entries.emplace_back(make_child(node, branch));
        child.keeps_histograms = keeps_histograms(child.depth, static_cast<std::size_t>(tree.rows[node]));
        (pairs.back().smaller == nullptr ? pairs.back().smaller : pairs.back().larger) = &child;
    }
    find_rows(ladder_indices, n_threads);
    parallel_for(pairs.size(), n_threads, [&](std::size_t i) { partition_pair(pairs[i]); });
    build_ladder_histograms(pairs, cache, n_threads);
    for (SiblingPair& pair : pairs) {
        const auto cached = cache.find(positions[pair.parent_node].ladder);
        if (cached != cache.end()) pair.parent_histograms = &cached->second;
    }
    finder().find_splits(entries, pairs, n_threads);
    const auto first = static_cast<std::int32_t>(ladders.size());
    append_nodes(entries);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].histograms.empty()) continue;
        cached_histograms_.emplace(first + static_cast<std::int32_t>(i), std::move(entries[i].histograms));
    }
    return entries;
}

/// Partition the rows of a pair's parent, and set those of its children and of the rest.
void LadderGrower::partition_pair(SiblingPair& pair) const {
    const auto& [number, rank] = positions[pair.parent_node];
    Partition parts = partition_of(ladders[number], rank);
    auto set_rows = [&](ExpandEntry* child) {
        if (child == nullptr) return;
        const Branch branch = child->ladder.parent.branch;
        child->ladder.own_rows = std::move(branch == Branch::Left ? parts.left : parts.right);
        child->ladder.rows = child->ladder.own_rows;
    };
    const bool left_smaller = parts.left.size() <= parts.right.size();
    set_rows(pair.smaller);
    set_rows(pair.larger);
    if (pair.larger == nullptr) {
        // Only one child is grown. If it is the larger one, the rows of its sibling belong to the rest.
        const bool is_smaller = (pair.smaller->ladder.parent.branch == Branch::Left) == left_smaller;
        if (is_smaller) return;
        std::swap(pair.smaller, pair.larger);
        pair.rest_rows = std::move(left_smaller ? parts.left : parts.right);
    } else if (!left_smaller) {
        std::swap(pair.smaller, pair.larger);
    }
    if (pair.rest_rows.empty())
        pair.rest_rows = std::move(parts.third);
    else
        pair.rest_rows.insert(pair.rest_rows.end(), parts.third.begin(), parts.third.end());
    pair.rest.rows = pair.rest_rows;
}

/// Build the histograms of ladders that are not cached, if subtraction saves more than that costs.
void LadderGrower::build_ladder_histograms(std::span<const SiblingPair> pairs, HistogramCache& cache,
                                           int n_threads) {
    std::vector<std::int32_t> ladder_indices;
    std::vector<const Ladder*> to_build;
    for (std::size_t begin = 0, end; begin < pairs.size(); begin = end) {
        const std::int32_t ladder = positions[pairs[begin].parent_node].ladder;
        std::size_t saved_rows = 0;  // that need not be accumulated
        for (end = begin; end < pairs.size() && positions[pairs[end].parent_node].ladder == ladder; ++end) {
            const SiblingPair& pair = pairs[end];
            if (pair.larger == nullptr) continue;
            const std::size_t rows = pair.larger->ladder.rows.size();
            saved_rows += rows - std::min(rows, pair.rest.rows.size());
        }
        if (cache.contains(ladder) || 4 * saved_rows < 5 * ladders[ladder].rows.size()) continue;
        ladder_indices.push_back(ladder);
        to_build.push_back(&ladders[ladder]);
    }
    auto histograms = finder().build_histograms_of(to_build, n_threads);
    for (std::size_t i = 0; i < ladder_indices.size(); ++i)
        cache.emplace(ladder_indices[i], std::move(histograms[i]));
}

/// Return at most `max_branches` branches that have not been grown, those of the newest ladders first: their
/// histograms are still cached. The third branches of a ladder are added at once, so that its other branches
/// are grown together, and the histograms of all larger children are subtracted from those of the ladder.
std::vector<BranchRef> LadderGrower::find_ungrown(std::int64_t max_branches) {
    std::vector<BranchRef> branches;
    std::int64_t n_added = 0;
    auto room = [&] { return static_cast<std::int64_t>(branches.size()) + n_added < max_branches; };
    std::size_t at = unfinished_.size();
    while (at > 0 && room()) {
        --at;
        bool finished = true;
        const Ladder& ladder = ladders[unfinished_[at]];
        const bool adds_third = !ladder.first_split_only && params_.max_leaf_nodes == 0;
        for (std::int32_t node = ladder.node; node >= 0; node = tree.third[node]) {
            if (adds_third && tree.third[node] == kUngrown && room()) {
                tree.set_child(node, Branch::Third, add_third(node));
                ++n_added;
            }
            for (const Branch branch : {Branch::Left, Branch::Right, Branch::Third}) {
                if (tree.child(node, branch) != kUngrown) continue;
                finished = false;
                if (room()) branches.push_back({node, branch});
            }
            if (!tree.lacks_evidence(node)) continue;
            finished = false;
            if (room()) branches.push_back({node, Branch::Both});
        }
        if (finished) unfinished_.erase(unfinished_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return branches;
}

}  // namespace tritree
