#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partition.hpp"
#include "random.hpp"
#include "split.hpp"
#include "target.hpp"
#include "tree.hpp"

namespace tritree {

/// A branch that is wanted: the child of a node on one side.
struct Wanted {
    std::int32_t node = kNone;
    Branch side = Branch::None;
    auto operator<=>(const Wanted&) const = default;
};

/// What growth remembers of a set of rows, beside the flat arrays. A node and its third branch, and that
/// one's third branch, and so on, have the same rows: they are the rungs of one ladder and share one base.
struct Base {
    std::int32_t node = kNone;  ///< the one on the first rung
    Wanted branch;              ///< where that one hangs in the tree; the root hangs nowhere
    /// The rows, in the order of their numbers; once a base of the first rungs is split by its own:
    /// [ left | right | third ]. Empty where they were dropped, to be found again through the parent.
    std::span<std::uint32_t> rows;
    std::vector<std::uint32_t> kept;  ///< what `rows` shows, of a base grown on demand
    PartSizes parts;                  ///< of a base of the first rungs
    Frame frame;
    std::vector<std::int32_t> unusable;  ///< columns that third branches above have used up
    std::uint64_t path = 0;              ///< a number for the way from the root
    bool partial = false;                ///< only the first rung is known
    std::vector<Rung> ladder;
};

/// Return the number for the way to a daughter of a rung of a base.
inline std::uint64_t path_below(std::uint64_t base_path, std::int32_t rung, Branch side) {
    return mixed(base_path, 1 + 2 * static_cast<std::uint64_t>(rung) + (side == Branch::Right ? 1 : 0));
}

/// A node's place: which base, which rung of its ladder (one past the end: the last third branch, a leaf).
/// A daughter below which nothing can grow needs no base: kNone.
struct Place {
    std::int32_t base;
    std::int32_t rung;
};

}  // namespace tritree
