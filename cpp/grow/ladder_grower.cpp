#include "grow/ladder_grower.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "common/parallel.hpp"

namespace tritree {
namespace {

constexpr std::size_t kMaxCachedIntegers = std::size_t{1} << 24;  // 128 MB of histograms
constexpr std::size_t kSmallSubtreeRows = 256;                    // of the parent
constexpr std::size_t kSubtreesPerBatch = 64;

}  // namespace

LadderGrower::LadderGrower(std::shared_ptr<const TrainingData> data, const GrowthParameters& params,
                           std::vector<std::uint32_t> in_bag, Tree& tree_)
    : tree(tree_),
      data_(std::move(data)),
      binned_(*data_->binned),
      params_(params),
      in_bag_(std::move(in_bag)),
      finder_(binned_, data_->target, params_, false),
      complete_finder_(binned_, data_->target, params_, true) {
    tree.n_outputs = params.n_outputs();
    tree.weighs_evidence = params.weighs_evidence();
}

std::vector<std::uint32_t> LadderGrower::sampled_rows() const {
    if (!in_bag_.empty()) return in_bag_;
    std::vector<std::uint32_t> all(binned_.n_rows);
    std::iota(all.begin(), all.end(), 0u);
    return all;
}

ExpandEntry LadderGrower::make_root() {
    ExpandEntry root;
    all_rows_ = sampled_rows();
    root.ladder.path = params_.seed;
    if (params_.missing == Strategy::Fractional)
        root.fractional = {all_rows_, std::vector<double>(all_rows_.size(), 1.0)};
    root.ladder.rows = all_rows_;
    return root;
}

/// Return a child to be grown, without its rows.
ExpandEntry LadderGrower::make_child(std::int32_t node, Branch branch) const {
    const auto& [number, rank] = positions[node];
    const Ladder& parent = ladders[number];
    ExpandEntry child;
    child.depth = tree.depth[node] + 1;
    child.parent_scale = &parent.scale;
    child.ladder.parent = {node, branch};
    child.ladder.used_columns = parent.used_columns;
    child.ladder.path = child_path(parent.path, rank, branch);
    for (std::int32_t k = 0; k < rank; ++k) child.ladder.used_columns.push_back(parent.splits[k].column);
    return child;
}

void LadderGrower::grow_binary_tree(int n_threads, const std::function<void()>& check_signals) {
    ExpandQueue<ExpandEntry> queue(true);
    std::vector<ExpandEntry> entries, parents;
    entries.push_back(make_root());
    std::vector<SiblingPair> pairs(1);
    pairs[0].larger = &entries[0];
    std::vector<SubtreeNode> subtree_roots;
    NodeSurrogates surrogates;
    for (std::int64_t n_leaves = 1; !entries.empty(); ++n_leaves) {
        if (check_signals) check_signals();
        for (ExpandEntry& entry : entries)
            entry.keeps_histograms = params_.missing != Strategy::Fractional &&
                                     keeps_histograms(entry.depth, entry.ladder.rows.size());
        finder_.find_splits(entries, pairs, n_threads);
        append_nodes(entries);
        if (n_leaves == 1) queue.set_tolerance(tie_tolerance(0));
        if (params_.missing == Strategy::Surrogate) surrogates.resize(tree.size());
        for (const ExpandEntry& entry : entries)
            if (entry.splits.empty()) release_histograms(entry);
        parents = next_entries(std::move(entries), queue, n_leaves);
        for (ExpandEntry& entry : parents) {
            if (entry.splits.empty()) continue;
            release_histograms(entry);
            if (!entry.surrogates.empty()) surrogates[entry.node] = std::move(entry.surrogates);
            apply_split(entry);
        }
        entries = make_children(parents);
        if (finder_.grows_small_subtrees()) take_small_subtrees(entries, subtree_roots);
        pairs = make_pairs(entries);
    }
    grow_small_subtrees(subtree_roots, surrogates, n_threads, check_signals);
    if (params_.missing == Strategy::Surrogate) tree.set_surrogates(surrogates);
    finder_.free_buffers();
}

/// Return the entries to be split next: all that were grown last, a level of the tree; or, if the number of
/// leaves is limited, the best of all that wait in the queue.
std::vector<ExpandEntry> LadderGrower::next_entries(std::vector<ExpandEntry> grown,
                                                    ExpandQueue<ExpandEntry>& queue,
                                                    std::int64_t n_leaves) const {
    if (params_.max_leaf_nodes == 0) return grown;
    for (ExpandEntry& entry : grown)
        if (!entry.splits.empty()) queue.push(std::move(entry));
    std::vector<ExpandEntry> best;
    if (!queue.empty() && n_leaves < params_.max_leaf_nodes) best.push_back(queue.pop());
    return best;
}

/// Append entries to the tree as leaves, in their order.
void LadderGrower::append_nodes(std::span<ExpandEntry> entries) {
    std::size_t words = 0;
    for (const ExpandEntry& entry : entries)
        if (!entry.splits.empty()) words += entry.splits[0].sets.words().size();
    tree.reserve_more(entries.size(), words);
    reserve_more(positions, entries.size());
    reserve_more(ladders, entries.size());
    reserve_more(unfinished_, entries.size());
    reserve_more(row_owners_, entries.size());
    for (ExpandEntry& entry : entries) {
        const auto ladder = static_cast<std::int32_t>(ladders.size());
        const BranchRef parent = entry.ladder.parent;
        entry.node = entry.ladder.node = tree.add_leaf(entry.stats, entry.depth);
        if (parent.node != kNone) tree.set_child(parent.node, parent.branch, entry.node);
        positions.push_back({ladder, 0});
        auto own_rows = std::move(entry.ladder.own_rows);
        if (!own_rows.empty()) entry.ladder.rows = {};
        ladders.push_back(std::move(entry.ladder));
        if (entry.splits.empty()) continue;
        // If the children will be leaves, their cells will most likely suffice to compute their statistics,
        // too.
        const bool cells_suffice = entry.stats.from_cell && !entry.splits[0].child_cells.empty();
        const bool needs_rows = splits_below(entry.depth) || !cells_suffice;
        if (splits_below(entry.depth))
            for (SplitInfo& split : entry.splits) split.child_cells = CellSums();
        if (!own_rows.empty() && needs_rows) set_own_rows(ladder, std::move(own_rows));
    }
}

/// Turn the leaf of an entry into a split, the first of its ladder.
void LadderGrower::apply_split(ExpandEntry& entry) {
    const std::int32_t ladder = positions[entry.node].ladder;
    tree.set_split(entry.node, entry.splits[0]);
    ladders[ladder].splits = std::move(entry.splits);
    unfinished_.push_back(ladder);
}

/// Return whether a node with at most `n_rows` rows keeps its histograms for its children, within the memory
/// limit.
bool LadderGrower::keeps_histograms(std::int32_t depth, std::size_t n_rows) {
    if (!splits_below(depth) || cached_histogram_size_ >= kMaxCachedIntegers) return false;
    const std::size_t size = finder().max_cached_size(n_rows);
    if (cached_histogram_size_ + size > kMaxCachedIntegers) return false;
    cached_histogram_size_ += size;
    return true;
}

/// Return the children of entries that have been split.
std::vector<ExpandEntry> LadderGrower::make_children(const std::vector<ExpandEntry>& parents) const {
    std::vector<ExpandEntry> children;
    const auto is_split = [&](const ExpandEntry& entry) { return !tree.is_leaf(entry.node); };
    children.reserve(2 * static_cast<std::size_t>(std::count_if(parents.begin(), parents.end(), is_split)));
    for (const ExpandEntry& parent : parents) {
        if (!is_split(parent)) continue;
        const Ladder& ladder = ladders[positions[parent.node].ladder];
        for (const Branch branch : {Branch::Left, Branch::Right}) {
            ExpandEntry& child = children.emplace_back(make_child(parent.node, branch));
            if (!parent.histograms.empty()) child.parent_histograms = &parent.histograms;
            if (params_.missing == Strategy::Fractional) {
                child.fractional = fractional_rows(parent.fractional, binned_, ladder.splits[0], branch);
                child.ladder.rows = child.fractional.rows;
            } else {
                child.ladder.rows = branch == Branch::Left
                                        ? ladder.rows.first(ladder.sizes.left)
                                        : ladder.rows.subspan(ladder.sizes.left, ladder.sizes.right);
            }
        }
    }
    return children;
}

/// Return children in pairs, with the histograms of their parents.
std::vector<SiblingPair> LadderGrower::make_pairs(std::vector<ExpandEntry>& children) const {
    std::vector<SiblingPair> pairs;
    pairs.reserve(children.size() / 2);
    for (std::size_t i = 0; i < children.size(); i += 2) {
        SiblingPair& pair = pairs.emplace_back();
        pair.parent_node = children[i].ladder.parent.node;
        pair.smaller = &children[i];
        pair.larger = &children[i + 1];
        if (pair.smaller->ladder.rows.size() > pair.larger->ladder.rows.size())
            std::swap(pair.smaller, pair.larger);
        pair.parent_histograms = children[i].parent_histograms;
        if (pair.parent_histograms == nullptr) continue;
        const Ladder& ladder = ladders[positions[pair.parent_node].ladder];
        pair.rest.rows = ladder.rows.subspan(ladder.sizes.left + ladder.sizes.right);
    }
    return pairs;
}

/// Take the children of nodes with few rows out of a level, as roots of small subtrees.
void LadderGrower::take_small_subtrees(std::vector<ExpandEntry>& children,
                                       std::vector<SubtreeNode>& subtree_roots) const {
    std::size_t n_remaining = 0;
    for (ExpandEntry& child : children) {
        const Ladder& ladder = child.ladder;
        if (static_cast<std::size_t>(tree.rows[ladder.parent.node]) > kSmallSubtreeRows) {
            if (&children[n_remaining++] != &child) children[n_remaining - 1] = std::move(child);
            continue;
        }
        SubtreeNode& root = subtree_roots.emplace_back();
        root.parent = ladder.parent;
        root.depth = child.depth;
        root.path = ladder.path;
        root.rows = ladder.rows;
    }
    children.resize(n_remaining);
}

void LadderGrower::grow_small_subtrees(std::vector<SubtreeNode>& subtree_roots, NodeSurrogates& surrogates,
                                       int n_threads, const std::function<void()>& check_signals) {
    // A single subtree stays in the cache until it is appended; several threads need a batch to share.
    const std::size_t batch = n_threads == 1 ? 1 : kSubtreesPerBatch;
    std::vector<std::vector<SubtreeNode>> subtrees(batch);
    for (std::size_t begin = 0; begin < subtree_roots.size(); begin += batch) {
        if (check_signals && begin % kSubtreesPerBatch == 0) check_signals();
        const std::size_t n = std::min(batch, subtree_roots.size() - begin);
        parallel_for(n, n_threads, [&](std::size_t i) {
            SubtreeNode& root = subtree_roots[begin + i];
            const FixedPointScale& parent_scale = ladders[positions[root.parent.node].ladder].scale;
            grow_small_subtree(finder_, std::move(root), parent_scale, subtrees[i]);
        });
        for (std::size_t i = 0; i < n; ++i) append_nodes(subtrees[i], surrogates);
    }
}

/// Append a small subtree to the tree.
void LadderGrower::append_nodes(std::vector<SubtreeNode>& nodes, NodeSurrogates& surrogates) {
    std::size_t words = 0;
    for (const SubtreeNode& entry : nodes)
        if (!entry.splits.empty()) words += entry.splits[0].sets.words().size();
    const std::size_t n_splits = nodes.size() / 2;  // each has two children
    tree.reserve_more(nodes.size(), words);
    reserve_more(positions, nodes.size());
    reserve_more(ladders, n_splits);
    reserve_more(unfinished_, n_splits);
    const auto first = static_cast<std::int32_t>(tree.size());
    for (SubtreeNode& entry : nodes) {
        const std::int32_t node = tree.add_leaf(entry.stats, entry.depth);
        if (node != first) entry.parent.node += first;
        tree.set_child(entry.parent.node, entry.parent.branch, node);
        if (params_.missing == Strategy::Surrogate) surrogates.push_back(std::move(entry.surrogates));
        const bool splits = !entry.splits.empty();
        positions.push_back({splits ? static_cast<std::int32_t>(ladders.size()) : kNone, 0});
        if (!splits) continue;
        tree.set_split(node, entry.splits[0]);
        unfinished_.push_back(positions.back().ladder);
        Ladder& ladder = ladders.emplace_back();
        ladder.node = node;
        ladder.parent = entry.parent;
        ladder.rows = entry.rows;
        ladder.sizes = entry.sizes;
        ladder.scale = entry.scale;
        ladder.path = entry.path;
        ladder.first_split_only = true;
        ladder.splits = std::move(entry.splits);
    }
}

}  // namespace tritree
