#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grow/ladder.hpp"

namespace tritree {

class SplitFinder;

/// A node of a small subtree that is being grown.
struct SubtreeNode {
    BranchRef parent;  ///< of the root: a branch of the tree; of the others: of a node of the subtree
    std::int32_t depth = 0;
    std::uint64_t path = 0;
    std::span<std::uint32_t> rows;  ///< if it splits: [ left | right | third ]
    PartitionSizes sizes;
    FixedPointScale scale;
    NodeStats stats;
    std::vector<SplitInfo> splits;  ///< the best one, if it splits
    std::vector<Surrogate> surrogates;
};

/// Grow a small subtree: all nodes below one with few rows, which are most of a tree that grows until its
/// leaves are pure. They are grown one by one, without what pays off for many rows only: cached histograms,
/// their subtraction, and buffers for each node. The nodes are the same, bit for bit, and a forest takes
/// about two thirds of the time.
///
/// The root is given by its parent, depth, path and rows, and by the scale of the node above. `nodes` is
/// overwritten.
void grow_small_subtree(const SplitFinder& finder, SubtreeNode root, const FixedPointScale& parent_scale,
                        std::vector<SubtreeNode>& nodes);

}  // namespace tritree
