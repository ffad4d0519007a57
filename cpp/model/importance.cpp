#include "model/importance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace tritree {
namespace {

/// A training row, and the fraction of it that has reached a node.
struct Row {
    std::uint32_t number;
    double fraction;
};
using Rows = std::vector<Row>;

/// Return the power of two that scales the values of a regression tree to about 1, so that squares are
/// finite.
double value_scale(const Tree& tree) {
    double largest = 0;
    for (const double value : tree.value) largest = std::max(largest, std::abs(value));
    return largest > 0 ? std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000)) : 1.0;
}

/// Reduction of the loss of a row when its prediction changes from the value of one node to that of another.
class Improvement {
  public:
    Improvement(const Tree& tree, const GrowthParameters& params)
        : tree_(tree), params_(params), scale_(params.n_classes > 0 ? 1 : value_scale(tree)) {}

    /// Return the reduction for a row with target `y`.
    double of_number(double y, std::int32_t from, std::int32_t to) const {
        const double a = value(from)[0] * scale_, b = value(to)[0] * scale_;
        return (b - a) * (2 * y * scale_ - a - b);
    }
    /// Return the reduction for a row of class `k`.
    double of_class(int k, std::int32_t from, std::int32_t to) const {
        const double *a = value(from), *b = value(to);
        if (params_.criterion == CriterionKind::Entropy)
            return a[k] > 0 && b[k] > 0 ? std::log(b[k] / a[k]) : 0;
        return 2 * (b[k] - a[k]) + squares(a) - squares(b);
    }
    /// Return the mean reduction over the rows of the child `to`.
    double of_node(std::int32_t from, std::int32_t to) const {
        if (params_.n_classes == 0) return of_number(value(to)[0], from, to);
        double sum = 0;
        for (int k = 0; k < params_.n_classes; ++k) sum += value(to)[k] * of_class(k, from, to);
        return sum;
    }

  private:
    const double* value(std::int32_t node) const {
        return &tree_.value[static_cast<std::size_t>(node) * static_cast<std::size_t>(tree_.n_outputs)];
    }
    double squares(const double* fractions) const {
        return std::inner_product(fractions, fractions + params_.n_classes, fractions, 0.0);
    }

    const Tree& tree_;
    const GrowthParameters& params_;
    double scale_;
};

double total_improvement(const LadderGrower& grower, const Rows& rows, std::int32_t from, std::int32_t to) {
    const Target& target = grower.target();
    const Improvement improvement(grower.tree, grower.params());
    double sum = 0;
    for (const auto& [row, fraction] : rows) {
        const double weight = fraction * (target.weighted() ? target.weight[row] : 1.0);
        sum += weight * (target.n_classes > 0 ? improvement.of_class(target.labels[row], from, to)
                                              : improvement.of_number(target.y[row], from, to));
    }
    return sum;
}

/// Return the fraction of a training row that goes left, where it goes both ways.
double left_fraction_of(const LadderGrower& grower, std::int32_t node, const Row& row) {
    return left_fraction_by_evidence(grower.tree, static_cast<std::size_t>(node), row.fraction,
                                     [&](std::int32_t number) {
                                         const BinnedColumn& column = grower.binned().columns[number];
                                         const std::uint32_t bin = column.bin(row.number);
                                         if (bin == column.missing_bin())
                                             return std::numeric_limits<double>::quiet_NaN();
                                         return column.categorical ? bin : column.bin_max[bin];
                                     });
}

/// Return the rows of a node by the branch they take.
std::array<Rows, 3> rows_by_branch(LadderGrower& grower, std::int32_t node, const Rows& rows) {
    const auto [ladder, rank] = grower.positions[node];
    const SplitInfo& split = grower.ladders[ladder].splits[rank];
    const BinnedColumn& column = grower.binned().columns[split.column];
    std::array<Rows, 3> by_branch;
    const auto add = [&](Branch branch, const Row& row) {
        by_branch[static_cast<std::size_t>(branch)].push_back(row);
    };
    for (const Row& row : rows) {
        const Branch branch = split.branch(column.bin(row.number), column.missing_bin());
        if (branch != Branch::Both) {
            add(branch, row);
            continue;
        }
        if (grower.tree.lacks_evidence(static_cast<std::size_t>(node)))
            grower.grow({{node, Branch::Both}}, 1);
        const double left = left_fraction_of(grower, node, row);
        if (left > 0) add(Branch::Left, {row.number, row.fraction * left});
        if (left < 1) add(Branch::Right, {row.number, row.fraction * (1 - left)});
    }
    return by_branch;
}

}  // namespace

std::vector<double> importances(const Tree& tree, const GrowthParameters& params, std::size_t n_columns) {
    std::vector<double> reduction(n_columns, 0.0);
    const Improvement improvement(tree, params);
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(tree.size()); ++node) {
        if (tree.is_leaf(node)) continue;
        for (const std::int32_t child : {tree.left[node], tree.right[node]})
            reduction[tree.split.column[node]] += tree.weight[child] * improvement.of_node(node, child);
    }
    return reduction;
}

std::vector<double> importances_on_demand(LadderGrower& grower, int n_threads) {
    const Tree& tree = grower.tree;
    std::vector<double> reduction(grower.binned().columns.size(), 0.0);
    std::vector<std::pair<std::int32_t, Rows>> pending(1);  // rows that have reached a node: first the root
    for (const std::uint32_t row : grower.sampled_rows()) pending[0].second.push_back({row, 1.0});
    while (!pending.empty()) {
        std::vector<std::pair<BranchRef, Rows>> branch_rows;
        std::vector<BranchRef> branches;
        for (const auto& [node, rows] : pending) {
            if (tree.is_leaf(node)) continue;
            auto by_branch = rows_by_branch(grower, node, rows);
            for (const Branch branch : {Branch::Left, Branch::Right, Branch::Third}) {
                auto& rows_of_branch = by_branch[static_cast<std::size_t>(branch)];
                if (rows_of_branch.empty()) continue;
                branches.push_back({node, branch});
                branch_rows.emplace_back(branches.back(), std::move(rows_of_branch));
            }
        }
        grower.grow(std::move(branches), n_threads);
        pending.clear();
        for (auto& [branch, rows] : branch_rows) {
            const std::int32_t child = tree.child(branch.node, branch.branch);
            // a third branch has the value of its parent, which does not reduce the loss
            if (branch.branch != Branch::Third)
                reduction[tree.split.column[branch.node]] +=
                    total_improvement(grower, rows, branch.node, child);
            pending.emplace_back(child, std::move(rows));
        }
    }
    return reduction;
}

}  // namespace tritree
