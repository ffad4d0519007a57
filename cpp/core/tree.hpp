#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "split.hpp"
#include "surrogate.hpp"
#include "target.hpp"

namespace tritree {

inline constexpr std::int32_t kNone = -1;     ///< a child that does not exist; the column of a leaf
inline constexpr std::int32_t kUngrown = -2;  ///< a child that has not been grown yet

/// A split on one column as prediction reads it: of a node or of a surrogate.
struct SplitArrays {
    std::vector<std::int32_t> column;
    std::vector<double> threshold;        ///< NaN where categorical
    std::vector<std::int64_t> set_begin;  ///< into Tree::sets; -1 where numeric
    std::vector<std::int32_t> set_words;  ///< words per side
};

/// A tree as flat arrays, one per field, indexed by node. Node 0 is the root; a child follows its parent.
struct Tree {
    int n_outputs = 1;
    SplitArrays split;
    std::vector<std::int32_t> left, right, third;
    std::vector<std::int8_t> missing_to, larger;
    std::vector<double> share;
    std::vector<std::int32_t> depth;
    std::vector<std::int64_t> rows;
    std::vector<double> weight, loss;
    std::vector<double> value;  ///< n_outputs per node
    std::vector<std::uint64_t> sets;
    std::vector<std::int32_t> surrogate_begin{0};  ///< one more than there are nodes
    SplitArrays surrogate;
    std::vector<std::int8_t> surrogate_below;

    std::size_t size() const { return left.size(); }
    bool is_leaf(std::size_t node) const { return split.column[node] == kNone; }
    /// Return the child on one side: its number, kNone or kUngrown.
    std::int32_t child(std::size_t node, Branch side) const { return children(side)[node]; }
    const std::vector<std::int32_t>& children(Branch side) const {
        return side == Branch::Left ? left : side == Branch::Right ? right : third;
    }
    void set_child(std::size_t node, Branch side, std::int32_t child) {
        (side == Branch::Left ? left : side == Branch::Right ? right : third)[node] = child;
    }

    /// Have memory for so many more nodes, words of category sets and surrogates: until then, nothing below
    /// can fail half-way, which would leave arrays of different lengths.
    void make_room(std::size_t nodes, std::size_t words, std::size_t surrogates = 0);
    /// Append a leaf with what is known of its rows; return its number.
    std::int32_t add_leaf(const Summary& summary, std::int32_t at_depth);
    /// Append a node with the rows of `base`, as its third branch has them; return its number.
    std::int32_t add_third(std::int32_t base);
    /// Make a leaf split by a rung, its daughters yet to be grown.
    void set_split(std::int32_t node, const Rung& rung);
    /// Give the newest node its surrogates.
    void add_surrogates(const std::vector<Surrogate>& surrogates);

    /// Return what is wrong with the arrays of a tree grown with these settings, or nothing: after that, no
    /// prediction can leave them.
    std::string validate(const Settings& settings, std::int32_t n_columns) const;

  private:
    std::int64_t add_sets(const CategorySets& sets);
};

}  // namespace tritree
