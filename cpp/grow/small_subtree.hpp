#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grow/ladder.hpp"

namespace tritree {

class SplitFinder;

/// A node of a small subtree, as it is found.
struct SubtreeNode {
    BranchRef parent;  ///< of the root: a branch of the tree; of the others: of a node of the subtree
    std::int32_t depth = 0;
    std::uint64_t path = 0;
    std::span<std::uint32_t> rows;  ///< if it splits: [ left | right | third ]
    PartitionSizes sizes;
    FixedPointScale scale;
    NodeStats stats;
    std::vector<SplitInfo> splits;  ///< the best one, if it splits
};

/// Grow a small subtree: all that is below a node with few rows, which is most of a tree that grows until its leaves
/// are pure. Its nodes are found one after the other, without what pays only for many rows: histograms, their
/// subtraction, and memory for each node. They are the nodes that would be grown otherwise, bit for bit, and a
/// forest takes about two thirds of the time.
///
/// The root is given by its parent, depth, path and rows, and by the scale of the node above. `nodes` is overwritten.
void grow_small_subtree(const SplitFinder& finder, SubtreeNode root, const FixedPointScale& parent_scale,
                        std::vector<SubtreeNode>& nodes);

}  // namespace tritree
