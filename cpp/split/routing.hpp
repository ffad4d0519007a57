#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/parameters.hpp"

namespace tritree {

// Where a row goes at a split is decided here and nowhere else: in training, prediction, explanations and
// exports. First the side on which its value lies, then the branch for that side.

/// Where the value of a row lies at a split (`Branch`: where the row then goes). Unseen: a category that
/// training did not see in the node.
enum class Side : std::uint8_t { Left, Right, Missing, Unseen };

/// Return the branch for a row whose value lies on a side of a split. An unseen category carries no
/// information and does not mean what missing means: it goes to the larger side, unless missing values have a
/// branch of their own or go both ways.
inline Branch route(Side side, Branch missing_to, Branch larger_side) {
    if (side == Side::Left) return Branch::Left;
    if (side == Side::Right) return Branch::Right;
    const bool joins_side = missing_to == Branch::Left || missing_to == Branch::Right;
    return side == Side::Unseen && joins_side ? larger_side : missing_to;
}

/// Return the side with more weight or rows, or `tie`.
inline Branch larger_side(std::int64_t left, std::int64_t right, Branch tie) {
    return left == right ? tie : left > right ? Branch::Left : Branch::Right;
}

/// Return the side of a category, given the sets of a split: `words` of bits for categories that go left,
/// then as many for those that go right.
inline Side side_of_category(const std::uint64_t* sets, std::size_t words, std::uint32_t category) {
    if (category >= 64 * words) return Side::Unseen;
    const std::uint64_t bit = std::uint64_t{1} << (category % 64);
    if (sets[category / 64] & bit) return Side::Left;
    return sets[words + category / 64] & bit ? Side::Right : Side::Unseen;
}

/// Return an error message if the sets of a split overlap or one is empty, else null. Missing against
/// observed is the one split without categories on the left.
inline const char* check_category_sets(const std::uint64_t* sets, std::size_t words,
                                       bool may_split_on_missing) {
    std::uint64_t left = 0, right = 0, both = 0;
    for (std::size_t word = 0; word < words; ++word) {
        left |= sets[word];
        right |= sets[words + word];
        both |= sets[word] & sets[words + word];
    }
    if (both != 0) return "category on both sides of a split";
    if (right == 0 || (left == 0 && !may_split_on_missing)) return "split without categories on one side";
    return nullptr;
}

/// The categories that go left and those that go right: a bit per category for either.
class CategorySets {
  public:
    explicit CategorySets(std::uint32_t n_categories = 0)
        : words_(2 * ((std::size_t{n_categories} + 63) / 64)) {}
    explicit CategorySets(std::vector<std::uint64_t> words) : words_(std::move(words)) {}

    const std::vector<std::uint64_t>& words() const { return words_; }
    void put(Branch branch, std::uint32_t category) {
        const std::size_t offset = branch == Branch::Right ? words_.size() / 2 : 0;
        words_[offset + category / 64] |= std::uint64_t{1} << (category % 64);
    }
    Side side(std::uint32_t category) const {
        return side_of_category(words_.data(), words_.size() / 2, category);
    }

  private:
    std::vector<std::uint64_t> words_;
};

}  // namespace tritree
