#include "grow/small_subtree.hpp"

#include <utility>

#include "grow/split_finder.hpp"

namespace tritree {

void grow_small_subtree(const SplitFinder& finder, SubtreeNode root, const FixedPointScale& parent_scale,
                        std::vector<SubtreeNode>& nodes) {
    thread_local NodeSamples data;
    nodes.clear();
    nodes.reserve(2 * root.rows.size());  // enough if every leaf has one row
    nodes.push_back(std::move(root));
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        SubtreeNode& node = nodes[n];
        data.rows = node.rows;
        node.stats =
            finder.stats_builder().read(data, n == 0 ? &parent_scale : &nodes[node.parent.node].scale);
        node.scale = data.scale;
        node.splits = finder.first_split(data, node.stats, node.depth, node.path);
        if (node.splits.empty()) continue;
        node.surrogates = finder.surrogates_of(node.splits[0], data, node.path);
        node.sizes = finder.partition(node.rows, node.splits[0], node.surrogates);
        const auto [left, right] = node.sizes;
        for (const Branch branch : {Branch::Left, Branch::Right}) {
            SubtreeNode& child = nodes.emplace_back();
            child.parent = {static_cast<std::int32_t>(n), branch};
            child.depth = node.depth + 1;
            child.path = child_path(node.path, 0, branch);
            child.rows = branch == Branch::Left ? node.rows.first(left) : node.rows.subspan(left, right);
        }
    }
    data.rows = {};
}

}  // namespace tritree
