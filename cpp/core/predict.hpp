#pragma once

#include <cstdint>
#include <vector>

#include "codes.hpp"
#include "grower.hpp"
#include "tree.hpp"

namespace tritree {

/// Rows to be predicted, as columns lying in the user's memory.
struct RowsToPredict {
    std::vector<ColumnView> columns;
    std::size_t n_rows = 0;
};

/// Throw BadValue if a number is infinite.
void check_finite(const RowsToPredict& table, int n_threads);

/// Return the branch that a node sends a row to: left, right, third or both.
Branch branch_of(const Tree& tree, std::size_t node, const RowsToPredict& table, std::size_t row);

/// Lead a row down from node `at`, and return true if it got to a leaf. If it came to a branch that has not
/// been grown, `at` is the node it stands at and `side` the branch.
bool walk(const Tree& tree, const RowsToPredict& table, std::size_t row, std::int32_t& at, Branch& side);

/// Follow a row down all branches that it has a share in; add share times value to `value` (n_outputs), and
/// return the leaf with the largest share.
std::int32_t walk_fractional(const Tree& tree, const RowsToPredict& table, std::size_t row, double* value);

}  // namespace tritree
