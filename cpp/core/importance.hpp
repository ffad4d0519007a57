#pragma once

#include <vector>

#include "grower.hpp"

namespace tritree {

// Importances are in no particular unit: only their ratios mean something.

/// Return per column what its splits take off the training loss. In a tree without third branches, the rows
/// of a node are the training rows that pass through it.
std::vector<double> importances(const Tree& tree, const Settings& settings, std::size_t n_columns);

/// The same for a tree with third branches: the training rows are led through it as if they were to be
/// predicted, because those that pass through a third branch are not all of its rows. Grows what they reach.
std::vector<double> importances_grown(Grower& grower, int n_threads);

}  // namespace tritree
