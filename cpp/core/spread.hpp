#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grower.hpp"

namespace tritree {

/// How the responses of the training rows are spread, node by node: the share of a node's weight per bin.
/// Of a regression tree; the values of a classification tree are the shares of its classes already.
struct Spread {
    static constexpr std::size_t kBins = 16;
    static constexpr std::size_t kMostNodes = 4096;  ///< kept when the training rows go

    std::vector<double> edges;  ///< kBins + 1; what lies beyond the outermost is in the outermost bins
    std::vector<float> shares;  ///< kBins per node, of the first nodes of the tree

    /// Return what is wrong with it, or nothing.
    std::string validate(std::size_t n_nodes) const;
};

/// Return equally wide bins over all responses but the outermost of them.
std::vector<double> edges_of(const Target& target);

/// Return the shares of some nodes of a tree without fractional rows.
std::vector<float> shares_of(Grower& grower, std::span<const double> edges,
                             std::span<const std::int32_t> nodes);

/// Return the spread of the nodes nearest to the root among the first `n_fitted`: what is kept of the
/// responses when the rows go.
Spread spread_of_first(Grower& grower, std::int32_t n_fitted);

}  // namespace tritree
