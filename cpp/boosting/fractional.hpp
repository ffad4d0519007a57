#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "boosted_tree.hpp"
#include "part_sums.hpp"

namespace tritree::boosting {

/// Grows trees in which a row whose value is missing goes both ways: a part of it is in either daughter, in
/// proportion to the rows that are observed there.
class FractionalGrower {
  public:
    /// With `keeps_leaves`, the parts of rows that are in leaves can be looked at afterwards.
    FractionalGrower(const CodeRows& codes, const Bins& bins, const Gradients& gradients, const Plan& plan,
                     bool keeps_leaves, int n_threads)
        : codes_(codes),
          bins_(bins),
          unit_(gradients),
          plan_(plan),
          keeps_leaves_(keeps_leaves),
          n_threads_(n_threads) {}

    /// Grow below the root of a tree that has no other node yet.
    void grow(BoostedTree& tree, std::span<const std::uint32_t> rows, std::span<const std::int32_t> columns);

    const PartUnit& unit() const { return unit_; }
    /// By node, the parts of rows that are there; of leaves only.
    std::vector<Parts> leaves;

  private:
    /// A node that may be split.
    struct Sprout {
        std::int32_t node = 0;
        Parts parts;
        PartCell total;
        PartHistogram histogram;
        std::optional<Cut> cut;
    };

    bool may_split(const BoostedTree& tree, const Sprout& sprout) const;
    void look_for_cut(const BoostedTree& tree, Sprout& sprout, std::span<const std::int32_t> columns) const;
    std::array<Sprout, 2> split(BoostedTree& tree, Sprout& sprout) const;
    void deal(const Sprout& sprout, std::array<Sprout, 2>& daughters) const;
    void count(Sprout& sprout) const;

    const CodeRows& codes_;
    const Bins& bins_;
    const PartUnit unit_;
    const Plan& plan_;
    const bool keeps_leaves_;
    const int n_threads_;
};

}  // namespace tritree::boosting
