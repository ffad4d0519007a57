#pragma once

#include <cstdint>
#include <vector>

#include "data/binned_columns.hpp"
#include "split/node_stats.hpp"
#include "split/splitter.hpp"

namespace tritree {

/// A surrogate split: a split on another column that sends rows the same way, for rows whose value is
/// missing.
struct Surrogate {
    std::int32_t column = -1;
    std::int64_t agreement = 0;  ///< weight of the rows that it sends the same way
    bool categorical = false;
    std::uint32_t threshold_bin = 0;
    double threshold = 0;
    Branch below = Branch::Left;  ///< numeric: branch of values below the threshold
    CategorySets sets;

    /// Return the branch of a training row; Branch::None if the surrogate cannot place it.
    Branch branch(std::uint32_t bin, std::uint32_t missing_bin) const {
        if (bin == missing_bin) return Branch::None;
        if (categorical) return route(sets.side(bin), Branch::None, Branch::None);
        return (bin <= threshold_bin) == (below == Branch::Left) ? Branch::Left : Branch::Right;
    }
};

/// Return the surrogates of a split, best first, as R's rpart finds them (usesurrogate = 2, surrogatestyle =
/// 0), and set `split.larger_side` to the side with more weight: that of training rows which no surrogate
/// places. Branch::None at a tie: they stay in the node.
///
/// In a forest (`params.surrogate_rows` > 0) they are found on a sample of the rows, drawn by the path of the
/// node, and the best is the one that sends the largest fraction of the rows it can place the same way:
/// rpart's count favours columns that are rarely missing. A surrogate must be right more often than sending
/// all these rows to one side, and a category needs two rows.
std::vector<Surrogate> find_surrogates(const GrowthParameters& params, const BinnedColumns& binned,
                                       const NodeSamples& node, SplitInfo& split, std::uint64_t path);

}  // namespace tritree
