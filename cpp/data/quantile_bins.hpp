#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tritree {

// The key of a value is an unsigned integer that sorts in the same order, so that a radix sort applies.
inline constexpr std::uint64_t kMissingKey = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

inline std::uint64_t key_of(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0.0 becomes 0.0
    return bits & kSignBit ? ~bits : bits | kSignBit;
}

inline double value_of(std::uint64_t key) {
    return std::bit_cast<double>(key & kSignBit ? key ^ kSignBit : ~key);
}

/// Number of distinct keys, or prefixes of keys, of a column, and number of rows of the most frequent one.
struct Runs {
    std::size_t distinct = 0, longest = 0;
};

/// What separates the rows of a column well enough for quantiles: whole keys, their upper halves, or shorter
/// prefixes. Which of them is used depends on the values and the number of rows alone, so that all ways of
/// binning a column agree.
struct BinningRule {
    std::uint32_t max_bins;

    /// Beyond this number of bins, only whole keys are used: a search table of this size stays in the L1
    /// cache.
    static constexpr std::uint32_t kMaxSearchedBins = 2048;
    static constexpr std::size_t kMinCountedRows = std::size_t{1} << 16;  // sorting is as fast for fewer rows
    static constexpr int kCoarseBits = 16, kFineBits = 8;                 // of short prefixes
    static constexpr std::size_t kFineness = 8;                           // prefixes per bin, on average

    /// Return whether short prefixes are tried, in a column of this many rows, missing values included.
    bool counts_prefixes(std::size_t n_rows) const { return n_rows >= kMinCountedRows && max_bins <= 255; }
    /// Return whether a coarse prefix has so many rows that further bits are needed.
    bool is_crowded(std::size_t n_rows_of_prefix, std::size_t n_observed) const {
        return n_rows_of_prefix * kFineness * max_bins > n_observed;
    }
    /// Return whether upper halves of keys are tried. They distinguish values to one part in a million.
    bool uses_halves() const { return max_bins <= kMaxSearchedBins; }
    /// Return whether prefixes of keys distinguish values well enough: unless many values share one of them.
    bool are_fine(const Runs& prefixes, std::size_t n_observed) const {
        return prefixes.distinct >= kFineness * max_bins && prefixes.longest * max_bins <= n_observed;
    }
};

/// Return the end of each of at most `max_bins` bins, in rows. `next_run(row)` returns the end of the run of
/// equal keys that starts at a row. Every bin takes an equal fraction of the remaining rows, so that a value
/// that fills more than one bin does not shrink the others.
template <class NextRun>
std::vector<std::size_t> bin_ends(std::size_t n_rows, std::size_t n_runs, std::size_t max_bins,
                                  NextRun&& next_run) {
    std::vector<std::size_t> ends;
    std::size_t end = 0, runs_left = n_runs;
    for (std::size_t bins_left = std::min(max_bins, n_runs); bins_left > 0; --bins_left) {
        const std::size_t begin = end, rows_left = n_rows - begin;
        do {
            end = next_run(end);
            --runs_left;
        } while (runs_left >= bins_left && (bins_left == 1 || (end - begin) * bins_left < rows_left));
        ends.push_back(end);
    }
    return ends;
}

}  // namespace tritree
