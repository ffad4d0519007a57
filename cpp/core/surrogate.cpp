#include "surrogate.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace tritree {
namespace {

// To a surrogate, the side that the split takes is a class to be predicted: the cells of its column are those
// of a classification into left, right and unknown.
enum Side : std::int32_t { kLeft = 0, kRight = 1, kUnknown = 2 };
constexpr int kWeightLeft = 1 + kLeft, kWeightRight = 1 + kRight, kKnownRows = 4;

Layout side_layout() {
    Layout layout(Settings{}, false);
    layout.n_classes = 3;
    layout.width = 5;  // rows | weight left | weight right | weight unknown | rows whose side is known
    layout.member = kKnownRows;
    return layout;
}

/// Return the node's rows with the side of the split in the place of a response.
NodeRows with_sides(const CodedColumn& column, const NodeRows& node, const Rung& rung) {
    NodeRows sides;
    sides.rows = node.rows;
    column.visit([&](const auto* codes) {
        for (std::size_t i = 0; i < node.size(); ++i) {
            const Branch side = rung.side(codes[node.rows[i]], column.missing());
            sides.label.push_back(side == Branch::Left ? kLeft : side == Branch::Right ? kRight : kUnknown);
            sides.member.push_back(side != Branch::None);
            sides.weight.push_back(node.weight.empty() ? 1 : node.weight[i]);
        }
    });
    return sides;
}

/// Return the heavier side. Where neither is, rpart takes the one it calls left: that with the smaller mean
/// response.
Branch heavier_side(const NodeRows& sides, const NodeRows& node) {
    // integers all the way: the answer must not depend on the order of the rows
    std::int64_t weight[2] = {0, 0};
    std::map<std::int32_t, std::int64_t> response[2];  // per class; in regression the sum, as that of class 1
    for (std::size_t i = 0; i < sides.size(); ++i) {
        if (sides.label[i] == kUnknown) continue;
        weight[sides.label[i]] += sides.weight[i];
        if (node.label.empty())
            response[sides.label[i]][1] += node.sum[i];
        else
            response[sides.label[i]][node.label[i]] += sides.weight[i];
    }
    if (weight[kLeft] != weight[kRight]) return weight[kLeft] > weight[kRight] ? Branch::Left : Branch::Right;
    double mean[2] = {0, 0};
    for (const int side : {kLeft, kRight})
        for (const auto& [label, sum] : response[side]) mean[side] += label * static_cast<double>(sum);
    return mean[kLeft] < mean[kRight] ? Branch::Left : Branch::Right;
}

struct Totals {
    std::int64_t left = 0, right = 0, rows = 0;
    void add(const std::int64_t* cell) {
        left += cell[kWeightLeft];
        right += cell[kWeightRight];
        rows += cell[kKnownRows];
    }
    std::int64_t heavier() const { return std::max(left, right); }
};

std::array<std::int64_t, 5> read_cell(const Cells& cells, std::size_t i) {
    std::array<std::int64_t, 5> cell{};
    cells.add_to(i, cell.data());
    return cell;
}

Totals total_of(const Cells& cells) {
    Totals total;
    for (std::size_t i = 0; i < cells.size(); ++i) total.add(read_cell(cells, i).data());
    return total;
}

void fit_numeric(Surrogate& surrogate, const CodedColumn& column, const Cells& cells) {
    constexpr std::int64_t kMinRows = 2;  // fewer on a side would let chance look like agreement
    const Totals total = total_of(cells);
    surrogate.agreement = total.heavier();
    Totals below;
    for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
        below.add(read_cell(cells, i).data());
        if (below.rows < kMinRows) continue;
        if (total.rows - below.rows < kMinRows) break;
        const std::int64_t crossed = total.left - below.left + below.right;
        const std::int64_t straight = below.left + total.right - below.right;
        if (std::max(crossed, straight) <= surrogate.agreement) continue;
        surrogate.below = crossed > surrogate.agreement ? Branch::Right : Branch::Left;
        surrogate.agreement = surrogate.below == Branch::Right ? crossed : straight;
        surrogate.low = cells.code(i);
        surrogate.threshold = column.threshold(cells.code(i), cells.code(i + 1));
    }
}

void fit_categorical(Surrogate& surrogate, const CodedColumn& column, const Cells& cells) {
    const Totals total = total_of(cells);
    const Branch heavier = total.left > total.right ? Branch::Left : Branch::Right;
    surrogate.categorical = true;
    surrogate.sets = CategorySets(column.n_codes);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        Totals cell;
        cell.add(read_cell(cells, i).data());
        if (cell.rows == 0) continue;
        const Branch side = cell.left == cell.right  ? heavier
                            : cell.left > cell.right ? Branch::Left
                                                     : Branch::Right;
        surrogate.sets.put(side, cells.code(i));
        surrogate.agreement += side == Branch::Left ? cell.left : cell.right;
    }
}

}  // namespace

std::vector<Surrogate> find_surrogates(const Settings& settings, const Codes& codes, const NodeRows& node,
                                       Rung& rung) {
    const Layout layout = side_layout();
    const NodeRows sides = with_sides(codes.columns[rung.column], node, rung);
    rung.larger = heavier_side(sides, node);
    Totals total;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        total.left += sides.label[i] == kLeft ? sides.weight[i] : 0;
        total.right += sides.label[i] == kRight ? sides.weight[i] : 0;
    }
    std::vector<Surrogate> found;
    Histogram histogram;
    Cells cells;
    for (std::size_t j = 0; j < codes.columns.size(); ++j) {
        const CodedColumn& column = codes.columns[j];
        if (static_cast<std::int32_t>(j) == rung.column) continue;
        if (histogram_pays(sides.size(), column.n_codes, layout)) {
            const Counting counting{&column, &histogram};
            count_rows({&counting, 1}, sides, layout);
            cells.from_histogram(histogram, column.n_codes, layout);
        } else {
            cells.from_rows(column, sides, layout);
        }
        Surrogate surrogate;
        surrogate.column = static_cast<std::int32_t>(j);
        column.categorical ? fit_categorical(surrogate, column, cells)
                           : fit_numeric(surrogate, column, cells);
        if (surrogate.agreement > total.heavier()) found.push_back(std::move(surrogate));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Surrogate& a, const Surrogate& b) { return a.agreement > b.agreement; });
    if (found.size() > static_cast<std::size_t>(settings.max_surrogates))
        found.resize(settings.max_surrogates);
    return found;
}

}  // namespace tritree
