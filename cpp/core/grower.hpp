#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "codes.hpp"
#include "histogram.hpp"
#include "partition.hpp"
#include "split.hpp"
#include "target.hpp"
#include "tree.hpp"

namespace tritree {

/// A branch that is wanted: the child of a node on one side.
struct Wanted {
    std::int32_t node = kNone;
    Branch side = Branch::None;
    auto operator<=>(const Wanted&) const = default;
};

/// What growth remembers of a set of rows, beside the flat arrays. A node and its third branch, and that
/// one's third branch, and so on, have the same rows: they are the rungs of one ladder and share one base.
struct Base {
    std::int32_t node = kNone;  ///< the one on the first rung
    Wanted branch;              ///< where that one hangs in the tree; the root hangs nowhere
    /// The rows, in the order of their numbers; once a base of the first rungs is split by its own:
    /// [ left | right | third ]. Empty where they were dropped, to be found again through the parent.
    std::span<std::uint32_t> rows;
    std::vector<std::uint32_t> kept;  ///< what `rows` shows, of a base grown on demand
    PartSizes parts;                  ///< of a base of the first rungs
    Frame frame;
    std::vector<std::int32_t> unusable;  ///< columns that third branches above have used up
    std::vector<Rung> ladder;
};

/// A node's place: which base, which rung of its ladder (one past the end: the last third branch, a leaf).
/// A daughter that is as deep as may be needs no base: kNone.
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
    /// Return at most `at_most` known branches that are not grown yet, those of the newest bases first: their
    /// histograms are still at hand.
    std::vector<Wanted> find_ungrown(std::int64_t at_most);
    /// Bring back the rows of the first rungs of a tree read from a file.
    void restore_rows();
    /// Return the rows of a base, found again if they were dropped.
    std::span<const std::uint32_t> rows_of(std::int32_t base);

    const Codes& codes() const { return *shared_codes_; }
    const Target& target() const { return target_; }
    const Settings& settings() const { return settings_; }

    Tree tree;
    std::vector<Base> bases;
    std::vector<Place> places;  ///< one per node

  private:
    struct Sprout;
    struct Family;
    using Histograms = std::vector<Histogram>;  // one per column; empty where not kept

    Sprout make_root();
    Sprout make_daughter(std::int32_t node, Branch side) const;
    std::vector<Sprout> make_daughters(const std::vector<Sprout>& level, std::int32_t first);
    std::vector<Family> make_families(std::vector<Sprout>& daughters, const std::vector<Histograms>& parents,
                                      std::int32_t first) const;
    void open_third(std::int32_t node);
    void grow_daughters(std::span<const Wanted> wanted, std::unordered_map<std::int32_t, Histograms>& known,
                        int n_threads);
    void grow_leaves(std::span<const Wanted> wanted, int n_threads);
    void count_bases(std::span<const Family> families, std::unordered_map<std::int32_t, Histograms>& known,
                     int n_threads);
    void take_rows(Family& family) const;
    void scan(std::vector<Sprout>& sprouts, std::vector<Family>& families, int n_threads);
    void scan_columns(Family& family, std::span<const std::int32_t> columns);
    void finish(Sprout& sprout);
    void settle(std::vector<Sprout>& sprouts);
    bool is_leaf(const Sprout& sprout) const;
    bool splits_below(std::int32_t depth) const { return depth + 1 < settings_.max_depth; }
    std::vector<std::int32_t> usable_columns(const std::vector<std::int32_t>& unusable) const;
    void keep_rows(std::int32_t base, std::vector<std::uint32_t> rows);
    void drop_old_rows();

    std::shared_ptr<const Codes> shared_codes_;
    const Codes& codes_;
    Target target_;
    Settings settings_;
    TargetReader reader_;
    std::vector<std::uint32_t> all_rows_;  // those of the root, and through it of all first rungs
    // bases with rows of their own, oldest first, and how many rows these are
    std::vector<std::int32_t> keepers_;
    std::size_t n_kept_ = 0;
    // bases that the last call of grow() has scanned: the next one will most likely want their daughters
    std::unordered_map<std::int32_t, Histograms> warm_;
    std::size_t warm_size_ = 0;
    std::vector<std::int32_t> unfinished_;  // bases that may have branches not grown yet
};

}  // namespace tritree
