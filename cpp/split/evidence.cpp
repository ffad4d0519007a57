#include "split/evidence.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "common/random.hpp"

namespace tritree {
namespace {

constexpr std::size_t kMaxColumns = 10;
constexpr std::int32_t kMaxGroups = 16;
constexpr std::int32_t kGroupRows = 4;  // minimum number of rows per group of numbers, on average
constexpr std::int32_t kCategoryRows = 2;
// What the statistic must exceed, beside 2 for each group but one, as in Akaike's criterion.
constexpr double kMinStatistic = 4;

/// A row of the sample: its index, and whether it goes left.
struct SampledRow {
    std::uint32_t row;
    std::uint32_t left;
};

/// A bin that occurs in the sample.
struct Cell {
    std::uint32_t bin;
    std::int32_t rows, left;
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
        for (std::size_t part = 0; part < n; ++part) {
            const std::size_t begin = part * rows.size() / n, end = (part + 1) * rows.size() / n;
            const std::uint32_t row =
                rows[begin + (end - begin > 1 ? hash_seed(seed, part) % (end - begin) : 0)];
            const Side side = split.side(bins[row], column.missing_bin());
            if (side != Side::Left && side != Side::Right) continue;
            if (target.weighted() && !(target.weight[row] > 0)) continue;
            sample.push_back({row, side == Side::Left});
        }
    });
}

/// Collect the bins of a column that occur in the sample, in ascending order, missing values left out.
void collect_cells(const BinnedColumn& column, std::span<const SampledRow> sample, std::vector<Cell>& cells) {
    thread_local std::vector<std::array<std::uint16_t, 2>> counts;  // rows per bin and side
    thread_local std::vector<std::uint32_t> sorted;                 // 2 * bin + side
    const std::uint32_t missing = column.missing_bin();
    cells.clear();
    if (missing <= 4 * sample.size()) {
        counts.assign(missing + 1, {0, 0});
        column.visit([&](const auto* bins) {
            for (const auto& [row, left] : sample) ++counts[bins[row]][left];
        });
        // each bin is written, and kept if it occurs: there is no branch to mispredict
        cells.resize(missing + 1);
        std::size_t n = 0;
        for (std::uint32_t bin = 0; bin < missing; ++bin) {
            const auto [right, left] = counts[bin];
            cells[n] = {bin, right + left, left};
            n += right + left > 0;
        }
        cells.resize(n);
        return;
    }
    sorted.clear();
    column.visit([&](const auto* bins) {
        for (const auto& [row, left] : sample)
            if (bins[row] != missing) sorted.push_back(2 * std::uint32_t{bins[row]} + left);
    });
    std::sort(sorted.begin(), sorted.end());
    for (const std::uint32_t item : sorted) {
        if (cells.empty() || cells.back().bin != item / 2) cells.push_back({item / 2, 0, 0});
        ++cells.back().rows;
        cells.back().left += static_cast<std::int32_t>(item % 2);
    }
}

/// Gather cells in groups: numbers in intervals with about as many rows each, categories one by one.
void fill_groups(Evidence& evidence, const BinnedColumn& column, std::span<const Cell> cells) {
    const auto add = [&](double key, std::int32_t rows, std::int32_t left) {
        evidence.key.push_back(key);
        evidence.group_rows.push_back(static_cast<std::uint16_t>(rows));
        evidence.group_left.push_back(static_cast<std::uint16_t>(left));
    };
    evidence.key.clear();
    evidence.group_rows.clear();
    evidence.group_left.clear();
    if (column.categorical) {
        for (const auto& [bin, rows, left] : cells)
            if (rows >= kCategoryRows) add(bin, rows, left);
        return;
    }
    const std::int64_t n_groups = std::min(kMaxGroups, evidence.rows / kGroupRows);
    std::int64_t group = 0, seen = 0;
    std::int32_t rows = 0, left = 0;
    double key = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < cells.size(); ++i) {
        rows += cells[i].rows;
        left += cells[i].left;
        seen += cells[i].rows;
        if (seen < (group + 1) * evidence.rows / n_groups) continue;
        add(key, std::exchange(rows, 0), std::exchange(left, 0));
        while (group < n_groups && (group + 1) * evidence.rows / n_groups <= seen) ++group;
        if (i + 1 < cells.size()) key = column.threshold(cells[i].bin, cells[i + 1].bin);
    }
}

/// Return Pearson's chi-squared statistic of groups and sides, less two for each group but one.
double statistic(const Evidence& evidence) {
    const double share = static_cast<double>(evidence.left) / static_cast<double>(evidence.rows);
    double sum = 0;
    for (std::size_t group = 0; group < evidence.key.size(); ++group) {
        const double expected = evidence.group_rows[group] * share,
                     difference = evidence.group_left[group] - expected;
        sum += difference * difference / (expected * (1 - share));
    }
    return sum - 2 * (static_cast<double>(evidence.key.size()) - 1);
}

}  // namespace

std::vector<Evidence> find_evidence(const GrowthParameters& params, const BinnedColumns& binned,
                                    const Target& target, std::span<const std::uint32_t> rows,
                                    const SplitInfo& split, std::uint64_t seed) {
    thread_local std::vector<SampledRow> sample;
    thread_local std::vector<Cell> cells;
    thread_local Evidence evidence;  // of one column after the other
    struct Candidate {
        double rate;
        Evidence evidence;
    };
    std::vector<Candidate> found;
    draw_sample(params, binned.columns[split.column], target, rows, split, seed, sample);
    if (sample.size() < static_cast<std::size_t>(kMinEvidenceRows)) return {};
    for (std::size_t j = 0; j < binned.columns.size(); ++j) {
        if (static_cast<std::int32_t>(j) == split.column) continue;
        const BinnedColumn& column = binned.columns[j];
        collect_cells(column, sample, cells);
        evidence.column = static_cast<std::int32_t>(j);
        evidence.rows = evidence.left = 0;
        for (const Cell& cell : cells) {
            evidence.rows += cell.rows;
            evidence.left += cell.left;
        }
        if (evidence.left == 0 || evidence.left == evidence.rows || evidence.rows < 2 * kGroupRows) continue;
        fill_groups(evidence, column, cells);
        const double excess = evidence.key.size() < 2 ? 0 : statistic(evidence);
        if (excess >= kMinStatistic) found.push_back({excess / evidence.rows, evidence});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate& a, const Candidate& b) { return a.rate > b.rate; });
    std::vector<Evidence> best;
    for (std::size_t i = 0; i < std::min(found.size(), kMaxColumns); ++i)
        best.push_back(std::move(found[i].evidence));
    return best;
}

}  // namespace tritree
