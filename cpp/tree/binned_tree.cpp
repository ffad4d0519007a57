#include "tree/binned_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/random.hpp"

namespace tritree {
namespace {

/// Traverse rows whose bins begin at `row_of(i)` until none of them moves.
template <class F>
void traverse_all(const BinnedTree& tree, std::size_t n, std::int32_t* at, F&& row_of) {
    bool moved = n > 0;
    if (tree.has_categories) {
        while (moved) {
            moved = false;
            for (std::size_t i = 0; i < n; ++i) {
                const std::int32_t to = tree.next(at[i], row_of(i)[tree.nodes[at[i]].column]);
                moved |= to != at[i];
                at[i] = to;
            }
        }
        return;
    }
    const PackedNode* const nodes = tree.nodes.data();
    while (moved) {
        std::int32_t changes = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const PackedNode& node = nodes[at[i]];
            const std::uint32_t bin = row_of(i)[node.column];
            const std::int32_t to = node.next[(bin >= node.first_right_bin) + (bin == node.missing_bin)];
            changes |= to ^ at[i];
            at[i] = to;
        }
        moved = changes != 0;
    }
}

}  // namespace

BinnedTree::BinnedTree(Tree grown, const BinMapper& mapper, std::uint64_t root_path)
    : arrays(std::move(grown)),
      nodes(arrays.size()),
      parent(arrays.size(), kNone),
      path(arrays.size(), root_path) {
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(arrays.size()); ++node) {
        pack(node, mapper);
        for (const Branch branch : {Branch::Left, Branch::Right, Branch::Third}) {
            const std::int32_t child = arrays.child(static_cast<std::size_t>(node), branch);
            if (child < 0) continue;
            parent[child] = node;
            path[child] = hash_seed(path[node], static_cast<std::uint64_t>(branch));
        }
    }
}

/// Compile a node for traversal.
void BinnedTree::pack(std::int32_t node, const BinMapper& mapper) {
    PackedNode& packed = nodes[static_cast<std::size_t>(node)];
    packed = PackedNode{};
    std::fill(std::begin(packed.next), std::end(packed.next), node);
    const auto i = static_cast<std::size_t>(node);
    if (arrays.is_leaf(i)) return;
    const ColumnBins& column = mapper.columns[static_cast<std::size_t>(arrays.split.column[i])];
    packed.column = static_cast<std::uint16_t>(arrays.split.column[i]);
    packed.first_right_bin = arrays.first_right_bin[i];
    packed.missing_bin = static_cast<std::uint16_t>(column.missing_bin());
    packed.categorical = column.categorical;
    has_categories |= column.categorical;
    packed.next[0] = arrays.left[i];
    packed.next[1] = arrays.right[i];
    const Branch missing = route(Side::Missing, static_cast<Branch>(arrays.missing_to[i]),
                                 static_cast<Branch>(arrays.larger_side[i]));
    const std::int32_t child = missing == Branch::Both ? kUngrown : arrays.child(i, missing);
    packed.next[2] = child == kUngrown ? node : child;
}

ValueBounds BinnedTree::bounds(std::int32_t node) const {
    const auto i = static_cast<std::size_t>(node);
    return arrays.low.empty() ? ValueBounds{} : ValueBounds{arrays.low[i], arrays.high[i]};
}

std::int32_t BinnedTree::add_leaf(double value, const ValueBounds& value_bounds, std::int32_t parent_node,
                                  Branch branch, const GrowthParameters& params) {
    const auto node = static_cast<std::int32_t>(size());
    for (auto* array : {&arrays.split.column, &arrays.left, &arrays.right, &arrays.third})
        array->push_back(kNone);
    for (auto* array : {&arrays.missing_to, &arrays.larger_side})
        array->push_back(static_cast<std::int8_t>(Branch::None));
    arrays.split.threshold.push_back(std::numeric_limits<double>::quiet_NaN());
    if (!arrays.split.set_begin.empty()) {
        arrays.split.set_begin.push_back(-1);
        arrays.split.set_words.push_back(0);
    }
    arrays.first_right_bin.push_back(0);
    arrays.rows.push_back(0);
    arrays.value.push_back(value);
    arrays.gain.push_back(0);
    if (params.estimates_variance) arrays.variance.push_back(0);
    if (!params.monotonic.empty()) {
        arrays.low.push_back(value_bounds.low);
        arrays.high.push_back(value_bounds.high);
    }
    parent.push_back(parent_node);
    if (parent_node == kNone) {
        arrays.depth.push_back(0);
        path.push_back(0);
    } else {
        arrays.depth.push_back(arrays.depth[static_cast<std::size_t>(parent_node)] +
                               (branch != Branch::Third));
        path.push_back(
            hash_seed(path[static_cast<std::size_t>(parent_node)], static_cast<std::uint64_t>(branch)));
    }
    PackedNode& packed = nodes.emplace_back();
    std::fill(std::begin(packed.next), std::end(packed.next), node);
    return node;
}

std::int32_t BinnedTree::add_root(std::uint64_t root_path, const GrowthParameters& params) {
    const std::int32_t root = add_leaf(0, {}, kNone, Branch::None, params);
    path[0] = root_path;
    return root;
}

void BinnedTree::split(std::int32_t node, const GradientSplit& info, const BinMapper& mapper,
                       const GrowthParameters& params) {
    const auto i = static_cast<std::size_t>(node);
    const auto column = static_cast<std::size_t>(info.column);
    ValueBounds left = bounds(node), right = left;
    if (params.is_constrained(column)) {  // values below stay on their side of the midpoint
        const bool increasing = params.monotonic[column] > 0;
        const double middle = std::midpoint(info.left_value, info.right_value);
        (increasing ? left.high : left.low) = middle;
        (increasing ? right.low : right.high) = middle;
    }
    const std::int32_t left_child = add_leaf(info.left_value, left, node, Branch::Left, params);
    const std::int32_t right_child = add_leaf(info.right_value, right, node, Branch::Right, params);
    if (info.categorical) {
        arrays.split.set_begin.resize(arrays.size(), -1);
        arrays.split.set_words.resize(arrays.size(), 0);
        arrays.split.set_begin[i] = static_cast<std::int64_t>(arrays.sets.size());
        arrays.split.set_words[i] = static_cast<std::int32_t>(info.sets.words().size() / 2);
        arrays.sets.insert(arrays.sets.end(), info.sets.words().begin(), info.sets.words().end());
    }
    arrays.split.column[i] = info.column;
    arrays.first_right_bin[i] =
        info.categorical ? std::uint16_t{0} : static_cast<std::uint16_t>(info.first_right_bin());
    arrays.gain[i] = info.gain;
    arrays.left[i] = left_child;
    arrays.right[i] = right_child;
    arrays.third[i] = info.missing_to == Branch::Third ? kUngrown : kNone;
    arrays.missing_to[i] = static_cast<std::int8_t>(info.missing_to);
    arrays.larger_side[i] = static_cast<std::int8_t>(info.larger_side);
    pack(node, mapper);
}

BinnedTree BinnedTree::third_of(const BinnedTree& tree, std::int32_t node, const GrowthParameters& params) {
    const auto i = static_cast<std::size_t>(node);
    constexpr std::size_t kNodes = 32;  // of most third branches, whose arrays then need not grow
    BinnedTree third;
    third.add_leaf(tree.arrays.value[i], tree.bounds(node), kNone, Branch::None, params);
    third.arrays.reserve_more(kNodes, 0);
    third.nodes.reserve(kNodes);
    third.parent.reserve(kNodes);
    third.path.reserve(kNodes);
    third.arrays.depth[0] = tree.arrays.depth[i];
    third.path[0] = hash_seed(tree.path[i], static_cast<std::uint64_t>(Branch::Third));
    return third;
}

std::int32_t BinnedTree::append_third(std::int32_t node, const BinnedTree& third) {
    const auto root = static_cast<std::int32_t>(size());
    const auto first = static_cast<std::size_t>(root);
    const auto set_begin = static_cast<std::int64_t>(arrays.sets.size());
    if (!third.arrays.split.set_begin.empty() && arrays.split.set_begin.empty()) {
        arrays.split.set_begin.assign(first, -1);
        arrays.split.set_words.assign(first, 0);
    }
    for_each_node_array(
        [](const char*, auto& into, const auto& from) { into.insert(into.end(), from.begin(), from.end()); },
        arrays, third.arrays);
    if (!arrays.split.set_begin.empty()) {
        arrays.split.set_begin.resize(arrays.size(), -1);
        arrays.split.set_words.resize(arrays.size(), 0);
    }
    arrays.sets.insert(arrays.sets.end(), third.arrays.sets.begin(), third.arrays.sets.end());
    nodes.insert(nodes.end(), third.nodes.begin(), third.nodes.end());
    parent.insert(parent.end(), third.parent.begin(), third.parent.end());
    path.insert(path.end(), third.path.begin(), third.path.end());
    for (std::size_t i = first; i < size(); ++i) {
        for (auto* children : {&arrays.left, &arrays.right, &arrays.third})
            if ((*children)[i] >= 0) (*children)[i] += root;
        for (std::int32_t& next : nodes[i].next) next += root;
        if (parent[i] != kNone) parent[i] += root;
        if (!arrays.split.set_begin.empty() && arrays.split.set_begin[i] >= 0)
            arrays.split.set_begin[i] += set_begin;
    }
    has_categories |= third.has_categories;
    parent[first] = node;
    arrays.third[static_cast<std::size_t>(node)] = root;
    nodes[static_cast<std::size_t>(node)].next[2] = root;
    return root;
}

void BinnedTree::shrink_to_fit() {
    for_each_node_array([](const char*, auto& array) { array.shrink_to_fit(); }, arrays);
    arrays.sets.shrink_to_fit();
    nodes.shrink_to_fit();
    parent.shrink_to_fit();
    path.shrink_to_fit();
}

void BinnedTree::set_thresholds(std::int32_t first, const BinMapper& mapper) {
    for (auto node = static_cast<std::size_t>(first); node < size(); ++node)
        if (!arrays.is_leaf(node) && !nodes[node].categorical)
            arrays.split.threshold[node] = mapper.threshold(nodes[node].column, nodes[node].first_right_bin);
}

void BinnedTree::scale_values(double factor) {
    for (auto* values : {&arrays.value, &arrays.low, &arrays.high})
        for (double& value : *values) value *= factor;
}

void BinnedTree::average_inner_nodes(std::int32_t first) {
    for (auto node = static_cast<std::int32_t>(size()) - 1; node >= first; --node) {
        if (is_leaf(node)) continue;
        const auto left = static_cast<std::size_t>(arrays.left[node]),
                   right = static_cast<std::size_t>(arrays.right[node]);
        const double n_left =
            arrays.weight.empty() ? static_cast<double>(arrays.rows[left]) : arrays.weight[left];
        const double n_right =
            arrays.weight.empty() ? static_cast<double>(arrays.rows[right]) : arrays.weight[right];
        arrays.value[static_cast<std::size_t>(node)] =
            (n_left * arrays.value[left] + n_right * arrays.value[right]) / (n_left + n_right);
    }
}

std::int32_t BinnedTree::next_of_category(std::int32_t node, std::uint32_t bin) const {
    const auto i = static_cast<std::size_t>(node);
    const PackedNode& packed = nodes[i];
    const Side side =
        bin >= packed.missing_bin
            ? Side::Unseen
            : side_of_category(&arrays.sets[static_cast<std::size_t>(arrays.split.set_begin[i])],
                               static_cast<std::size_t>(arrays.split.set_words[i]), bin);
    const Branch branch =
        route(side, static_cast<Branch>(arrays.missing_to[i]), static_cast<Branch>(arrays.larger_side[i]));
    return packed.next[branch == Branch::Left ? 0 : branch == Branch::Right ? 1 : 2];
}

void BinnedTree::traverse(const BinnedRows& binned, std::span<const std::uint32_t> rows,
                          std::int32_t* at) const {
    binned.visit([&](const auto* first) {
        traverse_all(*this, rows.size(), at,
                     [&](std::size_t i) { return first + std::size_t{rows[i]} * binned.n_columns(); });
    });
}

void BinnedTree::traverse(const BinnedRows& binned, std::size_t begin, std::size_t end,
                          std::int32_t* at) const {
    binned.visit([&](const auto* first) {
        const auto* const block = first + begin * binned.n_columns();
        traverse_all(*this, end - begin, at, [&](std::size_t i) { return block + i * binned.n_columns(); });
    });
}

std::string BinnedTree::validate(const Tree& tree, const BinMapper& mapper) {
    std::vector<std::int32_t> root_of(tree.size(), 0);  // of the binary subtree that a node is in
    for (std::size_t node = 0; node < tree.size(); ++node) {
        // the nodes of a binary subtree were grown together, so they are consecutive
        const bool is_root = root_of[node] == static_cast<std::int32_t>(node);
        if (!is_root && root_of[node] != root_of[node - 1]) return "nodes out of order";
        if (tree.is_leaf(node)) continue;
        const auto number = static_cast<std::size_t>(tree.split.column[node]);
        const ColumnBins& column = mapper.columns[number];
        const bool categorical = !tree.split.set_begin.empty() && tree.split.set_begin[node] >= 0;
        if (categorical != column.categorical) return "split does not match the type of its column";
        const std::size_t words = (std::size_t{column.n_bins} + 63) / 64;
        if (categorical && static_cast<std::size_t>(tree.split.set_words[node]) != words)
            return "category set of the wrong size";
        if (!categorical && tree.first_right_bin[node] >= std::max(column.n_bins, 1u))
            return "bin out of range";
        if (!categorical &&
            tree.split.threshold[node] != mapper.threshold(number, tree.first_right_bin[node]))
            return "threshold does not match its bin";
        if (!tree.left_fraction.empty() && !(tree.left_fraction[node] > 0 && tree.left_fraction[node] < 1))
            return "left fraction out of range";
        for (const Branch branch : {Branch::Left, Branch::Right, Branch::Third}) {
            const std::int32_t child = tree.child(node, branch);
            if (child >= 0) root_of[child] = branch == Branch::Third ? child : root_of[node];
        }
    }
    return {};
}

}  // namespace tritree
