#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base.hpp"

namespace tritree {

class Scanner;

/// A node of a thicket, as it is found.
struct Twig {
    Wanted branch;  ///< where it hangs: the first on a node of the tree, all others on a twig
    std::int32_t depth = 0;
    std::uint64_t path = 0;         ///< a number for the way from the root
    std::span<std::uint32_t> rows;  ///< if it splits: [ left | right | third ]
    PartSizes parts;
    Frame frame;
    Summary summary;
    std::vector<Rung> ladder;  ///< the first rung, if it splits
};

/// All that is below a node with few rows: most nodes of a tree that grows until its leaves are pure. They
/// are found one after the other, without what pays only for many rows: histograms, and those of a parent,
/// and memory for each node.
///
/// The first is given by its branch, depth, path and rows, and by the frame of the node above. What is found
/// takes the place of what is in `twigs`.
void grow_thicket(const Scanner& scanner, Twig first, const Frame& above, std::vector<Twig>& twigs);

}  // namespace tritree
