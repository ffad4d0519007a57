#include "importance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tritree {
namespace {

using Rows = std::vector<std::uint32_t>;

/// Return a power of two that brings the values of a regression tree to about 1, so that their squares are
/// finite.
double unit_of(const Tree& tree) {
    double largest = 0;
    for (const double value : tree.value) largest = std::max(largest, std::abs(value));
    return largest > 0 ? std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000)) : 1.0;
}

/// What a row gains by moving from one node's value to another's.
class Improvement {
  public:
    Improvement(const Tree& tree, const Settings& settings)
        : tree_(tree), settings_(settings), unit_(settings.n_classes > 0 ? 1 : unit_of(tree)) {}

    /// Return it for a row with this response.
    double of_number(double y, std::int32_t from, std::int32_t to) const {
        const double a = value(from)[0] * unit_, b = value(to)[0] * unit_;
        return (b - a) * (2 * y * unit_ - a - b);
    }
    /// Return it for a row of this class.
    double of_class(int k, std::int32_t from, std::int32_t to) const {
        const double *a = value(from), *b = value(to);
        if (settings_.criterion != Criterion::Gini) return a[k] > 0 && b[k] > 0 ? std::log(b[k] / a[k]) : 0;
        return 2 * (b[k] - a[k]) + squares(a) - squares(b);
    }
    /// Return it for all rows of a child of a node, on average.
    double of_node(std::int32_t from, std::int32_t to) const {
        if (settings_.n_classes == 0) return of_number(value(to)[0], from, to);
        double sum = 0;
        for (int k = 0; k < settings_.n_classes; ++k) sum += value(to)[k] * of_class(k, from, to);
        return sum;
    }

  private:
    const double* value(std::int32_t node) const {
        return &tree_.value[static_cast<std::size_t>(node) * static_cast<std::size_t>(tree_.n_outputs)];
    }
    double squares(const double* shares) const {
        return std::inner_product(shares, shares + settings_.n_classes, shares, 0.0);
    }

    const Tree& tree_;
    const Settings& settings_;
    double unit_;
};

double total_improvement(const Grower& grower, const Rows& rows, std::int32_t from, std::int32_t to) {
    const Target& target = grower.target();
    const Improvement improvement(grower.tree, grower.settings());
    double sum = 0;
    for (const std::uint32_t row : rows) {
        const double weight = target.weighted() ? target.weight[row] : 1.0;
        sum += weight * (target.n_classes > 0 ? improvement.of_class(target.labels[row], from, to)
                                              : improvement.of_number(target.y[row], from, to));
    }
    return sum;
}

}  // namespace

std::vector<double> importances(const Tree& tree, const Settings& settings, std::size_t n_columns) {
    std::vector<double> reduction(n_columns, 0.0);
    const Improvement improvement(tree, settings);
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(tree.size()); ++node) {
        if (tree.is_leaf(node)) continue;
        for (const std::int32_t child : {tree.left[node], tree.right[node]})
            reduction[tree.split.column[node]] += tree.weight[child] * improvement.of_node(node, child);
    }
    return reduction;
}

std::vector<double> importances_grown(Grower& grower, int n_threads) {
    const Codes& codes = grower.codes();
    const Tree& tree = grower.tree;
    std::vector<double> reduction(codes.columns.size(), 0.0);
    Rows all = grower.target().counted_rows();
    std::vector<std::pair<std::int32_t, Rows>> standing;  // rows that have come to a node
    standing.emplace_back(0, std::move(all));
    while (!standing.empty()) {
        std::vector<std::pair<Wanted, Rows>> leaving;
        std::vector<Wanted> wanted;
        for (const auto& [node, rows] : standing) {
            if (tree.is_leaf(node)) continue;
            const auto [base, number] = grower.places[node];
            const Rung& rung = grower.bases[base].ladder[number];
            const CodedColumn& column = codes.columns[rung.column];
            Rows parts[3];
            column.visit([&](const auto* c) {
                for (const std::uint32_t row : rows)
                    parts[static_cast<int>(rung.branch(c[row], column.missing()))].push_back(row);
            });
            for (const Branch side : {Branch::Left, Branch::Right, Branch::Third}) {
                auto& part = parts[static_cast<int>(side)];
                if (part.empty()) continue;
                wanted.push_back({node, side});
                leaving.emplace_back(wanted.back(), std::move(part));
            }
        }
        grower.grow(std::move(wanted), n_threads);
        standing.clear();
        for (auto& [branch, rows] : leaving) {
            const std::int32_t child = tree.child(branch.node, branch.side);
            // A third branch has the value of the node above it: nothing is gained on the way into it.
            if (branch.side != Branch::Third)
                reduction[tree.split.column[branch.node]] +=
                    total_improvement(grower, rows, branch.node, child);
            standing.emplace_back(child, std::move(rows));
        }
    }
    return reduction;
}

}  // namespace tritree
