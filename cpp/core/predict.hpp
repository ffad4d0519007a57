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

/// Throw BadValue if a number in one of these rows is infinite.
void check_finite(const RowsToPredict& table, std::size_t begin, std::size_t end);

/// Return the branch that a node sends a row to: left, right, third or both.
Branch branch_of(const Tree& tree, std::size_t node, const RowsToPredict& table, std::size_t row);

/// Lead a row down from node `at`, and return true if it got to a leaf. If it came to a branch that has not
/// been grown, `at` is the node it stands at and `side` the branch.
bool walk(const Tree& tree, const RowsToPredict& table, std::size_t row, std::int32_t& at, Branch& side);

/// Leads many rows at once from the root to where `walk` would lead each, without a branch to guess wrong.
///
/// Knows splits by numbers only, of columns that are all of one type and step from row to row alike, as those
/// of a matrix do: `can_lead` says whether that is so. What a node asks of a row is written down for it in
/// one place: six levels for a million rows take a fifth of the time of walking them one by one.
class Steps {
  public:
    static bool can_lead(const Tree& tree, const RowsToPredict& table);
    Steps(const Tree& tree, const RowsToPredict& table);

    /// Write down for each of these rows the node it came to: a leaf, or one whose next branch is not grown.
    void lead(std::size_t begin, std::size_t end, std::int32_t* at) const;

  private:
    struct Step {
        double threshold;
        std::ptrdiff_t offset;  // of the value that is asked for, from the first value of the row
        std::int32_t next[3];   // left, right, missing; the node itself where the way ends
    };
    template <class T>
    void lead_rows(std::size_t begin, std::size_t end, std::int32_t* at) const;

    std::vector<Step> steps_;
    const char* data_ = nullptr;
    std::ptrdiff_t stride_ = 0;
    bool single_ = false;  // precision
};

/// Follow a row down all branches that it has a share in; add share times value to `value` (n_outputs), and
/// return the leaf with the largest share.
std::int32_t walk_fractional(const Tree& tree, const RowsToPredict& table, std::size_t row, double* value);

}  // namespace tritree
