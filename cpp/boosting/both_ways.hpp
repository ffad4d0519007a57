#pragma once

#include <cstdint>
#include <vector>

#include "boosted_tree.hpp"

namespace tritree::boosting {

/// Where a part of a row ends.
struct End {
    std::uint32_t row;
    std::int32_t node;
    double share;
};

/// Leads rows down trees in which they go both ways where a value is missing. What a node says of a row that
/// goes both ways is the mean of what its daughters say, by their shares. Memory is used again for the next.
class BothWays {
  public:
    /// Write down what a tree says of rows that follow each other.
    void answer(const BoostedTree& tree, const CodeRows& codes, std::size_t begin, std::size_t end,
                double* answers);
    /// Write down the leaves where most of each row ends, the leftmost of equals.
    void apply(const BoostedTree& tree, const CodeRows& codes, std::size_t begin, std::size_t end,
               std::int32_t* nodes);
    /// Add the leaves where the parts of rows end.
    void add_ends(const BoostedTree& tree, const CodeRows& codes, std::size_t begin, std::size_t end,
                  std::vector<End>& ends);

  private:
    template <class F>
    void each_stretch(const BoostedTree& tree, std::size_t begin, std::size_t end, F&& f);
    void lead(const BoostedTree& tree, const CodeRows& codes, std::size_t begin, std::size_t end);
    void share_out(const BoostedTree& tree);

    // By visit. The first are those of the rows, and what goes left is followed by what goes right.
    std::vector<std::uint32_t> row_;
    std::vector<std::int32_t> node_;    // a leaf, or where it goes both ways
    std::vector<std::uint32_t> below_;  // the visit of what goes left; 0 in a leaf
    std::vector<double> share_, answer_;
};

}  // namespace tritree::boosting
