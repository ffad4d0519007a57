#include "split/evidence.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "common/random.hpp"

namespace tritree {
namespace {

constexpr std::size_t kMaxColumns = 10;
constexpr std::int64_t kMaxGroups = 16;
constexpr std::int32_t kGroupRows = 4;  // minimum number of rows per group of numbers, on average
constexpr std::int32_t kCategoryRows = 2;
// What the statistic must exceed, beside 2 for each group but one, as in Akaike's criterion.
constexpr double kMinStatistic = 4;
constexpr std::size_t kMaxRanked = 64;  // rows for which ranks are faster than counts of bins

/// A row of the sample: its index, and whether it goes left.
struct SampledRow {
    std::uint32_t row;
    std::uint32_t left;
};

/// Rows of a sample, and how many of them go left, in one integer: both are added at once.
using Counts = std::uint32_t;

std::int32_t rows_of(Counts counts) { return static_cast<std::int32_t>(counts & 0xffff); }
std::int32_t left_of(Counts counts) { return static_cast<std::int32_t>(counts >> 16); }

/// The bins of a column in ascending order, each with the rows of the sample in it.
struct Cells {
    std::vector<std::uint32_t> bins;
    std::vector<Counts> counts;  // may be 0
    Counts total = 0;            // missing values left out
};

/// Adjacent cells: an interval of numbers, or a category.
struct Group {
    std::size_t begin;
    Counts counts;
};

/// Memory that is used for one node after the other.
struct Buffers {
    std::vector<SampledRow> sample;
    std::vector<std::uint32_t> items;
    Cells cells;
    std::vector<Group> groups;
};

/// Return the rows of a sample whose side is known.
void draw_sample(const GrowthParameters& params, const BinnedColumn& column, const Target& target,
                 std::span<const std::uint32_t> rows, const SplitInfo& split, std::uint64_t seed,
                 std::vector<SampledRow>& sample) {
    sample.clear();
    const auto limit = static_cast<std::size_t>(
        std::min<std::int64_t>(params.surrogate_rows, std::numeric_limits<std::uint16_t>::max()));
    const std::size_t n = std::min(rows.size(), limit);
    column.visit([&](const auto* bins) {
        for (std::size_t part = 0, begin = 0, end; part < n; ++part, begin = end) {
            end = (part + 1) * rows.size() / n;
            const std::uint32_t row =
                rows[begin + (end - begin > 1 ? hash_seed(seed, part) % (end - begin) : 0)];
            const Side side = split.side(bins[row], column.missing_bin());
            if (side != Side::Left && side != Side::Right) continue;
            if (target.weighted() && !(target.weight[row] > 0)) continue;
            sample.push_back({row, side == Side::Left});
        }
    });
}

/// Count the rows of a sample in each bin of a column.
void count_bins(const BinnedColumn& column, std::span<const SampledRow> sample, Cells& cells) {
    const std::uint32_t missing = column.missing_bin();
    cells.bins.resize(missing);
    std::iota(cells.bins.begin(), cells.bins.end(), 0u);
    cells.counts.assign(missing + 1, 0);
    Counts* const counts = cells.counts.data();
    column.visit([&](const auto* bins) {
        for (const auto& [row, left] : sample) counts[bins[row]] += 1 + (left << 16);
    });
    cells.counts.pop_back();
}

/// Sort few items by their ranks: comparing all pairs needs no branches, and is vectorised.
void sort_by_rank(std::vector<std::uint32_t>& items) {
    const std::size_t n = items.size();
    std::array<std::int32_t, kMaxRanked> keys;  // unique
    for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<std::int32_t>(items[i] * kMaxRanked + i);
    for (std::size_t i = 0; i < n; ++i) {
        std::int32_t rank = 0;
        for (std::size_t j = 0; j < n; ++j) rank += keys[j] < keys[i];
        items[static_cast<std::size_t>(rank)] = static_cast<std::uint32_t>(keys[i]) / kMaxRanked;
    }
}

/// The same for few rows or many bins: only bins that occur.
void sort_bins(const BinnedColumn& column, std::span<const SampledRow> sample,
               std::vector<std::uint32_t>& items, Cells& cells) {
    const std::uint32_t missing = column.missing_bin();
    items.resize(sample.size());  // 2 * bin + side
    std::size_t n = 0;
    column.visit([&](const auto* bins) {
        std::uint32_t* const into = items.data();
        for (const auto& [row, left] : sample) {  // without branches, which would be mispredicted
            into[n] = 2 * std::uint32_t{bins[row]} + left;
            n += bins[row] != missing;
        }
    });
    items.resize(n);
    if (n <= kMaxRanked)
        sort_by_rank(items);
    else
        std::sort(items.begin(), items.end());
    cells.bins.clear();
    cells.counts.clear();
    for (const std::uint32_t item : items) {
        if (cells.bins.empty() || cells.bins.back() != item / 2) {
            cells.bins.push_back(item / 2);
            cells.counts.push_back(0);
        }
        cells.counts.back() += 1 + ((item & 1) << 16);
    }
}

/// Gather cells in groups: numbers in intervals with about as many rows each, categories one by one.
void find_groups(const BinnedColumn& column, const Cells& cells, std::vector<Group>& groups) {
    groups.clear();
    if (column.categorical) {
        for (std::size_t i = 0; i < cells.counts.size(); ++i)
            if (rows_of(cells.counts[i]) >= kCategoryRows) groups.push_back({i, cells.counts[i]});
        return;
    }
    const std::int64_t n_rows = rows_of(cells.total), n_groups = std::min(kMaxGroups, n_rows / kGroupRows);
    const auto end_of = [&](std::int64_t group) {
        return static_cast<std::int32_t>((group + 1) * n_rows / n_groups);
    };
    Counts seen = 0, before = 0;
    std::size_t begin = 0;
    for (std::int64_t group = 0, i = 0; group < n_groups;) {
        for (const std::int32_t end = end_of(group); rows_of(seen) < end; ++i)
            seen += cells.counts[static_cast<std::size_t>(i)];
        groups.push_back({begin, seen - std::exchange(before, seen)});
        begin = static_cast<std::size_t>(i);
        while (group < n_groups && end_of(group) <= rows_of(seen)) ++group;
    }
}

/// Return Pearson's chi-squared statistic of groups and sides, less two for each group but one.
double statistic(std::span<const Group> groups, Counts total) {
    const double share = static_cast<double>(left_of(total)) / static_cast<double>(rows_of(total));
    double sum = 0;
    for (const auto& [begin, counts] : groups) {
        const double expected = rows_of(counts) * share, difference = left_of(counts) - expected;
        sum += difference * difference / (expected * (1 - share));
    }
    return sum - 2 * (static_cast<double>(groups.size()) - 1);
}

/// Return the groups of a column as evidence.
Evidence evidence_of(const BinnedColumn& column, const Cells& cells, std::span<const Group> groups) {
    Evidence evidence;
    evidence.rows = rows_of(cells.total);
    evidence.left = left_of(cells.total);
    evidence.key.reserve(groups.size());
    evidence.group_rows.reserve(groups.size());
    evidence.group_left.reserve(groups.size());
    for (const auto& [begin, counts] : groups) {
        double key = -std::numeric_limits<double>::infinity();
        if (column.categorical) {
            key = cells.bins[begin];
        } else if (begin > 0) {  // the cell before has rows: it completed its group
            std::size_t first = begin;
            while (cells.counts[first] == 0) ++first;
            key = column.threshold(cells.bins[begin - 1], cells.bins[first]);
        }
        evidence.key.push_back(key);
        evidence.group_rows.push_back(static_cast<std::uint16_t>(rows_of(counts)));
        evidence.group_left.push_back(static_cast<std::uint16_t>(left_of(counts)));
    }
    return evidence;
}

}  // namespace

std::vector<Evidence> find_evidence(const GrowthParameters& params, const BinnedColumns& binned,
                                    const Target& target, std::span<const std::uint32_t> rows,
                                    const SplitInfo& split, std::uint64_t seed) {
    static thread_local Buffers own_buffers;
    Buffers& buffers =
        own_buffers;  // once: the address of thread-local memory would be looked up for each item
    Cells& cells = buffers.cells;
    struct Candidate {
        double rate;
        Evidence evidence;
    };
    std::vector<Candidate> found;
    draw_sample(params, binned.columns[split.column], target, rows, split, seed, buffers.sample);
    if (buffers.sample.size() < static_cast<std::size_t>(kMinEvidenceRows)) return {};
    for (std::size_t j = 0; j < binned.columns.size(); ++j) {
        if (static_cast<std::int32_t>(j) == split.column) continue;
        const BinnedColumn& column = binned.columns[j];
        if (buffers.sample.size() <= kMaxRanked || column.missing_bin() > 4 * buffers.sample.size())
            sort_bins(column, buffers.sample, buffers.items, cells);
        else
            count_bins(column, buffers.sample, cells);
        cells.total = std::accumulate(cells.counts.begin(), cells.counts.end(), Counts{0});
        const std::int32_t n_rows = rows_of(cells.total), n_left = left_of(cells.total);
        if (n_left == 0 || n_left == n_rows || n_rows < 2 * kGroupRows) continue;
        find_groups(column, cells, buffers.groups);
        const double excess = buffers.groups.size() < 2 ? 0 : statistic(buffers.groups, cells.total);
        if (!(excess >= kMinStatistic)) continue;
        found.push_back({excess / n_rows, evidence_of(column, cells, buffers.groups)});
        found.back().evidence.column = static_cast<std::int32_t>(j);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate& a, const Candidate& b) { return a.rate > b.rate; });
    std::vector<Evidence> best;
    for (std::size_t i = 0; i < std::min(found.size(), kMaxColumns); ++i)
        best.push_back(std::move(found[i].evidence));
    return best;
}

}  // namespace tritree
