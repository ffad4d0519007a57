#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/quantile_bins.hpp"

namespace tritree {

/// Counts keys: a hash table with open addressing.
class KeyCounts {
  public:
    struct Slot {
        std::uint64_t key = 0, count = 0;
    };

    KeyCounts() : slots_(16) {}
    std::size_t size() const { return size_; }
    void add(std::uint64_t key, std::uint64_t count);
    /// Return the keys that occurred with their counts, in ascending order of the keys.
    std::vector<Slot> sorted() const;

  private:
    std::size_t size_ = 0;
    std::vector<Slot> slots_;
};

/// Counts the values of a numeric column, part by part, so that it can be binned without being in memory:
/// whole keys as long as there are few of them, then their upper halves, then the prefixes of 24 bits that
/// `BinningRule` tries first.
class ValueCounts {
  public:
    /// Count up to `max_keys` different keys, or upper halves. A larger number takes more memory, and makes
    /// more bounds known; it does not change them.
    explicit ValueCounts(std::size_t max_keys) : max_keys_(max_keys) {}
    /// Count keys; missing ones are ignored.
    void add(std::span<const std::uint64_t> keys);

    /// What was counted, in ascending order of the keys: each is the largest one of its prefix.
    struct State {
        int dropped_bits = 0;
        std::vector<std::uint64_t> keys, counts;
    };
    State state() const;
    /// Add what was counted elsewhere.
    void add(const State& counted);
    /// Return the largest key of each bin that `bin_columns` makes of the column; nothing if the counts are
    /// not fine enough to tell. `n_rows` includes missing values.
    std::optional<std::vector<std::uint64_t>> bounds(std::size_t n_rows, std::uint32_t max_bins) const;

  private:
    /// A prefix of keys, as the largest key that has it, and its number of rows.
    using Prefix = KeyCounts::Slot;
    static constexpr int kDroppedOfHalves = 32;
    static constexpr int kDroppedOfFine = 64 - BinningRule::kCoarseBits - BinningRule::kFineBits;
    static constexpr std::size_t kFineValues = std::size_t{1} << BinningRule::kFineBits;
    using FineCounts = std::array<std::uint64_t, kFineValues>;

    void count_fine(std::uint64_t key, std::uint64_t count);
    void drop_bits();
    std::vector<Prefix> prefixes() const;

    std::size_t max_keys_, n_observed_ = 0;
    int dropped_bits_ = 0;                       ///< of the keys that are counted
    KeyCounts keys_;                             ///< unless prefixes of 24 bits are counted
    std::vector<std::uint32_t> fine_of_coarse_;  ///< position in `fine_` plus 1, of each coarse prefix
    std::vector<FineCounts> fine_;
};

}  // namespace tritree
