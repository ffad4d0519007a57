#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "core/settings.hpp"

namespace tritree::boosting {

/// No limit of depth is above it, so that two of them can be added up.
inline constexpr int kMostDepth = 1 << 29;

/// How boosted trees are grown, as one frozen object.
struct Plan {
    Strategy missing = Strategy::TrinaryMia;
    int max_depth = 6;
    std::int64_t max_leaf_nodes = 0;  ///< 0 is no limit
    std::int64_t min_samples_leaf = 20;
    double l2 = 0;
    double max_features = 1;             ///< the share of columns that a node may use
    std::vector<std::int8_t> monotonic;  ///< per column 1, -1 or 0; empty if no column is bound
    int third_depth_extra = 0;
    std::int64_t third_rows = 1000;         ///< the most rows that a third branch is fitted to
    std::int64_t max_third_nodes = 100000;  ///< of one tree
    bool measures_doubt = false;            ///< whether third branches tell what they leave open
    std::uint64_t seed = 0;

    bool has_third() const { return missing == Strategy::Trinary || missing == Strategy::TrinaryMia; }
    bool may_send_missing(Branch to) const {
        if (missing == Strategy::Fractional) return to == Branch::Both;
        return to == Branch::Left || to == Branch::Right || (to == Branch::Third && has_third());
    }
    bool is_bound(std::size_t column) const { return !monotonic.empty() && monotonic[column] != 0; }
    const char* validate(std::size_t n_columns) const;
};

/// Between which a node's values must lie, so that trees rise or fall with a column.
struct Bounds {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
};

}  // namespace tritree::boosting
