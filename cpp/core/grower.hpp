#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base.hpp"
#include "codes.hpp"
#include "scan.hpp"
#include "thicket.hpp"
#include "tree.hpp"

namespace tritree {

/// Grows a tree: at first what a binary tree would have, then whatever branch is wanted.
///
/// The result of growing a branch depends on nothing but the branch: not on what was grown before, nor on
/// threads. Not safe from several threads at once.
class Grower {
  public:
    Grower(std::shared_ptr<const Codes> codes, Target target, const Settings& settings);
    Grower(const Grower&) = delete;
    Grower& operator=(const Grower&) = delete;

    /// Grow the root and all daughters of first rungs. `between_levels`, which is called now and then, may
    /// throw to give up.
    void grow_first_rungs(int n_threads, const std::function<void()>& between_levels = {});
    /// Grow the wanted branches that are not there yet.
    void grow(std::vector<Wanted> wanted, int n_threads);
    /// Grow at most `at_most` of the branches that are not there yet, on the way to all of them.
    void grow_all(std::int64_t at_most, int n_threads);
    /// Bring back the rows of the first rungs of a tree read from a file.
    void restore_rows();
    /// Say whether the sums over a base's rows can be told in its frame.
    bool fits(std::int32_t base) { return scanner_.reader().fits(rows_of(base), bases[base].frame); }
    /// Return the rows of a base, found again if they were dropped. Valid until the next drop.
    std::span<const std::uint32_t> rows_of(std::int32_t base);
    /// Drop the rows of the bases grown on demand that got theirs first, if there are too many.
    void drop_old_rows();

    const Codes& codes() const { return *shared_codes_; }
    const Target& target() const { return target_; }
    const Settings& settings() const { return settings_; }

    Tree tree;
    std::vector<Base> bases;
    std::vector<Place> places;  ///< one per node

  private:
    using KnownHistograms = std::unordered_map<std::int32_t, Histograms>;  // by base

    Sprout make_root();
    Sprout make_daughter(std::int32_t node, Branch side) const;
    std::vector<Sprout> make_daughters(const std::vector<Sprout>& level, std::int32_t first);
    std::vector<Family> make_families(std::vector<Sprout>& daughters, const std::vector<Histograms>& parents,
                                      std::int32_t first) const;
    void open_third(std::int32_t node);
    void complete_ladders(std::span<const Wanted> wanted, int n_threads);
    const Frame* frame_above(const Base& base) const {
        return base.branch.node == kNone ? nullptr : &bases[places[base.branch.node].base].frame;
    }
    void grow_wanted(std::vector<Wanted> wanted, int n_threads);
    std::vector<Wanted> find_ungrown(std::int64_t at_most);
    const Scanner& scanner() const { return complete_ ? complete_scanner_ : scanner_; }
    void grow_daughters(std::span<const Wanted> wanted, KnownHistograms& known, int n_threads);
    void grow_leaves(std::span<const Wanted> wanted, int n_threads);
    void summarise_rows(std::span<const Wanted> wanted, std::span<std::optional<Summary>> leaves,
                        int n_threads);
    void count_bases(std::span<const Family> families, KnownHistograms& known, int n_threads);
    RowParts parts_of(const Base& base, std::int32_t rung) const;
    void take_rows(Family& family) const;
    void settle(std::vector<Sprout>& sprouts);
    void take_small(std::vector<Sprout>& daughters, std::vector<Twig>& firsts) const;
    void grow_thickets(std::vector<Twig>& firsts, int n_threads, const std::function<void()>& in_between);
    void settle(std::vector<Twig>& twigs);
    bool splits_below(std::int32_t depth) const { return depth + 1 < settings_.max_depth; }
    void keep_rows(std::int32_t base, std::vector<std::uint32_t> rows);
    bool keeps_histograms(std::int32_t depth, std::size_t n_rows);

    std::shared_ptr<const Codes> shared_codes_;
    const Codes& codes_;
    Target target_;
    Settings settings_;
    // Complete cells take longer to count, which pays where most leaves below will be wanted.
    Scanner scanner_, complete_scanner_;
    bool complete_ = false;
    std::vector<std::uint32_t> all_rows_;  // those of the root, and through it of all first rungs
    // bases with rows of their own, oldest first, and how many rows these are
    std::vector<std::int32_t> keepers_;
    std::size_t n_kept_ = 0;
    // bases that the last call of grow() has scanned: the next one will most likely want their daughters
    KnownHistograms warm_;
    std::size_t planned_integers_ = 0;      // of the histograms to be kept
    std::vector<std::int32_t> unfinished_;  // bases that may have branches not grown yet
};

}  // namespace tritree
