#pragma once

#include "grow/ladder_grower.hpp"
#include "model/growing_model.hpp"

namespace tritree {

// Checks of a tree read from a file that can continue growing; they throw std::invalid_argument.

/// Check the position of every node: a child is on a ladder of its own, a third branch at the next rank.
void check_positions(const LadderGrower& grower);

/// Check that every split of a ladder could have been found for its rows, which have been restored.
void check_ladders(LadderGrower& grower, const CheckSignals& check_signals);

}  // namespace tritree
