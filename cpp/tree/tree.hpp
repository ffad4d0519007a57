#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/parameters.hpp"
#include "split/evidence.hpp"
#include "split/node_stats.hpp"
#include "split/splitter.hpp"
#include "split/surrogate.hpp"

namespace tritree {

inline constexpr std::int32_t kNone = -1;     ///< a child that does not exist; the column of a leaf
inline constexpr std::int32_t kUngrown = -2;  ///< a child that has not been grown yet

/// A branch of a node, grown or not.
struct BranchRef {
    std::int32_t node = kNone;
    Branch branch = Branch::None;
    auto operator<=>(const BranchRef&) const = default;
};

/// Splits on one column each: those of nodes, or of surrogates.
struct SplitArrays {
    std::vector<std::int32_t> column;
    std::vector<double> threshold;        ///< left is value < threshold; NaN where categorical
    std::vector<std::int64_t> set_begin;  ///< index into Tree::sets; -1 where numeric
    std::vector<std::int32_t> set_words;  ///< words per side
};

/// The evidence of a tree, found on demand: that of a node is a range of entries, one per column, and that of
/// a column a range of groups of its values.
struct EvidenceArrays {
    std::vector<std::int32_t> begin, end;  ///< per node; kUngrown, or beyond the end, if it was not found
    std::vector<std::int32_t> column, rows, left;
    std::vector<std::int64_t> group_end;
    std::vector<double> key;
    std::vector<std::uint16_t> group_rows, group_left;

    bool is_found(std::size_t node) const { return node < begin.size() && begin[node] >= 0; }
    std::size_t group_begin(std::size_t entry) const {
        return entry == 0 ? 0 : static_cast<std::size_t>(group_end[entry - 1]);
    }
    void add(std::int32_t node, const std::vector<Evidence>& found);
    /// Return the group of an entry in which a value lies, or -1: NaN, or a category without a group.
    std::ptrdiff_t group_of(std::size_t entry, double value) const {
        const auto first = key.begin() + static_cast<std::ptrdiff_t>(group_begin(entry));
        const auto after = std::upper_bound(first, key.begin() + group_end[entry], value);
        const bool is_categorical = *first >= 0;
        if (std::isnan(value) || after == first || (is_categorical && after[-1] != value)) return -1;
        return after - 1 - key.begin();
    }
};

/// A decision tree as a structure of arrays, indexed by node; the same for single trees, forests and
/// boosting. Node 0 is the root; a child has a larger index than its parent. Arrays that do not apply to a
/// tree are empty.
struct Tree {
    int n_outputs = 1;
    std::int32_t n_fitted = 0;  ///< nodes grown by fit; the others were grown on demand
    SplitArrays split;
    std::vector<std::int32_t> left, right, third;
    std::vector<std::int8_t> missing_to;
    /// Where rows go if nothing else decides: the side with more observed rows. With surrogates the child
    /// with more rows; Branch::None if both have as many: the row stays in the node, which predicts.
    std::vector<std::int8_t> larger_side;
    std::vector<double> left_fraction;  ///< of the observed rows
    std::vector<std::int32_t> depth;
    std::vector<std::int64_t> rows;
    std::vector<double> weight, loss;
    /// n_outputs per node. Of an inner node of boosting: the value it would have as a leaf while it grows,
    /// the mean of its leaves when it is finished.
    std::vector<double> value;
    std::vector<std::uint64_t> sets;

    std::vector<std::int32_t> surrogate_begin;  ///< first surrogate of each node and the end; or empty
    SplitArrays surrogate;
    std::vector<std::int8_t> surrogate_below;

    /// Whether the evidence decides in what parts a row goes both ways, and not `left_fraction` alone.
    bool weighs_evidence = false;
    EvidenceArrays evidence;

    // boosting
    std::vector<std::uint16_t> first_right_bin;  ///< numeric splits: bins below it go left
    std::vector<double> gain;
    std::vector<double> variance;   ///< contribution to the variance of the prediction, if estimated
    std::vector<double> low, high;  ///< bounds of the values, if there are monotonic constraints

    std::size_t size() const { return left.size(); }
    bool is_leaf(std::size_t node) const { return split.column[node] == kNone; }
    /// Return the index of a child, kNone or kUngrown.
    std::int32_t child(std::size_t node, Branch branch) const { return children(branch)[node]; }
    const std::vector<std::int32_t>& children(Branch branch) const {
        return branch == Branch::Left ? left : branch == Branch::Right ? right : third;
    }
    void set_child(std::size_t node, Branch branch, std::int32_t child) {
        (branch == Branch::Left ? left : branch == Branch::Right ? right : third)[node] = child;
    }
    /// Return the number of branches that have not been grown, and of nodes whose evidence was not found.
    std::int64_t n_ungrown() const { return n_ungrown_branches() + n_without_evidence(); }
    std::int64_t n_ungrown_branches() const;
    std::int64_t n_without_evidence() const;
    /// Return whether a node sends rows both ways, but its evidence was not found yet.
    bool lacks_evidence(std::size_t node) const {
        return weighs_evidence && missing_to[node] == static_cast<std::int8_t>(Branch::Both) &&
               rows[node] >= kMinEvidenceRows && !evidence.is_found(node);
    }
    /// Return the branch of each node for values on a side; Branch::None in leaves and where rows stay in the
    /// node, Branch::Surrogates where the other values of a row decide.
    std::vector<std::int8_t> branches(Side side) const;
    std::int64_t n_grown() const { return static_cast<std::int64_t>(size()) - n_fitted; }

    /// Reserve memory for further nodes and words of category sets: appending them cannot throw half-way
    /// then, which would leave arrays of different lengths.
    void reserve_more(std::size_t nodes, std::size_t words);
    /// Append a leaf; return its index.
    std::int32_t add_leaf(const NodeStats& stats, std::int32_t at_depth);
    /// Append the third branch of `node`, which has the same rows, as a leaf; return its index.
    std::int32_t add_third(std::int32_t node);
    /// Turn a leaf into a split whose children have not been grown.
    void set_split(std::int32_t node, const SplitInfo& split);
    /// Set the surrogates of all nodes.
    void set_surrogates(const std::vector<std::vector<Surrogate>>& by_node);

    /// Return an error message if a tree read from a file is invalid, else an empty string. Traversals of a
    /// valid tree stay within the arrays.
    std::string validate(const GrowthParameters& params, std::int32_t n_columns) const;

  private:
    std::int64_t add_sets(const CategorySets& category_sets);
};

/// Return the fraction of a row that goes left at a node that sends it both ways, given what
/// `value_of(column)` returns: a number or category, or NaN. It is 0 or 1 if the other part is too small to
/// be followed, so that a row is in eight leaves at most. `fraction` of the row has reached the node.
template <class F>
double left_fraction_by_evidence(const Tree& tree, std::size_t node, double fraction, F&& value_of) {
    constexpr double kMinPart = 0.125;
    const EvidenceArrays& evidence = tree.evidence;
    double odds = tree.left_fraction[node] / (1 - tree.left_fraction[node]);
    const std::int32_t end = evidence.is_found(node) ? evidence.end[node] : 0;
    for (std::int32_t i = end > 0 ? evidence.begin[node] : 0; i < end; ++i) {
        const std::ptrdiff_t group =
            evidence.group_of(static_cast<std::size_t>(i), value_of(evidence.column[i]));
        if (group >= 0)
            odds = update_odds(odds, evidence.left[i], evidence.rows[i], evidence.group_left[group],
                               evidence.group_rows[group]);
    }
    const double left = odds / (1 + odds);
    if (fraction * std::min(left, 1 - left) < kMinPart) return left >= 0.5 ? 1 : 0;
    return left;
}

/// Call `f(name, arrays...)` for every array with one entry per node, of one tree or of several side by side:
/// the one list of them, for views, pickles and files.
template <class F, class... Trees>
void for_each_node_array(F&& f, Trees&... trees) {
    f("column", trees.split.column...);
    f("threshold", trees.split.threshold...);
    f("set_begin", trees.split.set_begin...);
    f("set_words", trees.split.set_words...);
    f("left", trees.left...);
    f("right", trees.right...);
    f("third", trees.third...);
    f("missing_to", trees.missing_to...);
    f("larger_side", trees.larger_side...);
    f("left_fraction", trees.left_fraction...);
    f("depth", trees.depth...);
    f("rows", trees.rows...);
    f("weight", trees.weight...);
    f("loss", trees.loss...);
    f("value", trees.value...);
    f("first_right_bin", trees.first_right_bin...);
    f("gain", trees.gain...);
    f("variance", trees.variance...);
    f("low", trees.low...);
    f("high", trees.high...);
}

/// The same for the arrays with one entry per surrogate.
template <class F, class... Trees>
void for_each_surrogate_array(F&& f, Trees&... trees) {
    f("surrogate_column", trees.surrogate.column...);
    f("surrogate_threshold", trees.surrogate.threshold...);
    f("surrogate_below", trees.surrogate_below...);
    f("surrogate_set_begin", trees.surrogate.set_begin...);
    f("surrogate_set_words", trees.surrogate.set_words...);
}

/// The same for the arrays of evidence.
template <class F, class... Trees>
void for_each_evidence_array(F&& f, Trees&... trees) {
    f("evidence_begin", trees.evidence.begin...);
    f("evidence_end", trees.evidence.end...);
    f("evidence_column", trees.evidence.column...);
    f("evidence_rows", trees.evidence.rows...);
    f("evidence_left", trees.evidence.left...);
    f("evidence_group_end", trees.evidence.group_end...);
    f("evidence_key", trees.evidence.key...);
    f("evidence_group_rows", trees.evidence.group_rows...);
    f("evidence_group_left", trees.evidence.group_left...);
}

/// Return a copy for views of the tree, in which optional arrays that are empty are filled with their
/// default.
Tree with_all_arrays(Tree tree);

}  // namespace tritree
