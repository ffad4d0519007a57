#include "data/value_counts.hpp"

#include <algorithm>
#include <utility>

#include "common/random.hpp"
#include "common/require.hpp"

namespace tritree {
namespace {

/// Return the largest key that has the same prefix as a key, without its last bits.
std::uint64_t fill(std::uint64_t key, int n_bits) {
    return n_bits == 0 ? key : key | (kMissingKey >> (64 - n_bits));
}

using Prefix = KeyCounts::Slot;

/// Join prefixes that differ in the last bits only, where `join` says so.
template <class Join>
std::vector<Prefix> joined(const std::vector<Prefix>& prefixes, int n_bits, Join&& join) {
    std::vector<Prefix> result;
    for (std::size_t begin = 0, end; begin < prefixes.size(); begin = end) {
        const std::uint64_t filled = fill(prefixes[begin].key, n_bits);
        std::uint64_t count = 0;
        for (end = begin; end < prefixes.size() && fill(prefixes[end].key, n_bits) == filled; ++end)
            count += prefixes[end].count;
        if (join(count))
            result.push_back({filled, count});
        else
            result.insert(result.end(), prefixes.begin() + static_cast<std::ptrdiff_t>(begin),
                          prefixes.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return result;
}

std::vector<Prefix> joined(const std::vector<Prefix>& prefixes, int n_bits) {
    return joined(prefixes, n_bits, [](std::uint64_t) { return true; });
}

Runs runs_of(const std::vector<Prefix>& prefixes) {
    Runs runs{prefixes.size(), 0};
    for (const Prefix& prefix : prefixes) runs.longest = std::max<std::size_t>(runs.longest, prefix.count);
    return runs;
}

/// Return the largest key of each bin.
std::vector<std::uint64_t> bounds_of(const std::vector<Prefix>& prefixes, std::size_t n_observed,
                                     std::uint32_t max_bins) {
    std::vector<std::uint64_t> bounds;
    std::size_t next = 0;
    const auto ends = bin_ends(n_observed, prefixes.size(), max_bins,
                               [&](std::size_t begin) { return begin + prefixes[next++].count; });
    std::size_t rows = 0;
    for (const Prefix& prefix : prefixes) {
        rows += prefix.count;
        if (rows == ends[bounds.size()]) bounds.push_back(prefix.key);
    }
    return bounds;
}

}  // namespace

void KeyCounts::add(std::uint64_t key, std::uint64_t count) {
    if (2 * size_ >= slots_.size()) {
        std::vector<Slot> before(2 * slots_.size());
        before.swap(slots_);
        size_ = 0;
        for (const Slot& slot : before)
            if (slot.count > 0) add(slot.key, slot.count);
    }
    for (std::size_t i = hash_seed(key, 0);; ++i) {
        Slot& slot = slots_[i & (slots_.size() - 1)];
        if (slot.count == 0) {
            slot.key = key;
            ++size_;
        } else if (slot.key != key) {
            continue;
        }
        slot.count += count;
        return;
    }
}

std::vector<KeyCounts::Slot> KeyCounts::sorted() const {
    std::vector<Slot> found;
    for (const Slot& slot : slots_)
        if (slot.count > 0) found.push_back(slot);
    std::sort(found.begin(), found.end(), [](const Slot& a, const Slot& b) { return a.key < b.key; });
    return found;
}

void ValueCounts::add(std::span<const std::uint64_t> keys) {
    for (const std::uint64_t key : keys) {
        if (key == kMissingKey) continue;
        ++n_observed_;
        if (dropped_bits_ == kDroppedOfFine) {
            count_fine(key, 1);
            continue;
        }
        keys_.add(fill(key, dropped_bits_), 1);
        if (keys_.size() > max_keys_) drop_bits();
    }
}

ValueCounts::State ValueCounts::state() const {
    State counted{dropped_bits_, {}, {}};
    for (const auto& [key, count] : prefixes()) {
        counted.keys.push_back(key);
        counted.counts.push_back(count);
    }
    return counted;
}

void ValueCounts::add(const State& counted) {
    const bool is_known = counted.dropped_bits == 0 || counted.dropped_bits == kDroppedOfHalves ||
                          counted.dropped_bits == kDroppedOfFine;
    require(is_known && counted.keys.size() == counted.counts.size(), "not the counts of a column");
    while (dropped_bits_ < counted.dropped_bits) drop_bits();
    for (std::size_t i = 0; i < counted.keys.size(); ++i) {
        n_observed_ += counted.counts[i];
        if (dropped_bits_ == kDroppedOfFine) {
            count_fine(counted.keys[i], counted.counts[i]);
            continue;
        }
        keys_.add(fill(counted.keys[i], dropped_bits_), counted.counts[i]);
        if (keys_.size() > max_keys_) drop_bits();
    }
}

void ValueCounts::count_fine(std::uint64_t key, std::uint64_t count) {
    std::uint32_t& slot = fine_of_coarse_[key >> (64 - BinningRule::kCoarseBits)];
    if (slot == 0) {
        fine_.emplace_back().fill(0);
        slot = static_cast<std::uint32_t>(fine_.size());
    }
    fine_[slot - 1][(key >> kDroppedOfFine) % kFineValues] += count;
}

/// Count shorter prefixes from now on.
void ValueCounts::drop_bits() {
    const KeyCounts before = std::exchange(keys_, {});
    dropped_bits_ = dropped_bits_ == 0 ? kDroppedOfHalves : kDroppedOfFine;
    if (dropped_bits_ == kDroppedOfFine) fine_of_coarse_.resize(std::size_t{1} << BinningRule::kCoarseBits);
    for (const auto& [key, count] : before.sorted()) {
        if (dropped_bits_ == kDroppedOfFine)
            count_fine(key, count);
        else
            keys_.add(fill(key, dropped_bits_), count);
    }
    if (dropped_bits_ == kDroppedOfHalves && keys_.size() > max_keys_) drop_bits();
}

std::vector<Prefix> ValueCounts::prefixes() const {
    if (dropped_bits_ < kDroppedOfFine) return keys_.sorted();
    std::vector<Prefix> found;
    for (std::size_t coarse = 0; coarse < fine_of_coarse_.size(); ++coarse) {
        if (fine_of_coarse_[coarse] == 0) continue;
        for (std::size_t k = 0; k < kFineValues; ++k)
            if (const std::uint64_t count = fine_[fine_of_coarse_[coarse] - 1][k]; count > 0)
                found.push_back({fill((coarse * kFineValues + k) << kDroppedOfFine, kDroppedOfFine), count});
    }
    return found;
}

std::optional<std::vector<std::uint64_t>> ValueCounts::bounds(std::size_t n_rows,
                                                              std::uint32_t max_bins) const {
    const BinningRule rule{max_bins};
    const std::vector<Prefix> counted = prefixes();
    if (rule.counts_prefixes(n_rows)) {
        const auto coarse_or_fine =
            joined(joined(counted, kDroppedOfFine), 64 - BinningRule::kCoarseBits,
                   [&](std::uint64_t count) { return !rule.is_crowded(count, n_observed_); });
        if (rule.are_fine(runs_of(coarse_or_fine), n_observed_))
            return bounds_of(coarse_or_fine, n_observed_, max_bins);
    }
    if (rule.uses_halves() && dropped_bits_ <= kDroppedOfHalves) {
        const auto halves = joined(counted, kDroppedOfHalves);
        if (rule.are_fine(runs_of(halves), n_observed_)) return bounds_of(halves, n_observed_, max_bins);
    }
    if (dropped_bits_ == 0) return bounds_of(counted, n_observed_, max_bins);
    return {};
}

}  // namespace tritree
