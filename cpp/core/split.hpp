#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "codes.hpp"
#include "histogram.hpp"
#include "settings.hpp"
#include "target.hpp"

namespace tritree {

/// Which category numbers go left and which go right; one in neither was not seen in the node.
/// words: [ a bit per category that goes left | a bit per category that goes right ]
class CategorySets {
  public:
    explicit CategorySets(std::uint32_t n_categories = 0)
        : words_(2 * ((std::size_t{n_categories} + 63) / 64)) {}
    explicit CategorySets(std::vector<std::uint64_t> words) : words_(std::move(words)) {}

    const std::vector<std::uint64_t>& words() const { return words_; }
    void put(Branch side, std::uint32_t category) {
        words_[at(side, category)] |= std::uint64_t{1} << (category % 64);
    }
    Branch side(std::uint32_t category) const {
        if (words_[at(Branch::Left, category)] >> (category % 64) & 1) return Branch::Left;
        return words_[at(Branch::Right, category)] >> (category % 64) & 1 ? Branch::Right : Branch::None;
    }

  private:
    std::size_t at(Branch side, std::uint32_t category) const {
        return category / 64 + (side == Branch::Right ? words_.size() / 2 : 0);
    }
    std::vector<std::uint64_t> words_;
};

/// A rung of a ladder: the best split of a node on one column.
struct Rung {
    std::int32_t column = -1;
    double gain = 0;
    bool categorical = false;
    bool missing_alone = false;  ///< "missing against observed": missing left, observed right
    std::uint32_t low = 0;       ///< numeric: the largest code that goes left
    double threshold = 0;        ///< numeric: left is value < threshold
    CategorySets sets;
    Branch missing_to = Branch::None;
    Branch larger = Branch::Right;  ///< where a row without information goes, unless it is third or both
    double share = 0;               ///< of the observed rows, the part that goes left
    Cell sides;                     ///< the cells of the rows that go left and right, if they are to be kept

    /// Say where a training row with this code goes, missing or not.
    Branch branch(std::uint32_t code, std::uint32_t missing) const {
        const Branch to = side(code, missing);
        return to == Branch::None ? missing_to : to;
    }
    /// Say on which side a code lies; Branch::None if it is missing.
    Branch side(std::uint32_t code, std::uint32_t missing) const {
        if (code == missing) return Branch::None;
        if (missing_alone) return Branch::Right;
        if (categorical) return sets.side(code);
        return code <= low ? Branch::Left : Branch::Right;
    }
};

/// Return the node's best split on one column, or nothing if none is admissible and lowers the loss.
std::optional<Rung> best_split(const Settings& settings, const CodedColumn& column,
                               std::int32_t column_number, const Cells& cells, const NodeRows& node,
                               const Layout& layout, const Summary& summary);

/// Put the rungs into the order of the ladder: higher gain first, ties by column number. The ladder of
/// trinary_mia ends with the first rung that sends missing left or right.
void sort_ladder(std::vector<Rung>& rungs, const Settings& settings, double node_loss);

}  // namespace tritree
