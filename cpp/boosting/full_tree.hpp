#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "boosted_tree.hpp"

namespace tritree::boosting {

/// The fitted part of a tree, filled up so that all leaves are equally deep: for rows without holes, which
/// never leave it. A step reads a column and a code and nothing else, since node i leads right to 2i and left
/// to 2i + 1.
///
///     [ - | 1 | 2 3 | 4 5 6 7 | ... ]  nodes; below a leaf all ways lead right
class FullTree {
  public:
    /// Make nothing of a tree that is too deep to be filled up, or that asks for categories.
    explicit FullTree(const BoostedTree& tree);

    bool is_there() const { return !ends_.empty(); }
    /// Find the leaves of complete rows that follow each other.
    void lead(const CodeRows& codes, std::size_t begin, std::size_t end, std::int32_t* at) const;

  private:
    struct Ask {
        std::uint16_t column = 0;
        std::uint16_t begin = 0;  ///< the first code that goes right
    };

    void fill(const BoostedTree& tree, std::int32_t node, std::size_t place);

    std::vector<Ask> asks_;
    std::vector<std::int32_t> ends_;  ///< leaves of the tree, by those of the full one
    int depth_ = 0;
};

/// Trees, filled up, and the columns that they ask for.
class FullTrees {
  public:
    FullTrees() = default;  ///< of no trees
    FullTrees(std::span<const BoostedTree> trees, const Bins& bins);

    bool empty() const { return trees_.empty(); }
    const FullTree& operator[](std::size_t i) const { return trees_[i]; }
    /// Return those of rows that follow each other in which something is missing that is asked for.
    std::vector<std::uint32_t> rows_with_holes(const CodeRows& codes, std::size_t begin,
                                               std::size_t end) const;

  private:
    struct Asked {
        std::size_t column;
        std::uint32_t missing;  ///< the code of missing values
    };

    std::vector<FullTree> trees_;
    std::vector<Asked> asked_;
};

}  // namespace tritree::boosting
