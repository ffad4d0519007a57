#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grow/ladder_grower.hpp"

namespace tritree {

/// Distribution of the target in the nodes of a regression tree, for views: the fraction of a node's weight
/// per bin. (The values of a classification tree are class proportions already.)
struct TargetDistribution {
    static constexpr std::size_t kBins = 16;
    static constexpr std::size_t kMaxNodes = 4096;  ///< kept when the training rows are dropped

    std::vector<double> edges;     ///< kBins + 1; the outermost bins include the targets beyond
    std::vector<float> fractions;  ///< kBins per node, of the first nodes of the tree

    /// Return an error message if the distribution is invalid, else an empty string.
    std::string validate(std::size_t n_nodes) const;
};

/// Return the edges of equally wide bins that cover all targets except outliers.
std::vector<double> distribution_edges(const Target& target);

/// Return the bin fractions of some nodes, under any strategy except `fractional`.
std::vector<float> bin_fractions(LadderGrower& grower, std::span<const double> edges,
                                 std::span<const std::int32_t> nodes);

/// Return the distribution in the first nodes grown by fit, which is kept when the training rows are dropped.
TargetDistribution first_nodes_distribution(LadderGrower& grower);

}  // namespace tritree
