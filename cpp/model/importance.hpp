#pragma once

#include <cstddef>
#include <vector>

#include "grow/ladder_grower.hpp"

namespace tritree {

// Importances are not normalised: only their ratios are meaningful.

/// Return the reduction of the training loss by the splits on each column, for a tree without third branches:
/// the rows of a node are the training rows that pass through it.
std::vector<double> importances(const Tree& tree, const GrowthParameters& params, std::size_t n_columns);

/// The same for a tree with third branches: the training rows traverse it as if they were to be predicted,
/// because those that pass through a third branch are not all of its rows. Grows the branches that they
/// reach.
std::vector<double> importances_on_demand(LadderGrower& grower, int n_threads);

}  // namespace tritree
