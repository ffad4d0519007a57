#include "split/surrogate.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "common/random.hpp"

namespace tritree {
namespace {

// A surrogate predicts the side of the split: the histogram cells of its column are those of a classification
// with the classes left, right and unknown.
enum SplitClass : std::int32_t { kLeft = 0, kRight = 1, kUnknown = 2 };
constexpr int kWeightLeft = 1 + kLeft, kWeightRight = 1 + kRight, kKnownRows = 4;

CellLayout side_layout() {
    CellLayout layout(GrowthParameters{}, false);
    layout.n_classes = 3;
    // rows | weight left | weight right | weight unknown | rows with weight whose side is known
    layout.width = 5;
    layout.membership = kKnownRows;
    return layout;
}

/// Fill in the side of the split as the class of each row.
void classify_by_side(NodeSamples& sides, const BinnedColumn& column, const SplitInfo& split) {
    column.visit([&](const auto* bins) {
        for (std::size_t i = 0; i < sides.size(); ++i) {
            const Side side = split.side(bins[sides.rows[i]], column.missing_bin());
            const auto label = side == Side::Left ? kLeft : side == Side::Right ? kRight : kUnknown;
            sides.label.push_back(label);
            sides.membership_units.push_back(label != kUnknown && sides.weight[i] > 0);
        }
    });
}

/// Weights and rows of both sides.
struct Totals {
    std::int64_t left = 0, right = 0, rows = 0;
    void add(const std::int64_t* cell) {
        left += cell[kWeightLeft];
        right += cell[kWeightRight];
        rows += cell[kKnownRows];
    }
    std::int64_t heavier() const { return std::max(left, right); }
    Branch heavier_side(Branch tie) const { return larger_side(left, right, tie); }
};

/// Return the weights of both sides of the split.
Totals total_of(const NodeSamples& sides) {
    Totals total;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        total.left += sides.label[i] == kLeft ? sides.weight[i] : 0;
        total.right += sides.label[i] == kRight ? sides.weight[i] : 0;
    }
    return total;
}

/// Return the side with the larger mean target (in classification the mean number of the class), left at a
/// tie. rpart calls it right, whatever the values of the column.
Branch higher_side(const NodeSamples& sides, const NodeSamples& node, const Totals& total) {
    // Integers, because the result must not depend on the order of the rows: the weights of each class, or
    // the sums of targets as those of class 1.
    std::map<std::int32_t, std::int64_t> sums[2];
    for (std::size_t i = 0; i < sides.size(); ++i) {
        if (sides.label[i] == kUnknown) continue;
        auto& of_side = sums[sides.label[i]];
        node.label.empty() ? of_side[1] += node.sum[i] : of_side[node.label[i]] += sides.weight[i];
    }
    double mean[2] = {0, 0};
    for (const int side : {kLeft, kRight})
        for (const auto& [label, sum] : sums[side])
            mean[side] += label * static_cast<double>(sum) /
                          static_cast<double>(side == kLeft ? total.left : total.right);
    return mean[kLeft] < mean[kRight] ? Branch::Right : Branch::Left;
}

std::array<std::int64_t, 5> read_cell(const CellReader& cells, std::size_t i) {
    std::array<std::int64_t, 5> cell{};
    cells.add_to(i, cell.data());
    return cell;
}

Totals total_of(const CellReader& cells) {
    Totals total;
    for (std::size_t i = 0; i < cells.size(); ++i) total.add(read_cell(cells, i).data());
    return total;
}

constexpr std::int64_t kMinRows = 2;                      // as in rpart
constexpr std::size_t kMaxReused = std::size_t{1} << 18;  // integers of a histogram buffer
// Of a node of a forest. Surrogates of the many smaller nodes take long to find.
constexpr std::size_t kMinNodeRows = 12;
constexpr std::uint64_t kSampleOfSurrogates = ~std::uint64_t{0};  // differs from the branches of a path

/// rpart demands two rows below and two above the threshold.
void fit_numeric(Surrogate& surrogate, const BinnedColumn& column, const CellReader& cells) {
    const Totals total = total_of(cells);
    surrogate.agreement = total.heavier();
    Totals below;
    std::size_t best = cells.size();
    for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
        below.add(read_cell(cells, i).data());
        if (below.rows < kMinRows) continue;
        if (total.rows - below.rows < kMinRows) break;
        const std::int64_t opposite = total.left - below.left + below.right;
        const std::int64_t same = below.left + total.right - below.right;
        if (std::max(opposite, same) <= surrogate.agreement) continue;
        surrogate.below = opposite > surrogate.agreement ? Branch::Right : Branch::Left;
        surrogate.agreement = surrogate.below == Branch::Right ? opposite : same;
        best = i;
    }
    if (best == cells.size()) return;
    surrogate.threshold_bin = cells.bin(best);
    surrogate.threshold = column.threshold(cells.bin(best), cells.bin(best + 1));
}

/// Categories with equal weights go to the heavier side, or else to `higher`; those with fewer rows are in
/// neither set.
void fit_categorical(Surrogate& surrogate, const BinnedColumn& column, const CellReader& cells, Branch higher,
                     std::int64_t min_rows) {
    const Branch heavier = total_of(cells).heavier_side(higher);
    surrogate.categorical = true;
    surrogate.sets = CategorySets(column.n_bins);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        Totals cell;
        cell.add(read_cell(cells, i).data());
        if (cell.rows < min_rows) continue;
        const Branch side = cell.heavier_side(heavier);
        surrogate.sets.put(side, cells.bin(i));
        surrogate.agreement += side == Branch::Left ? cell.left : cell.right;
    }
}

/// Return whether a surrogate sends two rows as the split does, and two otherwise: rpart demands both of a
/// categorical surrogate, and so accepts none that agrees with the split entirely.
bool agrees_in_part(const Surrogate& surrogate, const BinnedColumn& column, const NodeSamples& sides) {
    std::int64_t n_rows[2] = {0, 0};
    column.visit([&](const auto* bins) {
        for (std::size_t i = 0; i < sides.size(); ++i) {
            const Branch branch = surrogate.branch(bins[sides.rows[i]], column.missing_bin());
            if (branch == Branch::None || sides.membership_units[i] == 0) continue;
            ++n_rows[(branch == Branch::Left) == (sides.label[i] == kLeft)];
        }
    });
    return std::min(n_rows[0], n_rows[1]) >= kMinRows;
}

/// The surrogate of a split on a column, and the rows that it was found on: those whose value is observed.
struct FittedSurrogate {
    Surrogate surrogate;
    Totals total;

    double rate() const {
        return static_cast<double>(surrogate.agreement) / static_cast<double>(total.left + total.right);
    }
};

/// Find the surrogates on all columns but that of the split; `keeps` decides which are kept.
template <class F>
std::vector<FittedSurrogate> fit_columns(const BinnedColumns& binned, const NodeSamples& sides,
                                         std::int32_t split_column, Branch higher, std::int64_t min_rows,
                                         F&& keeps) {
    thread_local Histogram histogram;
    thread_local CellReader cells;
    const CellLayout layout = side_layout();
    std::vector<FittedSurrogate> found;
    for (std::size_t j = 0; j < binned.columns.size(); ++j) {
        const BinnedColumn& column = binned.columns[j];
        if (static_cast<std::int32_t>(j) == split_column) continue;
        if (histogram_pays(sides.size(), column.n_bins, layout)) {
            histogram.clear();
            const ColumnHistogram task{&column, &histogram};
            build_histograms({&task, 1}, sides, layout);
            cells.from_histogram(histogram, column.n_bins, layout);
        } else {
            cells.from_rows(column, sides, layout);
        }
        FittedSurrogate fitted;
        fitted.surrogate.column = static_cast<std::int32_t>(j);
        column.categorical ? fit_categorical(fitted.surrogate, column, cells, higher, min_rows)
                           : fit_numeric(fitted.surrogate, column, cells);
        fitted.total = total_of(cells);
        if (keeps(fitted, column)) found.push_back(std::move(fitted));
    }
    if (histogram.capacity() > kMaxReused) histogram = Histogram();
    cells.trim(kMaxReused);
    return found;
}

std::vector<Surrogate> first_surrogates(std::vector<FittedSurrogate>& found, int n) {
    std::vector<Surrogate> first;
    for (FittedSurrogate& fitted : found) {
        if (first.size() == static_cast<std::size_t>(n)) break;
        first.push_back(std::move(fitted.surrogate));
    }
    return first;
}

/// Return a sample of a node: a row from each of `n` parts of equal size, or all rows if there are fewer.
NodeSamples sample_of(const NodeSamples& node, std::size_t n, std::uint64_t seed,
                      std::vector<std::uint32_t>& rows) {
    NodeSamples sample;
    const auto add = [&](std::size_t i) {
        rows.push_back(node.rows[i]);
        sample.weight.push_back(node.weight.empty() ? 1 : node.weight[i]);
    };
    rows.clear();
    rows.reserve(std::min(n, node.size()));
    if (node.size() <= n) {
        for (std::size_t i = 0; i < node.size(); ++i) add(i);
    } else {
        for (std::size_t part = 0; part < n; ++part) {
            const std::size_t begin = part * node.size() / n, end = (part + 1) * node.size() / n;
            add(begin + hash_seed(seed, part) % (end - begin));
        }
    }
    sample.rows = rows;
    return sample;
}

/// Return the weights of both sides of the split in a node.
Totals total_of(const NodeSamples& node, const BinnedColumn& column, const SplitInfo& split) {
    Totals total;
    column.visit([&](const auto* bins) {
        for (std::size_t i = 0; i < node.size(); ++i) {
            const Side side = split.side(bins[node.rows[i]], column.missing_bin());
            const std::int64_t weight = node.weight.empty() ? 1 : node.weight[i];
            total.left += side == Side::Left ? weight : 0;
            total.right += side == Side::Right ? weight : 0;
        }
    });
    return total;
}

/// Return the surrogates of a split in a forest.
std::vector<Surrogate> find_in_sample(const GrowthParameters& params, const BinnedColumns& binned,
                                      const NodeSamples& node, SplitInfo& split, std::uint64_t path) {
    const BinnedColumn& column = binned.columns[split.column];
    split.larger_side = total_of(node, column, split).heavier_side(Branch::None);
    if (node.size() < kMinNodeRows) return {};
    thread_local std::vector<std::uint32_t> rows;
    NodeSamples sides = sample_of(node, static_cast<std::size_t>(params.surrogate_rows),
                                  hash_seed(path, kSampleOfSurrogates), rows);
    classify_by_side(sides, column, split);
    auto found = fit_columns(
        binned, sides, split.column, Branch::Left, kMinRows,
        [](const auto& fitted, const auto&) { return fitted.surrogate.agreement > fitted.total.heavier(); });
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.rate() > b.rate(); });
    return first_surrogates(found, params.max_surrogates);
}

}  // namespace

std::vector<Surrogate> find_surrogates(const GrowthParameters& params, const BinnedColumns& binned,
                                       const NodeSamples& node, SplitInfo& split, std::uint64_t path) {
    if (params.surrogate_rows > 0) return find_in_sample(params, binned, node, split, path);
    NodeSamples sides;
    sides.rows = node.rows;
    if (node.weight.empty())
        sides.weight.assign(node.size(), 1);
    else
        sides.weight = node.weight;
    classify_by_side(sides, binned.columns[split.column], split);
    const Totals total = total_of(sides);
    const Branch higher = higher_side(sides, node, total);
    split.larger_side = total.heavier_side(Branch::None);
    auto found =
        fit_columns(binned, sides, split.column, higher, 1,
                    [&](const FittedSurrogate& fitted, const BinnedColumn& column) {
                        if (fitted.surrogate.agreement <= total.heavier()) return false;
                        return !column.categorical || agrees_in_part(fitted.surrogate, column, sides);
                    });
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.surrogate.agreement > b.surrogate.agreement;
    });
    return first_surrogates(found, params.max_surrogates);
}

}  // namespace tritree
