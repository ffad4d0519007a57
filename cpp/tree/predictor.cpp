#include "tree/predictor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tritree {
namespace {

/// Return the side of split i on which the value of a row lies.
Side side_of(const SplitArrays& split, std::size_t i, const std::vector<std::uint64_t>& sets,
             const TableView& table, std::size_t row) {
    const ColumnView& column = table.columns[split.column[i]];
    double value;
    switch (column.type) {
        case ColumnView::Type::Float64:
            value = column.at<double>(row);
            break;
        case ColumnView::Type::Float32:
            value = static_cast<double>(column.at<float>(row));
            break;
        case ColumnView::Type::Category: {
            const auto category = column.at<std::int32_t>(row);
            if (category == kMissingCategory) return Side::Missing;
            if (category < 0 || split.set_begin.empty() || split.set_begin[i] < 0) return Side::Unseen;
            return side_of_category(&sets[static_cast<std::size_t>(split.set_begin[i])],
                                    static_cast<std::size_t>(split.set_words[i]),
                                    static_cast<std::uint32_t>(category));
        }
        default:
            return Side::Missing;
    }
    if (std::isnan(value)) return Side::Missing;
    return value < split.threshold[i] ? Side::Left : Side::Right;
}

Branch surrogate_branch(const Tree& tree, std::size_t node, const TableView& table, std::size_t row,
                        std::int32_t* column) {
    for (std::int32_t s = tree.surrogate_begin[node]; s < tree.surrogate_begin[node + 1]; ++s) {
        const Side side = side_of(tree.surrogate, static_cast<std::size_t>(s), tree.sets, table, row);
        if (side == Side::Missing || side == Side::Unseen) continue;
        if (column != nullptr) *column = tree.surrogate.column[s];
        const bool categorical = tree.surrogate.set_begin[s] >= 0;
        const bool same_direction =
            categorical || tree.surrogate_below[s] == static_cast<std::int8_t>(Branch::Left);
        return (side == Side::Left) == same_direction ? Branch::Left : Branch::Right;
    }
    return static_cast<Branch>(tree.larger_side[node]);
}

}  // namespace

Branch branch_of(const Tree& tree, std::size_t node, const TableView& table, std::size_t row,
                 std::int32_t* column) {
    const Side side = side_of(tree.split, node, tree.sets, table, row);
    const Branch branch =
        route(side, static_cast<Branch>(tree.missing_to[node]), static_cast<Branch>(tree.larger_side[node]));
    return branch == Branch::Surrogates ? surrogate_branch(tree, node, table, row, column) : branch;
}

double left_fraction_of(const Tree& tree, std::size_t node, const TableView& table, std::size_t row,
                        double fraction) {
    if (!tree.weighs_evidence) return tree.left_fraction[node];
    return left_fraction_by_evidence(tree, node, fraction, [&](std::int32_t number) {
        const ColumnView& column = table.columns[number];
        switch (column.type) {
            case ColumnView::Type::Float64:
                return column.at<double>(row);
            case ColumnView::Type::Float32:
                return static_cast<double>(column.at<float>(row));
            case ColumnView::Type::Category:
                return static_cast<double>(column.at<std::int32_t>(row));  // negative if missing or unknown
            default:
                return std::numeric_limits<double>::quiet_NaN();
        }
    });
}

bool traverse(const Tree& tree, const TableView& table, std::size_t row, std::int32_t& node, Branch& branch) {
    while (!tree.is_leaf(node)) {
        branch = branch_of(tree, node, table, row);
        if (branch == Branch::None) return true;
        if (branch == Branch::Both) return false;
        const std::int32_t child = tree.child(static_cast<std::size_t>(node), branch);
        if (child == kUngrown) return false;
        node = child;
    }
    return true;
}

void find_needed(const Tree& tree, const TableView& table, const RowPart& part, NeededBranches& third,
                 NeededBranches& other) {
    thread_local std::vector<RowPart> open;
    open.assign(1, part);
    while (!open.empty()) {
        auto [row, node, fraction] = open.back();
        open.pop_back();
        Branch branch = Branch::None;
        if (traverse(tree, table, row, node, branch)) continue;
        if (branch != Branch::Both || tree.lacks_evidence(static_cast<std::size_t>(node))) {
            NeededBranches& needed = branch == Branch::Third ? third : other;
            needed.parts.push_back({row, node, fraction});
            needed.branches.push_back({node, branch});
            continue;
        }
        const double left = left_fraction_of(tree, static_cast<std::size_t>(node), table, row, fraction);
        const bool needs_left = left > 0 && tree.left[node] == kUngrown;
        const bool needs_right = left < 1 && tree.right[node] == kUngrown;
        if (needs_left || needs_right) {
            other.parts.push_back({row, node, fraction});
            if (needs_left) other.branches.push_back({node, Branch::Left});
            if (needs_right) other.branches.push_back({node, Branch::Right});
            continue;
        }
        if (left < 1) open.push_back({row, tree.right[node], fraction * (1 - left)});
        if (left > 0) open.push_back({row, tree.left[node], fraction * left});
    }
}

bool BatchPredictor::supports(const Tree& tree, const TableView& table) {
    const ColumnView* first = nullptr;
    for (const ColumnView& column : table.columns) {
        if (column.type == ColumnView::Type::Absent) continue;
        if (column.type == ColumnView::Type::Category) return false;
        if (first == nullptr) first = &column;
        if (column.type != first->type || column.stride != first->stride) return false;
    }
    const auto missing_to = static_cast<Branch>(tree.missing_to[0]);
    const bool one_branch =
        missing_to != Branch::Surrogates && (missing_to != Branch::Both || tree.weighs_evidence);
    return first != nullptr && one_branch &&
           4 * table.n_rows >= tree.size();  // compiling the nodes does not pay off for few rows
}

BatchPredictor::BatchPredictor(const Tree& tree, const TableView& table) : nodes_(tree.size()) {
    for (const ColumnView& column : table.columns) {
        if (column.type == ColumnView::Type::Absent) continue;
        data_ = column.data;
        stride_ = column.stride;
        is_float32_ = column.type == ColumnView::Type::Float32;
        break;
    }
    for (std::int32_t number = 0; number < static_cast<std::int32_t>(tree.size()); ++number) {
        Node& node = nodes_[number];
        node = {0, 0, {number, number, number}};
        if (tree.is_leaf(number)) continue;
        auto next = [&](Side side) {
            const Branch branch = route(side, static_cast<Branch>(tree.missing_to[number]),
                                        static_cast<Branch>(tree.larger_side[number]));
            const std::int32_t child = branch == Branch::Both ? kUngrown : tree.child(number, branch);
            return child == kUngrown ? number : child;
        };
        const ColumnView& column = table.columns[tree.split.column[number]];
        node.next[2] = next(Side::Missing);
        if (column.type == ColumnView::Type::Absent) {
            node.next[0] = node.next[1] = node.next[2];
            continue;
        }
        node.next[0] = next(Side::Left);
        node.next[1] = next(Side::Right);
        node.threshold = tree.split.threshold[number];
        // subtract as integers: the pointers may belong to different arrays
        node.offset = reinterpret_cast<std::intptr_t>(column.data) - reinterpret_cast<std::intptr_t>(data_);
    }
}

void BatchPredictor::traverse(std::size_t begin, std::size_t end, std::int32_t* nodes) const {
    is_float32_ ? traverse_rows<float>(begin, end, nodes) : traverse_rows<double>(begin, end, nodes);
}

template <class T>
void BatchPredictor::traverse_rows(std::size_t begin, std::size_t end, std::int32_t* nodes) const {
    constexpr std::size_t kLanes = 8;  // rows traversed at once, to hide memory latency
    std::array<const char*, kLanes> value;
    std::array<std::int32_t, kLanes> at;
    for (std::size_t row = begin; row < end; row += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            // lanes beyond the last row repeat it
            value[lane] = data_ + static_cast<std::ptrdiff_t>(std::min(row + lane, end - 1)) * stride_;
            at[lane] = 0;
        }
        for (bool moving = true; moving;) {
            moving = false;
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                const Node& node = nodes_[at[lane]];
                const double x = *reinterpret_cast<const T*>(value[lane] + node.offset);
                const std::int32_t next = node.next[!(x < node.threshold) + (x != x)];
                moving |= next != at[lane];
                at[lane] = next;
            }
        }
        std::copy_n(at.begin(), std::min(kLanes, end - row), nodes + (row - begin));
    }
}

bool traverse_fractional(const Tree& tree, const TableView& table, std::size_t row, std::int32_t& from,
                         double* value) {
    struct Visit {
        std::int32_t node;
        double fraction;
    };
    thread_local std::vector<Visit> open;
    open.assign(1, {from, 1.0});
    Visit largest{from, -1};
    bool is_complete = true;
    const auto end = [&](std::size_t node, double fraction) {
        if (fraction > largest.fraction) largest = {static_cast<std::int32_t>(node), fraction};
        for (int k = 0; k < tree.n_outputs; ++k) value[k] += fraction * tree.value[node * tree.n_outputs + k];
    };
    const auto follow = [&](std::size_t node, Branch branch, double fraction) {
        const std::int32_t child = tree.child(node, branch);
        if (child >= 0) return open.push_back({child, fraction});
        is_complete = false;
        end(node, fraction);
    };
    while (!open.empty()) {
        const auto [number, fraction] = open.back();
        open.pop_back();
        const auto node = static_cast<std::size_t>(number);
        if (tree.is_leaf(node)) {
            end(node, fraction);
            continue;
        }
        const Branch branch = branch_of(tree, node, table, row);
        if (branch != Branch::Both) {
            follow(node, branch, fraction);
            continue;
        }
        if (tree.lacks_evidence(node)) {
            is_complete = false;
            end(node, fraction);
            continue;
        }
        const double left = left_fraction_of(tree, node, table, row, fraction);
        if (left < 1 || !tree.weighs_evidence) follow(node, Branch::Right, fraction * (1 - left));
        if (left > 0 || !tree.weighs_evidence) follow(node, Branch::Left, fraction * left);
    }
    from = largest.node;
    return is_complete;
}

namespace {

/// Return whether a split separates missing from observed values: then any observed category is on the right.
bool separates_missing(const Tree& tree, std::size_t node) {
    if (tree.split.set_begin.empty() || tree.split.set_begin[node] < 0) return false;
    const auto sets = tree.sets.begin() + tree.split.set_begin[node];
    return std::all_of(sets, sets + tree.split.set_words[node], [](std::uint64_t word) { return word == 0; });
}

}  // namespace

DecisionPaths decision_paths(const Tree& tree, const TableView& table, std::span<const std::int64_t> rows) {
    struct Visit {
        std::int64_t row, origin;
        std::int32_t node;
        double fraction;
    };
    DecisionPaths paths;
    std::vector<Visit> visits, both;
    for (std::size_t i = 0; i < rows.size(); ++i)
        visits.push_back({rows[i], static_cast<std::int64_t>(i), 0, 1.0});
    while (!visits.empty()) {
        const auto begin = static_cast<std::size_t>(paths.level_begin.back());
        auto step = [&](const Visit& visit, Branch branch, double fraction, std::int32_t decided_by,
                        bool lacks) {
            const std::int32_t child = tree.child(static_cast<std::size_t>(visit.node), branch);
            paths.row.push_back(visit.row);
            paths.origin.push_back(visit.origin);
            paths.node.push_back(visit.node);
            paths.to.push_back(child < 0 ? visit.node : child);
            paths.branch.push_back(static_cast<std::int8_t>(branch));
            paths.fraction.push_back(fraction);
            paths.decided_by.push_back(decided_by);
            paths.lacks_value.push_back(lacks);
        };
        both.clear();
        for (const Visit& visit : visits) {
            const auto node = static_cast<std::size_t>(visit.node);
            if (tree.is_leaf(node)) continue;
            const auto row = static_cast<std::size_t>(visit.row);
            const Side side = side_of(tree.split, node, tree.sets, table, row);
            const bool lacks =
                side == Side::Missing || (side == Side::Unseen && !separates_missing(tree, node));
            std::int32_t decided_by = tree.split.column[node];
            const Branch branch = branch_of(tree, node, table, row, &decided_by);
            if (branch != Branch::Both || tree.lacks_evidence(node)) {
                step(visit, branch, visit.fraction, decided_by, lacks);
                continue;
            }
            const double left = left_fraction_of(tree, node, table, row, visit.fraction);
            if (tree.weighs_evidence && (left == 0 || left == 1)) {
                step(visit, left == 1 ? Branch::Left : Branch::Right, visit.fraction, decided_by, lacks);
                continue;
            }
            both.push_back({visit.row, visit.origin, visit.node, visit.fraction * (1 - left)});
            step(visit, Branch::Left, visit.fraction * left, decided_by, lacks);
        }
        for (const Visit& visit : both) {
            const std::int32_t column = tree.split.column[static_cast<std::size_t>(visit.node)];
            step(visit, Branch::Right, visit.fraction, column, true);
        }
        visits.clear();
        for (std::size_t i = begin; i < paths.row.size(); ++i)
            if (paths.to[i] != paths.node[i])
                visits.push_back(
                    {paths.row[i], static_cast<std::int64_t>(i - begin), paths.to[i], paths.fraction[i]});
        if (paths.row.size() > begin)
            paths.level_begin.push_back(static_cast<std::int64_t>(paths.row.size()));
    }
    return paths;
}

}  // namespace tritree
