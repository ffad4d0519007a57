#include <algorithm>

#include "booster.hpp"
#include "both_ways.hpp"
#include "core/parallel.hpp"
#include "fractional.hpp"

namespace tritree::boosting {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 12;

}  // namespace

void Booster::grow_fractional(BoostedTree& tree, int output, std::span<const std::uint32_t> rows,
                              std::span<const std::int32_t> columns) const {
    const bool renews = loss_.renews_leaves();
    FractionalGrower grower(rows_, ensemble_->bins(), gradients_, ensemble_->plan(), renews, n_threads_);
    grower.grow(tree, rows, columns);
    if (!renews) return;
    const auto raw =
        std::span(raw_).subspan(static_cast<std::size_t>(output) * loss_.n_rows(), loss_.n_rows());
    parallel_for(tree.size(), n_threads_, [&](std::size_t node) {
        if (!tree.steps[node].is_leaf()) return;
        std::vector<std::uint32_t> in_leaf;
        std::vector<double> shares;
        bool whole = true;
        for (const Part& part : grower.leaves[node]) {
            in_leaf.push_back(part.row);
            shares.push_back(grower.unit().share(part));
            whole &= part.member == grower.unit().whole();
        }
        if (whole) shares.clear();
        const Bounds& bounds = tree.infos[node].bounds;
        const double value = loss_.quantile_left(raw, in_leaf, shares);
        tree.values[node] = std::clamp(value, bounds.low, bounds.high);
    });
}

void Booster::step_both_ways(const BoostedTree& tree, std::span<double> sums) const {
    parallel_blocks(sums.size(), kBlock, n_threads_, [&](std::size_t begin, std::size_t end) {
        std::vector<double> steps(end - begin);
        BothWays().answer(tree, rows_, begin, end, steps.data());
        for (std::size_t i = begin; i < end; ++i) sums[i] += steps[i - begin];
    });
}

}  // namespace tritree::boosting
