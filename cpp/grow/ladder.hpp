#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/random.hpp"
#include "split/fixed_point.hpp"
#include "split/splitter.hpp"
#include "tree/partition.hpp"
#include "tree/tree.hpp"

namespace tritree {

/// A ladder: the best split per column of a set of rows, best first. A node, its third branch, the third
/// branch of that one and so on have the same rows and take one split after the other.
struct Ladder {
    std::int32_t node = kNone;  ///< the node with the first split
    BranchRef parent;           ///< the branch that leads to it; none for the root
    /// The rows, in ascending order; of a ladder grown by fit, partitioned by its first split:
    /// [ left | right | third ]. Empty if dropped: they are recomputed from the parent then.
    std::span<std::uint32_t> rows;
    std::vector<std::uint32_t> own_rows;  ///< memory of `rows`, for ladders grown on demand
    PartitionSizes sizes;                 ///< of a ladder grown by fit
    FixedPointScale scale;
    std::vector<std::int32_t> used_columns;  ///< by the third branches above: not available here
    std::uint64_t path = 0;                  ///< hash of the branches from the root: seeds random choices
    bool first_split_only = false;           ///< the other splits have not been searched yet
    std::vector<SplitInfo> splits;
};

/// Return the path of a child of the split at `rank` of a ladder.
inline std::uint64_t child_path(std::uint64_t path, std::int32_t rank, Branch branch) {
    return hash_seed(path, 1 + 2 * static_cast<std::uint64_t>(rank) + (branch == Branch::Right ? 1 : 0));
}

/// Position of a node: its ladder, and the rank of its split in it (one past the end: the last third branch,
/// a leaf). A leaf at maximum depth has no ladder: kNone.
struct LadderPosition {
    std::int32_t ladder;
    std::int32_t rank;
};

}  // namespace tritree
