#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "boosted_tree.hpp"
#include "counting.hpp"

namespace tritree::boosting {

/// The rows that a tree is fitted to: their codes, and columns of codes if they are at hand, which are read
/// faster where rows are parted.
struct CodedRows {
    const CodeRows& rows;
    const Codes* columns = nullptr;
};

/// Some of the rows that a tree is fitted to, which lie in the order of its nodes: those of a daughter are
/// among those of its parent, [ left | right | third ].
struct Range {
    std::size_t begin = 0, end = 0;

    std::size_t size() const { return end - begin; }
};

/// Grows the binary part of a tree below a leaf.
class TreeGrower {
  public:
    TreeGrower(const CodedRows& data, const Bins& bins, const Gradients& gradients, const Plan& plan,
               int n_threads)
        : data_(data), bins_(bins), gradients_(gradients), plan_(plan), n_threads_(n_threads) {}

    /// Grow below the newest node of a tree, a leaf that has these rows, and put them into the order of
    /// nodes. Values are those that lower the loss most.
    void grow(BoostedTree& tree, std::span<std::uint32_t> rows, std::span<const std::int32_t> columns,
              int max_depth, std::int64_t max_leaf_nodes);

    /// The rows of the nodes that were grown, the first of which was there before.
    std::vector<Range> ranges;

  private:
    /// A node that may be split.
    struct Sprout {
        std::int32_t node = 0;
        Range range;
        Cell total;
        Histogram histogram;
        std::optional<Cut> cut;
    };

    void look_for_cut(const BoostedTree& tree, Sprout& sprout, std::span<const std::int32_t> columns) const;
    std::array<Sprout, 2> split(BoostedTree& tree, Sprout& sprout, std::span<std::uint32_t> rows,
                                int max_depth);
    void count(Sprout& sprout, std::span<const std::uint32_t> rows) const;
    bool may_split(const BoostedTree& tree, const Sprout& sprout, int max_depth) const;

    const CodedRows data_;
    const Bins& bins_;
    const Gradients& gradients_;
    const Plan& plan_;
    int n_threads_;
};

/// Part rows by where a cut sends them, each part in the order it had: [ left | right | third ]. Return where
/// the second and the third part begin.
std::pair<std::size_t, std::size_t> part_rows(const CodedRows& data, std::span<std::uint32_t> rows,
                                              const Cut& cut, std::uint32_t missing, int n_threads);

}  // namespace tritree::boosting
