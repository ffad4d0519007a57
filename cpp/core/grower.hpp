#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "codes.hpp"
#include "partition.hpp"
#include "split.hpp"
#include "target.hpp"
#include "tree.hpp"

namespace tritree {

/// A branch that is wanted: the child of a node on one side.
struct Wanted {
    std::int32_t node;
    Branch side;
    auto operator<=>(const Wanted&) const = default;
};

/// What growth remembers of a set of rows, beside the flat arrays. A node and its third branch, and that
/// one's third branch, and so on, have the same rows: they are the rungs of one ladder and share one base.
struct Base {
    std::span<std::uint32_t> rows;  ///< once split by the first rung: [ left | right | third ]
    PartSizes parts;
    Frame frame;
    std::vector<std::int32_t> unusable;  ///< columns that third branches above have used up
    std::vector<Rung> ladder;
};

/// A node's place: which base, which rung of its ladder (one past the end: the last third branch, a leaf).
struct Place {
    std::int32_t base;
    std::int32_t rung;
};

/// Grows a tree: at first what a binary tree would have, then whatever branch is wanted.
///
/// The result of growing a branch depends on nothing but the branch: not on what was grown before, nor on
/// threads. Not safe from several threads at once.
class Grower {
  public:
    Grower(std::shared_ptr<const Codes> codes, Target target, const Settings& settings);
    Grower(const Grower&) = delete;
    Grower& operator=(const Grower&) = delete;

    /// Grow the root and all daughters of first rungs. `between_levels` may throw to give up.
    void grow_first_rungs(int n_threads, const std::function<void()>& between_levels = {});
    /// Grow the wanted branches that are not there yet.
    void grow(std::vector<Wanted> wanted, int n_threads);
    /// Bring back the rows of all bases of a tree read from a file.
    void restore_rows();

    const Codes& codes() const { return *shared_codes_; }
    const Target& target() const { return target_; }
    const Settings& settings() const { return settings_; }

    Tree tree;
    std::vector<Base> bases;
    std::vector<Place> places;  ///< one per node

  private:
    struct Sprout;
    struct Family;

    Sprout make_root();
    Sprout make_daughter(std::int32_t node, Branch side);
    std::vector<Sprout> make_daughters(const std::vector<Sprout>& level, std::int32_t first);
    std::vector<Family> make_families(std::vector<Sprout>& level, std::int32_t first,
                                      std::vector<Sprout>& daughters);
    void open_third(std::int32_t node);
    void grow_daughters(std::vector<Sprout>& sprouts, int n_threads);
    void scan(std::vector<Sprout>& sprouts, std::vector<Family>& families, bool keep_histograms,
              int n_threads);
    void scan_column(Sprout& sprout, std::size_t column, Histogram* keep);
    void scan_family(Family& family, std::size_t column, bool keep_histograms);
    void finish(Sprout& sprout);
    void settle(std::vector<Sprout>& sprouts);
    bool is_leaf(const Sprout& sprout) const;
    std::span<std::uint32_t> own(std::vector<std::uint32_t> rows);

    std::shared_ptr<const Codes> shared_codes_;
    const Codes& codes_;
    Target target_;
    Settings settings_;
    TargetReader reader_;
    std::deque<std::vector<std::uint32_t>> lists_;  // a deque: spans into its lists stay valid
};

}  // namespace tritree
