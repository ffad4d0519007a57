#include "data/binning.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "common/parallel.hpp"
#include "common/uninitialized_vector.hpp"
#include "data/bin_search.hpp"
#include "data/quantile_bins.hpp"

namespace tritree {
namespace {

#if defined(__GNUC__)
inline void prefetch(const void* address) { __builtin_prefetch(address); }
#else
inline void prefetch(const void*) {}
#endif

struct KeyedRow {
    std::uint64_t key;
    std::uint32_t row;
};

/// The upper half of a key, with its row.
struct HalfKeyedRow {
    std::uint32_t half, row;
};

std::uint64_t sort_key(const KeyedRow& item) { return item.key; }
std::uint32_t sort_key(const HalfKeyedRow& item) { return item.half; }
std::uint64_t sort_key(std::uint64_t key) { return key; }
std::uint32_t sort_key(std::uint32_t key) { return key; }

/// Radix sort, 11 bits at a time; digits that all items share are skipped.
template <class Item>
void radix_sort(std::vector<Item>& items, std::vector<Item>& buffer) {
    if (items.size() < 1024) {
        std::sort(items.begin(), items.end(),
                  [](const Item& a, const Item& b) { return sort_key(a) < sort_key(b); });
        return;
    }
    constexpr int kBits = 11, kBuckets = 1 << kBits;
    constexpr int kDigits = 8 * static_cast<int>(sizeof(sort_key(items[0]))) / kBits + 1;
    std::vector<std::array<std::uint32_t, kBuckets>> counts(kDigits);
    for (const Item& item : items)
        for (int d = 0; d < kDigits; ++d) ++counts[d][(sort_key(item) >> (d * kBits)) & (kBuckets - 1)];
    buffer.resize(items.size());
    for (int d = 0; d < kDigits; ++d) {
        auto& count = counts[d];
        if (count[(sort_key(items[0]) >> (d * kBits)) & (kBuckets - 1)] == items.size()) continue;
        std::exclusive_scan(count.begin(), count.end(), count.begin(), 0u);
        for (const Item& item : items)
            buffer[count[(sort_key(item) >> (d * kBits)) & (kBuckets - 1)]++] = item;
        items.swap(buffer);
    }
}

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

template <class Item>
std::vector<std::size_t> bin_ends_of(const std::vector<Item>& sorted, std::size_t n_distinct,
                                     std::size_t max_bins) {
    return bin_ends(sorted.size(), n_distinct, max_bins,
                    [&](std::size_t begin) { return run_end(sorted, begin); });
}

/// Buffers that a thread reuses for all its columns: allocating them for each would take longer than sorting.
struct Buffers {
    UninitializedVector<double> values;       // of a group of columns, column by column
    UninitializedVector<std::uint64_t> keys;  // of a column
    std::vector<std::uint64_t> sorted, sorted_buffer;
    std::vector<std::uint32_t> halves, halves_buffer;
    std::vector<HalfKeyedRow> half_rows, half_rows_buffer;
    std::vector<KeyedRow> rows, rows_buffer;
    std::vector<std::uint32_t> counts, fine_counts;
};

/// Fill `keys` with the column's keys, missing ones as kMissingKey.
template <class T>
void read_keys_of(const ColumnView& view, std::size_t column, std::span<std::uint64_t> keys) {
    for (std::size_t row = 0; row < keys.size(); ++row) {
        const double value = static_cast<double>(view.at<T>(row));
        if (std::isinf(value)) throw InfiniteValueError(column, row, value);
        keys[row] = std::isnan(value) ? kMissingKey : key_of(value);
    }
}

/// Bin a column by sorting its rows: one bin per distinct value unless there are more than `max_bins`.
BinnedColumn bin_by_sorting(Buffers& buffers, std::uint32_t max_bins) {
    const auto& keys = buffers.keys;
    auto& sorted = buffers.rows;
    sorted.clear();
    for (std::size_t row = 0; row < keys.size(); ++row)
        if (keys[row] != kMissingKey) sorted.push_back({keys[row], static_cast<std::uint32_t>(row)});
    radix_sort(sorted, buffers.rows_buffer);
    const auto ends = bin_ends_of(sorted, count_runs(sorted).distinct, max_bins);

    BinnedColumn column;
    column.n_bins = static_cast<std::uint32_t>(ends.size());
    allocate_bins(column, keys.size());
    write_bins(column, [&](auto* bins) {
        using Bin = std::remove_reference_t<decltype(*bins)>;
        std::size_t item = 0;
        for (std::size_t bin = 0; bin < ends.size(); ++bin) {
            column.bin_min.push_back(value_of(sorted[item].key));
            column.bin_max.push_back(value_of(sorted[ends[bin] - 1].key));
            for (; item < ends[bin]; ++item) bins[sorted[item].row] = static_cast<Bin>(bin);
        }
    });
    return column;
}

/// Bin a column given the largest key of each bin.
BinnedColumn bin_by_search(std::span<const std::uint64_t> keys, const std::vector<std::uint64_t>& bounds) {
    SearchBinner binner(bounds, keys.size());
    binner.write(keys, 0);
    return std::move(binner).finish(true);
}

/// Bin a short column by sorting the upper halves of its keys, which takes two thirds of the time of sorting
/// all of them and searching. Return nothing if they neither distinguish values well enough nor have one key
/// each.
std::optional<BinnedColumn> bin_by_halves(Buffers& buffers, std::uint32_t max_bins) {
    const auto& keys = buffers.keys;
    auto& sorted = buffers.half_rows;
    sorted.clear();
    for (std::size_t row = 0; row < keys.size(); ++row)
        if (keys[row] != kMissingKey)
            sorted.push_back({static_cast<std::uint32_t>(keys[row] >> 32), static_cast<std::uint32_t>(row)});
    radix_sort(sorted, buffers.half_rows_buffer);
    const Runs runs = count_runs(sorted);
    if (!BinningRule{max_bins}.are_fine(runs, sorted.size())) {
        for (std::size_t i = 1; i < sorted.size(); ++i)
            if (sorted[i].half == sorted[i - 1].half && keys[sorted[i].row] != keys[sorted[i - 1].row])
                return {};
    }
    const auto ends = bin_ends_of(sorted, runs.distinct, max_bins);
    BinnedColumn column;
    column.n_bins = static_cast<std::uint32_t>(ends.size());
    allocate_bins(column, keys.size());
    write_bins(column, [&](auto* bins) {
        using Bin = std::remove_reference_t<decltype(*bins)>;
        std::size_t begin = 0;
        for (std::size_t bin = 0; bin < ends.size(); begin = ends[bin++]) {
            const std::size_t end = ends[bin];
            for (std::size_t i = begin; i < end; ++i) bins[sorted[i].row] = static_cast<Bin>(bin);
            // the smallest key is among those with the smallest half, the largest among those with the
            // largest
            std::uint64_t min = kMissingKey, max = 0;
            for (std::size_t i = begin; i < end && sorted[i].half == sorted[begin].half; ++i)
                min = std::min(min, keys[sorted[i].row]);
            for (std::size_t i = end; i-- > begin && sorted[i].half == sorted[end - 1].half;)
                max = std::max(max, keys[sorted[i].row]);
            column.bin_min.push_back(value_of(min));
            column.bin_max.push_back(value_of(max));
        }
    });
    return column;
}

/// Return the largest key of each of at most `max_bins` bins; `may_use_halves` of the keys where they
/// suffice.
std::vector<std::uint64_t> quantile_bounds(Buffers& buffers, std::uint32_t max_bins, bool may_use_halves) {
    std::vector<std::uint64_t> bounds;
    if (may_use_halves) {
        auto& halves = buffers.halves;
        halves.clear();
        for (const std::uint64_t key : buffers.keys)
            if (key != kMissingKey) halves.push_back(static_cast<std::uint32_t>(key >> 32));
        radix_sort(halves, buffers.halves_buffer);
        const Runs coarse = count_runs(halves);
        if (BinningRule{max_bins}.are_fine(coarse, halves.size())) {
            for (const std::size_t end : bin_ends_of(halves, coarse.distinct, max_bins))
                bounds.push_back(std::uint64_t{halves[end - 1]} << 32 | 0xffffffffu);
            return bounds;
        }
    }
    auto& sorted = buffers.sorted;
    sorted.clear();
    for (const std::uint64_t key : buffers.keys)
        if (key != kMissingKey) sorted.push_back(key);
    radix_sort(sorted, buffers.sorted_buffer);
    for (const std::size_t end : bin_ends_of(sorted, count_runs(sorted).distinct, max_bins))
        bounds.push_back(sorted[end - 1]);
    return bounds;
}

/// Bins a long column without sorting it: counts keys by their first 16 bits, and frequent prefixes by 8
/// more; bins end between prefixes. All rows are counted, so their order does not matter. A million numbers
/// take half the time of sorting and searching, and no memory for sorting.
class CountingBinner {
  public:
    CountingBinner(Buffers& buffers, std::uint32_t max_bins) : buffers_(buffers), rule_{max_bins} {}

    /// Return the binned column, or nothing if 24 bits do not separate its keys well enough.
    std::optional<BinnedColumn> bin() {
        count();
        std::vector<std::uint32_t> runs = find_runs();
        const std::uint32_t longest = runs.empty() ? 0 : *std::max_element(runs.begin(), runs.end());
        if (!rule_.are_fine({runs.size(), longest}, n_observed_)) return {};
        std::size_t run = 0;
        const auto ends = bin_ends(n_observed_, runs.size(), rule_.max_bins,
                                   [&](std::size_t begin) { return begin + runs[run++]; });
        assign_bins(ends);
        return write(ends.size());
    }

  private:
    static constexpr int kCoarse = BinningRule::kCoarseBits, kFine = BinningRule::kFineBits;
    static constexpr std::size_t kFineValues = std::size_t{1} << kFine;
    static std::size_t coarse(std::uint64_t key) { return key >> (64 - kCoarse); }
    static std::size_t fine(std::uint64_t key) { return (key >> (64 - kCoarse - kFine)) % kFineValues; }
    static constexpr std::size_t kMissing = (std::size_t{1} << kCoarse) - 1;  // not the prefix of any number

    void count() {
        auto& counts = buffers_.counts;
        counts.assign(std::size_t{1} << kCoarse, 0);
        for (const std::uint64_t key : buffers_.keys) ++counts[coarse(key)];
        n_observed_ = buffers_.keys.size() - counts[kMissing];
        // Slot 0 is for prefixes that need no further bits, slot 1 for missing values.
        slots_.assign(counts.size(), 0);
        slots_[kMissing] = 1;
        std::size_t n_slots = 2;
        for (std::size_t c = 0; c < kMissing; ++c)
            if (rule_.is_crowded(counts[c], n_observed_)) slots_[c] = static_cast<std::uint16_t>(n_slots++);
        auto& fine_counts = buffers_.fine_counts;
        fine_counts.assign(n_slots * kFineValues, 0);
        for (const std::uint64_t key : buffers_.keys)
            ++fine_counts[slots_[coarse(key)] * kFineValues + fine(key)];
    }

    /// Call `f(coarse, fine, n_rows)` for every prefix with rows, in order; fine is kFineValues where the
    /// coarse prefix is not refined.
    template <class F>
    void for_each_prefix(F&& f) const {
        for (std::size_t c = 0; c < kMissing; ++c) {
            if (buffers_.counts[c] == 0) continue;
            if (slots_[c] == 0) {
                f(c, kFineValues, buffers_.counts[c]);
                continue;
            }
            for (std::size_t k = 0; k < kFineValues; ++k)
                if (const std::uint32_t rows = buffers_.fine_counts[slots_[c] * kFineValues + k]; rows > 0)
                    f(c, k, rows);
        }
    }

    std::vector<std::uint32_t> find_runs() const {
        std::vector<std::uint32_t> runs;
        for_each_prefix([&](std::size_t, std::size_t, std::uint32_t rows) { runs.push_back(rows); });
        return runs;
    }

    /// Assign a bin to every prefix.
    void assign_bins(const std::vector<std::size_t>& ends) {
        coarse_bins_.assign(slots_.size(), 0);
        fine_bins_.assign(buffers_.fine_counts.size(), 0);
        std::fill_n(fine_bins_.begin() + kFineValues, kFineValues, static_cast<std::uint8_t>(ends.size()));
        std::size_t rows = 0, bin = 0;
        for_each_prefix([&](std::size_t c, std::size_t k, std::uint32_t n) {
            if (rows >= ends[bin]) ++bin;
            rows += n;
            (k == kFineValues ? coarse_bins_[c] : fine_bins_[slots_[c] * kFineValues + k]) =
                static_cast<std::uint8_t>(bin);
        });
    }

    BinnedColumn write(std::size_t n_bins) const {
        BinnedColumn column;
        column.n_bins = static_cast<std::uint32_t>(n_bins);
        column.bins8.resize(buffers_.keys.size());
        std::vector<std::uint64_t> bin_min(n_bins + 1, kMissingKey), bin_max(n_bins + 1, 0);
        for (std::size_t row = 0; row < buffers_.keys.size(); ++row) {
            const std::uint64_t key = buffers_.keys[row];
            const std::uint16_t slot = slots_[coarse(key)];
            const std::uint8_t bin =
                slot == 0 ? coarse_bins_[coarse(key)] : fine_bins_[slot * kFineValues + fine(key)];
            column.bins8[row] = bin;
            bin_min[bin] = std::min(bin_min[bin], key);
            bin_max[bin] = std::max(bin_max[bin], key);
        }
        for (std::size_t bin = 0; bin < n_bins; ++bin) {
            column.bin_min.push_back(value_of(bin_min[bin]));
            column.bin_max.push_back(value_of(bin_max[bin]));
        }
        return column;
    }

    Buffers& buffers_;
    BinningRule rule_;
    std::size_t n_observed_ = 0;
    std::vector<std::uint16_t> slots_;
    std::vector<std::uint8_t> coarse_bins_, fine_bins_;
};

BinnedColumn bin_numeric(const ColumnView& view, std::size_t number, std::uint32_t max_bins,
                         Buffers& buffers) {
    read_keys(view, number, buffers.keys);
    const BinningRule rule{max_bins};
    if (!rule.uses_halves()) return bin_by_sorting(buffers, max_bins);
    const bool is_short = buffers.keys.size() < BinningRule::kMinCountedRows;
    if (is_short) {
        if (auto column = bin_by_halves(buffers, max_bins)) return *std::move(column);
    } else if (rule.counts_prefixes(buffers.keys.size())) {
        if (auto column = CountingBinner(buffers, max_bins).bin()) return *std::move(column);
    }
    return bin_by_search(buffers.keys, quantile_bounds(buffers, max_bins, !is_short));
}

BinnedColumn bin_categorical(const ColumnView& view, std::size_t n_rows, std::int64_t n_categories) {
    BinnedColumn column;
    column.categorical = true;
    column.n_bins = static_cast<std::uint32_t>(n_categories);
    allocate_bins(column, n_rows);
    write_categories(view, n_rows, column, 0);
    return column;
}

/// Return whether the columns are those of a row-major matrix of doubles.
bool is_row_major(const TableView& table) {
    const auto& columns = table.columns;
    for (std::size_t j = 0; j < columns.size(); ++j)
        if (columns[j].type != ColumnView::Type::Float64 || columns[j].stride != columns[0].stride ||
            columns[j].data != columns[0].data + j * sizeof(double))
            return false;
    return !columns.empty();
}

/// Return how many columns of a table are copied together before they are binned. Reading a single column of
/// a wide row-major matrix takes a cache line, and maybe a page, per row.
std::size_t columns_read_together(const TableView& table) {
    constexpr std::size_t kMaxColumns = 32, kMaxValues = std::size_t{1} << 19;  // 4 MB
    constexpr std::ptrdiff_t kMinStride = 4 * 64;  // in bytes; hardware prefetches narrower rows
    if (table.n_rows == 0 || !is_row_major(table) || table.columns[0].stride < kMinStride) return 1;
    return std::clamp<std::size_t>(kMaxValues / table.n_rows, 1, kMaxColumns);
}

/// Copy adjacent columns of a row-major matrix into `values`, column by column.
void copy_columns(const TableView& table, std::size_t begin, std::size_t end,
                  UninitializedVector<double>& values) {
    constexpr std::size_t kTile = 16;  // rows whose values stay in the L1 cache
    const ColumnView& first = table.columns[begin];
    const std::size_t n_rows = table.n_rows, n_columns = end - begin;
    values.resize(n_rows * n_columns);
    const auto values_at = [&](std::size_t row) {
        return reinterpret_cast<const double*>(first.data + static_cast<std::ptrdiff_t>(row) * first.stride);
    };
    for (std::size_t row = 0; row < n_rows; row += kTile) {
        const std::size_t n = std::min(kTile, n_rows - row);
        for (std::size_t ahead = row + n; ahead < std::min(row + n + kTile, n_rows); ++ahead)
            for (std::size_t j = 0; j < n_columns; j += 8) prefetch(values_at(ahead) + j);
        for (std::size_t j = 0; j < n_columns; ++j)
            for (std::size_t i = 0; i < n; ++i) values[j * n_rows + row + i] = values_at(row + i)[j];
    }
}

}  // namespace

void read_keys(const ColumnView& view, std::size_t column, std::span<std::uint64_t> keys) {
    view.type == ColumnView::Type::Float32 ? read_keys_of<float>(view, column, keys)
                                           : read_keys_of<double>(view, column, keys);
}

void write_categories(const ColumnView& view, std::size_t n_rows, BinnedColumn& column,
                      std::size_t first_row) {
    const auto n_categories = static_cast<std::int64_t>(column.n_bins);
    write_bins(column, [&](auto* bins) {
        using Bin = std::remove_reference_t<decltype(*bins)>;
        for (std::size_t row = 0; row < n_rows; ++row) {
            const auto category = view.at<std::int32_t>(row);
            if (category >= n_categories) throw std::invalid_argument("category number out of range");
            if (category >= 0) bins[first_row + row] = static_cast<Bin>(category);
        }
    });
}

std::vector<std::uint64_t> sorted_bounds(const ColumnView& view, std::size_t n_rows, std::uint32_t max_bins) {
    Buffers buffers;
    buffers.keys.resize(n_rows);
    read_keys(view, 0, buffers.keys);
    max_bins = std::clamp(max_bins, 2u, kMaxBins);
    return quantile_bounds(buffers, max_bins, BinningRule{max_bins}.uses_halves());
}

double BinnedColumn::threshold(std::uint32_t lower, std::uint32_t upper) const {
    const double middle = std::midpoint(bin_max[lower], bin_min[upper]);
    return middle > bin_max[lower] ? middle : bin_min[upper];
}

namespace {

template <class T>
bool any_infinite(const ColumnView& view, std::size_t begin, std::size_t end) {
    bool infinite = false;
    if (view.stride == sizeof(T)) {
        const T* values = reinterpret_cast<const T*>(view.data);
        for (std::size_t row = begin; row < end; ++row) infinite |= std::isinf(values[row]);
    } else {
        for (std::size_t row = begin; row < end; ++row) infinite |= std::isinf(view.at<T>(row));
    }
    return infinite;
}

template <class T>
void check_finite_column(const ColumnView& view, std::size_t column, std::size_t begin, std::size_t end) {
    if (!any_infinite<T>(view, begin, end)) return;
    for (std::size_t row = begin; row < end; ++row)
        if (std::isinf(view.at<T>(row)))
            throw InfiniteValueError(column, row, static_cast<double>(view.at<T>(row)));
}

}  // namespace

void check_finite(const TableView& table, std::size_t begin, std::size_t end) {
    if (is_row_major(table)) {  // the most common layout: twice as fast row by row
        bool infinite = false;
        for (std::size_t row = begin; row < end; ++row) {
            const auto* values = reinterpret_cast<const double*>(
                table.columns[0].data + static_cast<std::ptrdiff_t>(row) * table.columns[0].stride);
            for (std::size_t j = 0; j < table.columns.size(); ++j) infinite |= std::isinf(values[j]);
        }
        if (!infinite) return;
    }
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
        const ColumnView& view = table.columns[j];
        if (view.type == ColumnView::Type::Float64)
            check_finite_column<double>(view, j, begin, end);
        else if (view.type == ColumnView::Type::Float32)
            check_finite_column<float>(view, j, begin, end);
    }
}

BinnedColumns bin_columns(const TableView& table, const std::vector<std::int64_t>& n_categories,
                          std::uint32_t max_bins, int n_threads) {
    const auto& [columns, n_rows] = table;
    if (n_rows >= std::size_t{1} << 31) throw std::length_error("more than 2,147,483,647 rows");
    BinnedColumns binned{n_rows, std::vector<BinnedColumn>(columns.size())};
    max_bins = std::clamp(max_bins, 2u, kMaxBins);
    n_threads = threads_for(32 * n_rows * columns.size(), n_threads);
    const std::size_t group = columns_read_together(table);
    const std::size_t n_groups = (columns.size() + group - 1) / group;
    std::atomic<std::size_t> next{0};
    const std::size_t n_workers = std::min<std::size_t>(n_groups, std::max(n_threads, 1));
    std::vector<std::exception_ptr> errors(columns.size());
    // Memory that a worker frees may stay with it, so this thread, which goes on, allocates the large
    // buffers.
    std::vector<Buffers> buffers_of(n_workers);
    for (Buffers& buffers : buffers_of) buffers.keys.resize(table.n_rows);
    parallel_for(n_workers, n_threads, [&](std::size_t worker) {
        Buffers& buffers = buffers_of[worker];
        const auto bin_column = [&](std::size_t j, const ColumnView& view) {
            try {
                if (n_categories[j] > kMaxBins) throw std::length_error("too many categories");
                binned.columns[j] = n_categories[j] >= 0
                                        ? bin_categorical(view, table.n_rows, n_categories[j])
                                        : bin_numeric(view, j, max_bins, buffers);
            } catch (...) {
                errors[j] = std::current_exception();
            }
        };
        for (std::size_t g = next++; g < n_groups; g = next++) {
            const std::size_t begin = g * group, end = std::min(begin + group, table.columns.size());
            if (group > 1) copy_columns(table, begin, end, buffers.values);
            for (std::size_t j = begin; j < end; ++j) {
                ColumnView view = table.columns[j];
                if (group > 1) {
                    view.data = reinterpret_cast<const char*>(&buffers.values[(j - begin) * table.n_rows]);
                    view.stride = sizeof(double);
                }
                bin_column(j, view);
            }
        }
    });
    for (const std::exception_ptr& error : errors)  // the first column's, whatever the threads
        if (error) std::rethrow_exception(error);
    return binned;
}

}  // namespace tritree
