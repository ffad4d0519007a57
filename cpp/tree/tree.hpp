#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/parameters.hpp"
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
    std::int64_t n_ungrown() const;
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

/// Return a copy for views of the tree, in which optional arrays that are empty are filled with their
/// default.
Tree with_all_arrays(Tree tree);

}  // namespace tritree
