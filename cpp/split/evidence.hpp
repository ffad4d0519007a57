#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "data/binned_columns.hpp"
#include "split/node_stats.hpp"
#include "split/splitter.hpp"

namespace tritree {

/// Minimum number of rows of a node, and of a sample whose side is known, for evidence: most nodes have
/// fewer.
inline constexpr std::int64_t kMinEvidenceRows = 12;

/// What another column says about the side of a row whose value is missing at a split: how many rows of a
/// sample of the node have a value in each group of its values, and how many of these go left.
struct Evidence {
    std::int32_t column = -1;
    std::int32_t rows = 0, left = 0;  ///< of the sample, whose value of the column is observed
    /// Per group: the smallest number, -inf for the first, or the category.
    std::vector<double> key;
    std::vector<std::uint16_t> group_rows, group_left;
};

/// Return the odds of going left, given those without a column, for a row in a group of its values: Bayes'
/// rule, where each side has one more row, spread as all rows of the sample are.
inline double update_odds(double odds, double left, double rows, double group_left, double group_rows) {
    constexpr double kMaxOdds = 0x1p60;  // however many columns there are, odds stay finite
    const double share = left / rows;
    const double ratio =
        (group_left + share) / (group_rows - group_left + (1 - share)) * ((1 - share) / share);
    return std::clamp(odds * ratio, 1 / kMaxOdds, kMaxOdds);
}

/// Return the evidence of the columns that distinguish best between the sides of a split, the best first: at
/// most ten, whose chi-squared statistic is larger than chance explains. It is found on at most
/// `params.surrogate_rows` rows of the node, one drawn by `seed` from each of as many equal parts.
///
/// `rows` are those of the node, in an order that does not depend on how it was grown. They count regardless
/// of their weights, but not those without weight.
std::vector<Evidence> find_evidence(const GrowthParameters& params, const BinnedColumns& binned,
                                    const Target& target, std::span<const std::uint32_t> rows,
                                    const SplitInfo& split, std::uint64_t seed);

}  // namespace tritree
