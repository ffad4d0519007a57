#pragma once

#include <cstdint>
#include <vector>

#include "codes.hpp"
#include "split.hpp"
#include "target.hpp"

namespace tritree {

/// A stand-in for a split whose value is missing: a split on another column that sends rows the same way.
struct Surrogate {
    std::int32_t column = -1;
    std::int64_t agreement = 0;  ///< weight that it sends the way the split does
    bool categorical = false;
    std::uint32_t low = 0;
    double threshold = 0;
    Branch below = Branch::Left;  ///< numeric: where values below the threshold go
    CategorySets sets;

    /// Say where a training row with this code goes; Branch::None if the surrogate does not know.
    Branch side(std::uint32_t code, std::uint32_t missing) const {
        if (code == missing) return Branch::None;
        if (categorical) return sets.side(code);
        return (code <= low) == (below == Branch::Left) ? Branch::Left : Branch::Right;
    }
};

/// Return the surrogates of a node's split, best first, as R's rpart finds them (usesurrogate = 2,
/// surrogatestyle = 0), and set `rung.larger` to the side with more weight.
std::vector<Surrogate> find_surrogates(const Settings& settings, const Codes& codes, const NodeRows& node,
                                       Rung& rung);

}  // namespace tritree
