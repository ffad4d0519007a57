#include "codes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

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
void radix_sort(std::vector<Item>& items) {
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
    std::vector<Item> other(items.size());
    for (int d = 0; d < kDigits; ++d) {
        auto& count = counts[d];
        if (count[(sort_key(items[0]) >> (d * kBits)) & (kBuckets - 1)] == items.size()) continue;
        std::exclusive_scan(count.begin(), count.end(), count.begin(), 0u);
        for (const Item& item : items)
            other[count[(sort_key(item) >> (d * kBits)) & (kBuckets - 1)]++] = item;
        items.swap(other);
    }
}

/// The distinct keys of a column, in order, and how many rows have each.
template <class Key>
struct Groups {
    std::vector<Key> keys;
    std::vector<std::uint32_t> rows;

    template <class Item>
    explicit Groups(const std::vector<Item>& sorted) {
        for (const Item& item : sorted) {
            const Key key = static_cast<Key>(sort_key(item));
            if (keys.empty() || keys.back() != key) {
                keys.push_back(key);
                rows.push_back(0);
            }
            ++rows.back();
        }
    }

    /// Return for each bin the number of its last group. Every bin takes its share of the rows that are left,
    /// so that a value that fills more than one bin does not cost the others theirs.
    std::vector<std::uint32_t> bins(std::uint32_t max_bins) const {
        std::vector<std::uint32_t> last;
        const std::size_t n_groups = keys.size();
        std::uint64_t rows_left = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
        std::size_t group = 0;
        for (std::uint64_t bins_left = std::min<std::uint64_t>(max_bins, n_groups); bins_left > 0;
             --bins_left) {
            std::uint64_t taken = 0;
            do taken += rows[group++];
            while (n_groups - group >= bins_left && (bins_left == 1 || taken * bins_left < rows_left));
            last.push_back(static_cast<std::uint32_t>(group - 1));
            rows_left -= taken;
        }
        return last;
    }
};

/// Fill `keys` with the column's keys, missing ones as kMissingKey; return the number observed.
template <class T>
std::size_t read_keys(const ColumnView& view, std::size_t column, std::vector<std::uint64_t>& keys) {
    std::size_t observed = 0;
    for (std::size_t row = 0; row < keys.size(); ++row) {
        const double value = static_cast<double>(view.at<T>(row));
        const bool missing = std::isnan(value);
        if (!missing && std::isinf(value)) throw BadValue(column, row, value);
        keys[row] = missing ? kMissingKey : key_of(value);
        observed += !missing;
    }
    return observed;
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
CodedColumn code_by_sorting(const std::vector<std::uint64_t>& keys, std::size_t observed,
                            std::uint32_t max_bins) {
    std::vector<KeyedRow> sorted;
    sorted.reserve(observed);
    for (std::size_t row = 0; row < keys.size(); ++row)
        if (keys[row] != kMissingKey) sorted.push_back({keys[row], static_cast<std::uint32_t>(row)});
    radix_sort(sorted);
    const Groups<std::uint64_t> groups(sorted);
    const auto last = groups.bins(max_bins);

    CodedColumn column;
    column.n_codes = static_cast<std::uint32_t>(last.size());
    allocate(column, keys.size());
    write_codes(column, [&](auto* codes) {
        using Code = std::remove_reference_t<decltype(*codes)>;
        std::size_t item = 0;
        for (std::uint32_t bin = 0, group = 0; bin < last.size(); ++bin) {
            column.smallest.push_back(value_of(groups.keys[group]));
            column.largest.push_back(value_of(groups.keys[last[bin]]));
            for (; group <= last[bin]; ++group)
                for (std::uint32_t k = 0; k < groups.rows[group]; ++k)
                    codes[sorted[item++].row] = static_cast<Code>(bin);
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
std::vector<std::uint64_t> quantile_bounds(const std::vector<std::uint64_t>& keys, std::size_t observed,
                                           std::uint32_t max_bins) {
    std::vector<std::uint64_t> bounds;
    // The upper halves of the keys sort in half the time, and tell values apart to one part in a million.
    // They will do unless many values share one of them.
    std::vector<std::uint32_t> halves;
    halves.reserve(observed);
    for (const std::uint64_t key : keys)
        if (key != kMissingKey) halves.push_back(static_cast<std::uint32_t>(key >> 32));
    radix_sort(halves);
    const Groups<std::uint32_t> coarse(halves);
    const bool crowded = coarse.keys.size() < 8 * std::size_t{max_bins} ||
                         *std::max_element(coarse.rows.begin(), coarse.rows.end()) > observed / max_bins;
    if (!crowded) {
        for (const std::uint32_t group : coarse.bins(max_bins))
            bounds.push_back(std::uint64_t{coarse.keys[group]} << 32 | 0xffffffffu);
        return bounds;
    }
    std::vector<std::uint64_t> sorted;
    sorted.reserve(observed);
    for (const std::uint64_t key : keys)
        if (key != kMissingKey) sorted.push_back(key);
    radix_sort(sorted);
    const Groups<std::uint64_t> fine(sorted);
    for (const std::uint32_t group : fine.bins(max_bins)) bounds.push_back(fine.keys[group]);
    return bounds;
}

CodedColumn code_numbers(const ColumnView& view, std::size_t number, std::size_t n_rows,
                         std::uint32_t max_bins) {
    std::vector<std::uint64_t> keys(n_rows);
    const std::size_t observed = view.type == ColumnView::Type::Float32
                                     ? read_keys<float>(view, number, keys)
                                     : read_keys<double>(view, number, keys);
    constexpr std::uint32_t kFewBins = 2048;  // searching a table of this size stays in the first cache
    if (max_bins > kFewBins) return code_by_sorting(keys, observed, max_bins);
    if (observed == 0) return code_by_search(keys, {});
    return code_by_search(keys, quantile_bounds(keys, observed, max_bins));
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
    parallel_for(columns.size(), n_threads, [&](std::size_t j) {
        const bool categorical = n_categories[j] >= 0;
        if (categorical && n_categories[j] > kMaxCodes) throw std::length_error("too many categories");
        codes.columns[j] = categorical
                               ? code_categories(columns[j], n_rows, n_categories[j])
                               : code_numbers(columns[j], j, n_rows, std::clamp(max_bins, 2u, kMaxCodes));
    });
    return codes;
}

}  // namespace tritree
