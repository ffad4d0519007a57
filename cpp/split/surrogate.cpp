#include "split/surrogate.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

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

/// Return the rows of a node with the side of the split as their class.
NodeSamples classify_by_side(const BinnedColumn& column, const NodeSamples& node, const SplitInfo& split) {
    NodeSamples sides;
    sides.rows = node.rows;
    column.visit([&](const auto* bins) {
        for (std::size_t i = 0; i < node.size(); ++i) {
            const Side side = split.side(bins[node.rows[i]], column.missing_bin());
            const auto label = side == Side::Left ? kLeft : side == Side::Right ? kRight : kUnknown;
            sides.label.push_back(label);
            sides.weight.push_back(node.weight.empty() ? 1 : node.weight[i]);
            sides.membership_units.push_back(label != kUnknown && sides.weight.back() > 0);
        }
    });
    return sides;
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

constexpr std::int64_t kMinRows = 2;  // as in rpart

/// rpart demands two rows below and two above the threshold.
void fit_numeric(Surrogate& surrogate, const BinnedColumn& column, const CellReader& cells) {
    const Totals total = total_of(cells);
    surrogate.agreement = total.heavier();
    Totals below;
    for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
        below.add(read_cell(cells, i).data());
        if (below.rows < kMinRows) continue;
        if (total.rows - below.rows < kMinRows) break;
        const std::int64_t opposite = total.left - below.left + below.right;
        const std::int64_t same = below.left + total.right - below.right;
        if (std::max(opposite, same) <= surrogate.agreement) continue;
        surrogate.below = opposite > surrogate.agreement ? Branch::Right : Branch::Left;
        surrogate.agreement = surrogate.below == Branch::Right ? opposite : same;
        surrogate.threshold_bin = cells.bin(i);
        surrogate.threshold = column.threshold(cells.bin(i), cells.bin(i + 1));
    }
}

/// Categories with equal weights go to the heavier side, or else to `higher`.
void fit_categorical(Surrogate& surrogate, const BinnedColumn& column, const CellReader& cells,
                     Branch higher) {
    const Branch heavier = total_of(cells).heavier_side(higher);
    surrogate.categorical = true;
    surrogate.sets = CategorySets(column.n_bins);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        Totals cell;
        cell.add(read_cell(cells, i).data());
        if (cell.rows == 0) continue;
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

}  // namespace

std::vector<Surrogate> find_surrogates(const GrowthParameters& params, const BinnedColumns& binned,
                                       const NodeSamples& node, SplitInfo& split) {
    const CellLayout layout = side_layout();
    const NodeSamples sides = classify_by_side(binned.columns[split.column], node, split);
    const Totals total = total_of(sides);
    const Branch higher = higher_side(sides, node, total);
    split.larger_side = total.heavier_side(Branch::None);
    std::vector<Surrogate> found;
    Histogram histogram;
    CellReader cells;
    for (std::size_t j = 0; j < binned.columns.size(); ++j) {
        const BinnedColumn& column = binned.columns[j];
        if (static_cast<std::int32_t>(j) == split.column) continue;
        if (histogram_pays(sides.size(), column.n_bins, layout)) {
            const ColumnHistogram task{&column, &histogram};
            build_histograms({&task, 1}, sides, layout);
            cells.from_histogram(histogram, column.n_bins, layout);
        } else {
            cells.from_rows(column, sides, layout);
        }
        Surrogate surrogate;
        surrogate.column = static_cast<std::int32_t>(j);
        column.categorical ? fit_categorical(surrogate, column, cells, higher)
                           : fit_numeric(surrogate, column, cells);
        if (surrogate.agreement <= total.heavier()) continue;
        if (!column.categorical || agrees_in_part(surrogate, column, sides))
            found.push_back(std::move(surrogate));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Surrogate& a, const Surrogate& b) { return a.agreement > b.agreement; });
    if (found.size() > static_cast<std::size_t>(params.max_surrogates)) found.resize(params.max_surrogates);
    return found;
}

}  // namespace tritree
