#include "importance.hpp"

#include <cmath>
#include <utility>

namespace tritree {
namespace {

using Rows = std::vector<std::uint32_t>;

/// Return a row's loss under the value of a node.
double row_loss(const Grower& grower, std::uint32_t row, std::int32_t node) {
    const Target& target = grower.target();
    const double weight = target.weighted() ? target.weight[row] : 1.0;
    if (weight == 0) return 0;
    const Tree& tree = grower.tree;
    const double* value = &tree.value[static_cast<std::size_t>(node) * tree.n_outputs];
    if (target.n_classes == 0) return weight * (target.y[row] - value[0]) * (target.y[row] - value[0]);
    const double share = value[target.labels[row]];
    if (grower.settings().criterion == Criterion::Entropy) return -weight * std::log(share);
    double squares = 0;
    for (int k = 0; k < target.n_classes; ++k) squares += value[k] * value[k];
    return weight * (1 - 2 * share + squares);
}

double total_loss(const Grower& grower, const Rows& rows, std::int32_t node) {
    double loss = 0;
    for (const std::uint32_t row : rows) loss += row_loss(grower, row, node);
    return loss;
}

}  // namespace

std::vector<double> importances(const Tree& tree, std::size_t n_columns) {
    std::vector<double> reduction(n_columns, 0.0);
    for (std::size_t node = 0; node < tree.size(); ++node)
        if (!tree.is_leaf(node))
            reduction[tree.split.column[node]] +=
                tree.loss[node] - tree.loss[tree.left[node]] - tree.loss[tree.right[node]];
    return reduction;
}

std::vector<double> importances_grown(Grower& grower, int n_threads) {
    const Codes& codes = grower.codes();
    const Tree& tree = grower.tree;
    std::vector<double> reduction(codes.columns.size(), 0.0);
    Rows all(codes.n_rows);
    for (std::size_t row = 0; row < all.size(); ++row) all[row] = static_cast<std::uint32_t>(row);
    std::vector<std::pair<Wanted, Rows>> arriving;  // rows on their way into a branch
    std::vector<std::pair<std::int32_t, Rows>> standing;
    standing.emplace_back(0, std::move(all));
    while (!standing.empty()) {
        arriving.clear();
        std::vector<Wanted> wanted;
        for (auto& [node, rows] : standing) {
            if (tree.is_leaf(node)) continue;
            const auto [base, rung] = grower.places[node];
            const Rung& split = grower.bases[base].ladder[rung];
            const CodedColumn& column = codes.columns[split.column];
            Rows parts[3];
            column.visit([&](const auto* c) {
                for (const std::uint32_t row : rows) {
                    Branch to = split.side(c[row], column.missing());
                    if (to == Branch::None) to = split.missing_to;
                    parts[static_cast<int>(to)].push_back(row);
                }
            });
            for (const Branch side : {Branch::Left, Branch::Right, Branch::Third}) {
                if (parts[static_cast<int>(side)].empty()) continue;
                wanted.push_back({node, side});
                arriving.emplace_back(wanted.back(), std::move(parts[static_cast<int>(side)]));
            }
        }
        grower.grow(std::move(wanted), n_threads);
        standing.clear();
        for (auto& [branch, rows] : arriving) {
            const auto [node, side] = branch;
            const std::int32_t child = side == Branch::Left    ? tree.left[node]
                                       : side == Branch::Right ? tree.right[node]
                                                               : tree.third[node];
            // A third branch has its mother's value: nothing is gained on the way into it.
            if (side != Branch::Third)
                reduction[tree.split.column[node]] +=
                    total_loss(grower, rows, node) - total_loss(grower, rows, child);
            standing.emplace_back(child, std::move(rows));
        }
    }
    return reduction;
}

}  // namespace tritree
