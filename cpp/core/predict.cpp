#include "predict.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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
        if (std::isinf(view.at<T>(row))) throw BadValue(column, row, static_cast<double>(view.at<T>(row)));
}

/// Say whether the columns lie side by side, so that a row is a run of numbers.
bool is_row_by_row(const RowsToPredict& table) {
    const auto& columns = table.columns;
    for (std::size_t j = 0; j < columns.size(); ++j)
        if (columns[j].type != ColumnView::Type::Float64 || columns[j].stride != columns[0].stride ||
            columns[j].data != columns[0].data + j * sizeof(double))
            return false;
    return !columns.empty();
}

}  // namespace

void check_finite(const RowsToPredict& table, std::size_t begin, std::size_t end) {
    if (is_row_by_row(table)) {  // by far the most common: twice as fast along the rows
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

bool Steps::can_lead(const Tree& tree, const RowsToPredict& table) {
    const ColumnView* like = nullptr;
    for (const ColumnView& column : table.columns) {
        if (column.type == ColumnView::Type::Absent) continue;
        if (column.type == ColumnView::Type::Category) return false;
        if (like == nullptr) like = &column;
        if (column.type != like->type || column.stride != like->stride) return false;
    }
    const auto to = static_cast<Branch>(tree.missing_to[0]);
    const bool one_way = to != Branch::Surrogates && to != Branch::Both;
    return like != nullptr && one_way &&
           4 * table.n_rows >= tree.size();  // a few rows are not worth the steps
}

Steps::Steps(const Tree& tree, const RowsToPredict& table) : steps_(tree.size()) {
    for (const ColumnView& column : table.columns) {
        if (column.type == ColumnView::Type::Absent) continue;
        data_ = column.data;
        stride_ = column.stride;
        single_ = column.type == ColumnView::Type::Float32;
        break;
    }
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(tree.size()); ++node) {
        Step& step = steps_[node];
        step = {0, 0, {node, node, node}};
        if (tree.is_leaf(node)) continue;
        auto go = [&](Branch side) {
            const std::int32_t child = tree.child(node, side);
            return child == kUngrown ? node : child;
        };
        const ColumnView& column = table.columns[tree.split.column[node]];
        step.next[2] = go(static_cast<Branch>(tree.missing_to[node]));
        if (column.type == ColumnView::Type::Absent) {
            step.next[0] = step.next[1] = step.next[2];
            continue;
        }
        step.next[0] = go(Branch::Left);
        step.next[1] = go(Branch::Right);
        step.threshold = tree.split.threshold[node];
        // as numbers: these are pointers into different arrays
        step.offset = reinterpret_cast<std::intptr_t>(column.data) - reinterpret_cast<std::intptr_t>(data_);
    }
}

void Steps::lead(std::size_t begin, std::size_t end, std::int32_t* at) const {
    single_ ? lead_rows<float>(begin, end, at) : lead_rows<double>(begin, end, at);
}

template <class T>
void Steps::lead_rows(std::size_t begin, std::size_t end, std::int32_t* at) const {
    constexpr std::size_t kLanes = 8;  // rows on their way at once, so that none waits for its own memory
    std::array<const char*, kLanes> value;
    std::array<std::int32_t, kLanes> node;
    for (std::size_t row = begin; row < end; row += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            // the last rows may be fewer than lanes: some lanes then lead the very last one, too
            value[lane] = data_ + static_cast<std::ptrdiff_t>(std::min(row + lane, end - 1)) * stride_;
            node[lane] = 0;
        }
        for (bool moving = true; moving;) {
            moving = false;
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                const Step& step = steps_[node[lane]];
                const double asked = *reinterpret_cast<const T*>(value[lane] + step.offset);
                const std::int32_t next = step.next[!(asked < step.threshold) + (asked != asked)];
                moving |= next != node[lane];
                node[lane] = next;
            }
        }
        std::copy_n(node.begin(), std::min(kLanes, end - row), at + (row - begin));
    }
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
