#include "codes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>

#include "parallel.hpp"

namespace tritree {
namespace {

// A value's key is an unsigned integer with the same order, so that values can be sorted by radix.
constexpr std::uint64_t kMissingKey = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

std::uint64_t key_of(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0.0 becomes 0.0
    return bits & kSign ? ~bits : bits | kSign;
}

double value_of(std::uint64_t key) { return std::bit_cast<double>(key & kSign ? key ^ kSign : ~key); }

struct KeyedRow {
    std::uint64_t key;
    std::uint32_t row;
};

std::uint64_t sort_key(const KeyedRow& item) { return item.key; }
std::uint64_t sort_key(std::uint64_t key) { return key; }
std::uint64_t sort_key(std::uint32_t key) { return key; }

/// Sort by key, 11 bits at a time; digits that all items share cost nothing.
template <class Item>
void radix_sort(std::vector<Item>& items, std::vector<Item>& other) {
    if (items.size() < 1024) {
        std::sort(items.begin(), items.end(),
                  [](const Item& a, const Item& b) { return sort_key(a) < sort_key(b); });
        return;
    }
    constexpr int kBits = 11, kBuckets = 1 << kBits;
    constexpr int kDigits = (sizeof(decltype(items[0])) == 4 ? 32 : 64) / kBits + 1;
    std::vector<std::array<std::uint32_t, kBuckets>> counts(kDigits);
    for (const Item& item : items)
        for (int d = 0; d < kDigits; ++d) ++counts[d][(sort_key(item) >> (d * kBits)) & (kBuckets - 1)];
    other.resize(items.size());
    for (int d = 0; d < kDigits; ++d) {
        auto& count = counts[d];
        if (count[(sort_key(items[0]) >> (d * kBits)) & (kBuckets - 1)] == items.size()) continue;
        std::exclusive_scan(count.begin(), count.end(), count.begin(), 0u);
        for (const Item& item : items)
            other[count[(sort_key(item) >> (d * kBits)) & (kBuckets - 1)]++] = item;
        items.swap(other);
    }
}

/// How many distinct keys a sorted column has, and how many rows the commonest of them.
struct Runs {
    std::size_t distinct = 0, longest = 0;
};

template <class Item>
std::size_t run_end(const std::vector<Item>& sorted, std::size_t begin) {
    std::size_t end = begin + 1;
    while (end < sorted.size() && sort_key(sorted[end]) == sort_key(sorted[begin])) ++end;
    return end;
}

template <class Item>
Runs count_runs(const std::vector<Item>& sorted) {
    Runs runs;
    for (std::size_t begin = 0, end; begin < sorted.size(); begin = end) {
        end = run_end(sorted, begin);
        ++runs.distinct;
        runs.longest = std::max(runs.longest, end - begin);
    }
    return runs;
}

/// Return where each of at most `max_bins` bins ends, as a number of rows. `next_run(row)` returns the end of
/// the run of equal keys that begins at a row. Every bin takes its share of the rows that are left, so that a
/// value that fills more than one bin does not cost the others theirs.
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

template <class Item>
std::vector<std::size_t> bin_ends(const std::vector<Item>& sorted, std::size_t n_distinct,
                                  std::size_t max_bins) {
    return bin_ends(sorted.size(), n_distinct, max_bins,
                    [&](std::size_t begin) { return run_end(sorted, begin); });
}

/// Buffers that are used for one column after another: fresh memory costs more than the sorting.
struct Scratch {
    std::vector<std::uint64_t> keys, sorted, sorted_other;
    std::vector<std::uint32_t> halves, halves_other;
    std::vector<KeyedRow> rows, rows_other;
    std::vector<std::uint32_t> counts, fine_counts;
};

/// Fill `keys` with the column's keys, missing ones as kMissingKey.
template <class T>
void read_keys(const ColumnView& view, std::size_t column, std::vector<std::uint64_t>& keys) {
    for (std::size_t row = 0; row < keys.size(); ++row) {
        const double value = static_cast<double>(view.at<T>(row));
        if (std::isinf(value)) throw BadValue(column, row, value);
        keys[row] = std::isnan(value) ? kMissingKey : key_of(value);
    }
}

void allocate(CodedColumn& column, std::size_t n_rows) {
    if (column.is_narrow())
        column.narrow.assign(n_rows, static_cast<std::uint8_t>(column.missing()));
    else
        column.wide.assign(n_rows, static_cast<std::uint16_t>(column.missing()));
}

template <class F>
void write_codes(CodedColumn& column, F&& f) {
    column.is_narrow() ? f(column.narrow.data()) : f(column.wide.data());
}

/// Code a column by sorting its rows: one code per distinct value while they are not too many.
CodedColumn code_by_sorting(Scratch& scratch, std::uint32_t max_bins) {
    const auto& keys = scratch.keys;
    auto& sorted = scratch.rows;
    sorted.clear();
    for (std::size_t row = 0; row < keys.size(); ++row)
        if (keys[row] != kMissingKey) sorted.push_back({keys[row], static_cast<std::uint32_t>(row)});
    radix_sort(sorted, scratch.rows_other);
    const auto ends = bin_ends(sorted, count_runs(sorted).distinct, max_bins);

    CodedColumn column;
    column.n_codes = static_cast<std::uint32_t>(ends.size());
    allocate(column, keys.size());
    write_codes(column, [&](auto* codes) {
        using Code = std::remove_reference_t<decltype(*codes)>;
        std::size_t item = 0;
        for (std::size_t bin = 0; bin < ends.size(); ++bin) {
            column.smallest.push_back(value_of(sorted[item].key));
            column.largest.push_back(value_of(sorted[ends[bin] - 1].key));
            for (; item < ends[bin]; ++item) codes[sorted[item].row] = static_cast<Code>(bin);
        }
    });
    return column;
}

/// Searches a sorted table for many keys at once.
class Finder {
  public:
    explicit Finder(const std::vector<std::uint64_t>& bounds)
        : n_bounds_(static_cast<std::uint32_t>(bounds.size())), table_(bounds) {
        table_.resize(std::bit_ceil(bounds.size() + 1),
                      kMissingKey);  // a power of two: every search takes as long
    }

    /// Write down for each of `kLanes` keys the number of bounds that are smaller than it.
    static constexpr std::size_t kLanes = 8;
    void find(const std::uint64_t* keys, std::uint32_t* found) const {
        // Without branches to guess wrong, and with eight searches under way at once: 4 times as fast as one
        // by one.
        std::fill_n(found, kLanes, 0u);
        for (auto half = static_cast<std::uint32_t>(table_.size() / 2); half > 0; half /= 2)
            for (std::size_t lane = 0; lane < kLanes; ++lane)
                found[lane] += half * static_cast<std::uint32_t>(table_[found[lane] + half - 1] < keys[lane]);
        for (std::size_t lane = 0; lane < kLanes; ++lane) found[lane] = std::min(found[lane], n_bounds_);
    }

  private:
    std::uint32_t n_bounds_;
    std::vector<std::uint64_t> table_;
};

/// Code a column given the largest key that each bin may hold.
CodedColumn code_by_search(const std::vector<std::uint64_t>& keys, const std::vector<std::uint64_t>& bounds) {
    CodedColumn column;
    column.n_codes = static_cast<std::uint32_t>(bounds.size());
    allocate(column, keys.size());
    std::vector<std::uint64_t> smallest(bounds.size() + 1, kMissingKey), largest(bounds.size() + 1, 0);
    const Finder finder(bounds);
    write_codes(column, [&](auto* codes) {
        using Code = std::remove_reference_t<decltype(*codes)>;
        std::array<std::uint64_t, Finder::kLanes> lanes{};
        std::array<std::uint32_t, Finder::kLanes> bins;
        for (std::size_t row = 0; row < keys.size(); row += Finder::kLanes) {
            const std::size_t n = std::min(Finder::kLanes, keys.size() - row);
            std::copy_n(&keys[row], n, lanes.begin());
            finder.find(lanes.data(), bins.data());  // missing: beyond the last bin
            for (std::size_t i = 0; i < n; ++i) {
                codes[row + i] = static_cast<Code>(bins[i]);
                smallest[bins[i]] = std::min(smallest[bins[i]], lanes[i]);
                largest[bins[i]] = std::max(largest[bins[i]], lanes[i]);
            }
        }
    });
    for (std::uint32_t bin = 0; bin < column.n_codes; ++bin) {
        column.smallest.push_back(value_of(smallest[bin]));
        column.largest.push_back(value_of(largest[bin]));
    }
    return column;
}

/// Return the largest key of each of at most `max_bins` bins.
std::vector<std::uint64_t> quantile_bounds(Scratch& scratch, std::uint32_t max_bins) {
    std::vector<std::uint64_t> bounds;
    // The upper halves of the keys sort in half the time, and tell values apart to one part in a million.
    // They will do unless many values share one of them.
    auto& halves = scratch.halves;
    halves.clear();
    for (const std::uint64_t key : scratch.keys)
        if (key != kMissingKey) halves.push_back(static_cast<std::uint32_t>(key >> 32));
    radix_sort(halves, scratch.halves_other);
    const Runs coarse = count_runs(halves);
    if (coarse.distinct >= 8 * std::size_t{max_bins} && coarse.longest * max_bins <= halves.size()) {
        for (const std::size_t end : bin_ends(halves, coarse.distinct, max_bins))
            bounds.push_back(std::uint64_t{halves[end - 1]} << 32 | 0xffffffffu);
        return bounds;
    }
    auto& sorted = scratch.sorted;
    sorted.clear();
    for (const std::uint64_t key : scratch.keys)
        if (key != kMissingKey) sorted.push_back(key);
    radix_sort(sorted, scratch.sorted_other);
    for (const std::size_t end : bin_ends(sorted, count_runs(sorted).distinct, max_bins))
        bounds.push_back(sorted[end - 1]);
    return bounds;
}

/// Codes a long column without sorting it: counts keys by their first bits, and where they are many by the
/// bits that follow; bins end between such parts. All rows are counted, so their order does not matter. Of a
/// million numbers it takes half the time of sorting and searching, and no memory for sorting.
class CodingByCounts {
  public:
    CodingByCounts(Scratch& scratch, std::uint32_t max_bins) : scratch_(scratch), max_bins_(max_bins) {}

    /// Return the coded column, or nothing if its keys are too much alike to be told apart by so few bits.
    std::optional<CodedColumn> code() {
        count();
        std::vector<std::uint32_t> runs = find_runs();
        const std::uint32_t longest = runs.empty() ? 0 : *std::max_element(runs.begin(), runs.end());
        if (runs.size() < kFineness * max_bins_ || std::size_t{longest} * max_bins_ > n_observed_) return {};
        std::size_t run = 0;
        const auto ends = bin_ends(n_observed_, runs.size(), max_bins_,
                                   [&](std::size_t begin) { return begin + runs[run++]; });
        number_parts(ends);
        return write(ends.size());
    }

  private:
    static constexpr int kCoarse = 16, kFine = 8;  // bits
    static constexpr std::size_t kParts = std::size_t{1} << kFine;
    static constexpr std::size_t kFineness = 8;  // a bin has so many parts, on average and at least
    static std::size_t coarse(std::uint64_t key) { return key >> (64 - kCoarse); }
    static std::size_t fine(std::uint64_t key) { return (key >> (64 - kCoarse - kFine)) % kParts; }
    static constexpr std::size_t kMissing = (std::size_t{1} << kCoarse) - 1;  // no number begins like this

    void count() {
        auto& counts = scratch_.counts;
        counts.assign(std::size_t{1} << kCoarse, 0);
        for (const std::uint64_t key : scratch_.keys) ++counts[coarse(key)];
        n_observed_ = scratch_.keys.size() - counts[kMissing];
        // Slot 0 takes what need not be told apart further, slot 1 what is missing.
        slots_.assign(counts.size(), 0);
        slots_[kMissing] = 1;
        std::size_t n_slots = 2;
        for (std::size_t c = 0; c < kMissing; ++c)
            if (counts[c] * kFineness * max_bins_ > n_observed_)
                slots_[c] = static_cast<std::uint16_t>(n_slots++);
        auto& fine_counts = scratch_.fine_counts;
        fine_counts.assign(n_slots * kParts, 0);
        for (const std::uint64_t key : scratch_.keys) ++fine_counts[slots_[coarse(key)] * kParts + fine(key)];
    }

    /// Call `f(coarse, fine, rows)` for every part with rows, in the order of keys; fine is kParts where a
    /// coarse part is not told apart further.
    template <class F>
    void each_part(F&& f) const {
        for (std::size_t c = 0; c < kMissing; ++c) {
            if (scratch_.counts[c] == 0) continue;
            if (slots_[c] == 0) {
                f(c, kParts, scratch_.counts[c]);
                continue;
            }
            for (std::size_t k = 0; k < kParts; ++k)
                if (const std::uint32_t rows = scratch_.fine_counts[slots_[c] * kParts + k]; rows > 0)
                    f(c, k, rows);
        }
    }

    std::vector<std::uint32_t> find_runs() const {
        std::vector<std::uint32_t> runs;
        each_part([&](std::size_t, std::size_t, std::uint32_t rows) { runs.push_back(rows); });
        return runs;
    }

    /// Write down the bin of every part.
    void number_parts(const std::vector<std::size_t>& ends) {
        coarse_bins_.assign(slots_.size(), 0);
        fine_bins_.assign(scratch_.fine_counts.size(), 0);
        std::fill_n(fine_bins_.begin() + kParts, kParts, static_cast<std::uint8_t>(ends.size()));
        std::size_t rows = 0, bin = 0;
        each_part([&](std::size_t c, std::size_t k, std::uint32_t n) {
            if (rows >= ends[bin]) ++bin;
            rows += n;
            (k == kParts ? coarse_bins_[c] : fine_bins_[slots_[c] * kParts + k]) =
                static_cast<std::uint8_t>(bin);
        });
    }

    CodedColumn write(std::size_t n_bins) const {
        CodedColumn column;
        column.n_codes = static_cast<std::uint32_t>(n_bins);
        column.narrow.resize(scratch_.keys.size());
        std::vector<std::uint64_t> smallest(n_bins + 1, kMissingKey), largest(n_bins + 1, 0);
        for (std::size_t row = 0; row < scratch_.keys.size(); ++row) {
            const std::uint64_t key = scratch_.keys[row];
            const std::uint16_t slot = slots_[coarse(key)];
            const std::uint8_t bin =
                slot == 0 ? coarse_bins_[coarse(key)] : fine_bins_[slot * kParts + fine(key)];
            column.narrow[row] = bin;
            smallest[bin] = std::min(smallest[bin], key);
            largest[bin] = std::max(largest[bin], key);
        }
        for (std::size_t bin = 0; bin < n_bins; ++bin) {
            column.smallest.push_back(value_of(smallest[bin]));
            column.largest.push_back(value_of(largest[bin]));
        }
        return column;
    }

    Scratch& scratch_;
    std::size_t max_bins_, n_observed_ = 0;
    std::vector<std::uint16_t> slots_;
    std::vector<std::uint8_t> coarse_bins_, fine_bins_;
};

CodedColumn code_numbers(const ColumnView& view, std::size_t number, std::uint32_t max_bins,
                         Scratch& scratch) {
    view.type == ColumnView::Type::Float32 ? read_keys<float>(view, number, scratch.keys)
                                           : read_keys<double>(view, number, scratch.keys);
    constexpr std::uint32_t kFewBins = 2048;  // searching a table of this size stays in the first cache
    if (max_bins > kFewBins) return code_by_sorting(scratch, max_bins);
    constexpr std::size_t kLong = std::size_t{1} << 16;  // fewer rows are sorted as fast
    if (scratch.keys.size() >= kLong && max_bins <= 255)
        if (auto column = CodingByCounts(scratch, max_bins).code()) return *std::move(column);
    return code_by_search(scratch.keys, quantile_bounds(scratch, max_bins));
}

CodedColumn code_categories(const ColumnView& view, std::size_t n_rows, std::int64_t n_categories) {
    CodedColumn column;
    column.categorical = true;
    column.n_codes = static_cast<std::uint32_t>(n_categories);
    allocate(column, n_rows);
    write_codes(column, [&](auto* codes) {
        using Code = std::remove_reference_t<decltype(*codes)>;
        for (std::size_t row = 0; row < n_rows; ++row) {
            const auto category = view.at<std::int32_t>(row);
            if (category >= n_categories) throw std::invalid_argument("category number out of range");
            if (category >= 0) codes[row] = static_cast<Code>(category);
        }
    });
    return column;
}

}  // namespace

double CodedColumn::threshold(std::uint32_t low, std::uint32_t high) const {
    const double middle = std::midpoint(largest[low], smallest[high]);
    return middle > largest[low] ? middle : smallest[high];
}

Codes encode(const std::vector<ColumnView>& columns, const std::vector<std::int64_t>& n_categories,
             std::size_t n_rows, std::uint32_t max_bins, int n_threads) {
    if (n_rows >= std::size_t{1} << 31) throw std::length_error("more than 2,147,483,647 rows");
    Codes codes{n_rows, std::vector<CodedColumn>(columns.size())};
    max_bins = std::clamp(max_bins, 2u, kMaxCodes);
    n_threads = threads_for(32 * n_rows * columns.size(), n_threads);
    std::atomic<std::size_t> next{0};
    const std::size_t n_workers = std::min<std::size_t>(columns.size(), std::max(n_threads, 1));
    std::vector<std::exception_ptr> errors(columns.size());
    parallel_for(n_workers, n_threads, [&](std::size_t) {
        Scratch scratch;
        scratch.keys.resize(n_rows);
        for (std::size_t j = next++; j < columns.size(); j = next++) {
            try {
                const bool categorical = n_categories[j] >= 0;
                if (categorical && n_categories[j] > kMaxCodes)
                    throw std::length_error("too many categories");
                codes.columns[j] = categorical ? code_categories(columns[j], n_rows, n_categories[j])
                                               : code_numbers(columns[j], j, max_bins, scratch);
            } catch (...) {
                errors[j] = std::current_exception();
            }
        }
    });
    for (const std::exception_ptr& error : errors)  // the first column's, whatever the threads
        if (error) std::rethrow_exception(error);
    return codes;
}

}  // namespace tritree
