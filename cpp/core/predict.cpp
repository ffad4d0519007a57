#include "predict.hpp"

#include <algorithm>
#include <cmath>

#include "parallel.hpp"

namespace tritree {
namespace {

enum class Answer : std::uint8_t { Left, Right, Missing, Unseen };

/// Ask a split where a row's value lies.
Answer ask(const SplitArrays& split, std::size_t i, const std::vector<std::uint64_t>& sets,
           const RowsToPredict& table, std::size_t row) {
    const ColumnView& column = table.columns[split.column[i]];
    double value;
    switch (column.type) {
        case ColumnView::Type::Absent:
            return Answer::Missing;
        case ColumnView::Type::Float64:
            value = column.at<double>(row);
            break;
        case ColumnView::Type::Float32:
            value = static_cast<double>(column.at<float>(row));
            break;
        case ColumnView::Type::Category: {
            const auto category = column.at<std::int32_t>(row);
            if (category == kMissingCategory) return Answer::Missing;
            const std::int64_t words = split.set_words[i];
            if (category < 0 || category >= 64 * words) return Answer::Unseen;
            const std::uint64_t* set = &sets[static_cast<std::size_t>(split.set_begin[i])];
            if (set[category / 64] >> (category % 64) & 1) return Answer::Left;
            return set[words + category / 64] >> (category % 64) & 1 ? Answer::Right : Answer::Unseen;
        }
        default:
            return Answer::Missing;
    }
    if (std::isnan(value)) return Answer::Missing;
    return value < split.threshold[i] ? Answer::Left : Answer::Right;
}

Branch ask_surrogates(const Tree& tree, std::size_t node, const RowsToPredict& table, std::size_t row) {
    for (std::int32_t s = tree.surrogate_begin[node]; s < tree.surrogate_begin[node + 1]; ++s) {
        const Answer answer = ask(tree.surrogate, static_cast<std::size_t>(s), tree.sets, table, row);
        if (answer == Answer::Missing || answer == Answer::Unseen) continue;
        const bool left = answer == Answer::Left;
        const bool categorical = tree.surrogate.set_begin[s] >= 0;
        const bool straight =
            categorical || tree.surrogate_below[s] == static_cast<std::int8_t>(Branch::Left);
        return left == straight ? Branch::Left : Branch::Right;
    }
    return static_cast<Branch>(tree.larger[node]);
}

template <class T>
void check_finite_column(const ColumnView& view, std::size_t column, std::size_t begin, std::size_t end) {
    bool infinite = false;
    for (std::size_t row = begin; row < end; ++row) infinite |= std::isinf(view.at<T>(row));
    for (std::size_t row = begin; infinite; ++row)
        if (std::isinf(view.at<T>(row))) throw BadValue(column, row, static_cast<double>(view.at<T>(row)));
}

}  // namespace

void check_finite(const RowsToPredict& table, int n_threads) {
    // A few rows at a time: of a table stored row by row, each cache line is then fetched once, not once per
    // column.
    constexpr std::size_t kRows = 256, kBlock = 64 * kRows;
    parallel_blocks(table.n_rows, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; row += kRows)
            for (std::size_t j = 0; j < table.columns.size(); ++j) {
                const ColumnView& view = table.columns[j];
                if (view.type == ColumnView::Type::Float64)
                    check_finite_column<double>(view, j, row, std::min(end, row + kRows));
                else if (view.type == ColumnView::Type::Float32)
                    check_finite_column<float>(view, j, row, std::min(end, row + kRows));
            }
    });
}

Branch branch_of(const Tree& tree, std::size_t node, const RowsToPredict& table, std::size_t row) {
    const Answer answer = ask(tree.split, node, tree.sets, table, row);
    if (answer == Answer::Left) return Branch::Left;
    if (answer == Answer::Right) return Branch::Right;
    const auto to = static_cast<Branch>(tree.missing_to[node]);
    if (to == Branch::Surrogates) return ask_surrogates(tree, node, table, row);
    // A category never seen tells nothing; above all it does not mean what missing means.
    if (answer == Answer::Unseen && (to == Branch::Left || to == Branch::Right))
        return static_cast<Branch>(tree.larger[node]);
    return to;
}

bool walk(const Tree& tree, const RowsToPredict& table, std::size_t row, std::int32_t& at, Branch& side) {
    while (!tree.is_leaf(at)) {
        side = branch_of(tree, at, table, row);
        const std::int32_t child = tree.child(static_cast<std::size_t>(at), side);
        if (child == kUngrown) return false;
        at = child;
    }
    return true;
}

std::int32_t walk_fractional(const Tree& tree, const RowsToPredict& table, std::size_t row, double* value) {
    struct Visit {
        std::int32_t node;
        double share;
    };
    thread_local std::vector<Visit> open;
    open.assign(1, {0, 1.0});
    Visit heaviest{0, -1};
    while (!open.empty()) {
        const Visit visit = open.back();
        open.pop_back();
        const auto node = static_cast<std::size_t>(visit.node);
        if (tree.is_leaf(node)) {
            if (visit.share > heaviest.share) heaviest = visit;
            for (int k = 0; k < tree.n_outputs; ++k)
                value[k] += visit.share * tree.value[node * tree.n_outputs + k];
            continue;
        }
        const Branch side = branch_of(tree, node, table, row);
        if (side == Branch::Both) {
            open.push_back({tree.right[node], visit.share * (1 - tree.share[node])});
            open.push_back({tree.left[node], visit.share * tree.share[node]});
        } else {
            open.push_back({tree.child(node, side), visit.share});
        }
    }
    return heaviest.node;
}

}  // namespace tritree
