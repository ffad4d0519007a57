#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grow/ladder_grower.hpp"

namespace tritree {

/// Distribution of the target in the nodes of a regression tree, for views: the fraction of a node's weight per bin. (The
/// values of a classification tree are class proportions already.)
struct TargetDistribution {
    static constexpr std::size_t kBins = 16;
    static constexpr std::size_t kMaxNodes = 4096;  ///< kept when the training rows are dropped

    std::vector<double> edges;     ///< kBins + 1; the outermost bins include what lies beyond
    std::vector<float> fractions;  ///< kBins per node, of the first nodes of the tree

    /// Return what is wrong with it, or an empty string.
    std::string validate(std::size_t n_nodes) const;
};

/// Return equally wide bins over all targets but the outermost.
std::vector<double> distribution_edges(const Target& target);

/// Return the bin fractions of some nodes of a tree that is not fractional.
std::vector<float> bin_fractions(LadderGrower& grower, std::span<const double> edges,
                                 std::span<const std::int32_t> nodes);

/// Return the distribution in the first nodes among those grown by fit: what is kept when the rows are dropped.
TargetDistribution first_nodes_distribution(LadderGrower& grower);

}  // namespace tritree
