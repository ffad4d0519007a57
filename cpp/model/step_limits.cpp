#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "model/booster.hpp"
#include "split/fixed_point.hpp"

namespace tritree {

// A Newton step may raise the loss where second derivatives are small, and with it boosting may diverge. So a
// step that could, by a bound that most steps meet, is halved until the loss of its rows does not rise.

/// Return the sum of `increase_of(group, 0), increase_of(group, 1), ...` for each group of rows, in fixed
/// point: it does not depend on their order, and is 0 where rounding errors may have made it.
template <class Increase>
std::vector<double> Booster::total_increases(std::span<const RowGroup> groups, Increase&& increase_of) {
    constexpr std::size_t kBlock = std::size_t{1} << 13;
    const auto for_blocks = [&](auto&& f) {  // f(group, its values, begin, end)
        std::size_t first = 0;
        for (std::size_t group = 0; group < groups.size(); ++group) {
            const std::size_t n = groups[group].n_rows;
            // gradients are in fixed point by now
            const std::span values = std::span(gradients_).subspan(first, n);
            parallel_blocks(n, kBlock, threads_for(20 * n, n_threads_),
                            [&](std::size_t begin, std::size_t end) { f(group, values, begin, end); });
            first += n;
        }
    };
    std::vector<double> largest(groups.size(), 0);
    std::mutex mutex;
    for_blocks([&](std::size_t group, std::span<double> values, std::size_t begin, std::size_t end) {
        double own = 0;
        for (std::size_t i = begin; i < end; ++i) {
            values[i] = increase_of(group, i);
            const double magnitude = std::abs(values[i]);
            own =
                std::isfinite(magnitude) ? std::max(own, magnitude) : std::numeric_limits<double>::infinity();
        }
        const std::scoped_lock lock(mutex);
        largest[group] = std::max(largest[group], own);
    });
    part_.max(largest);
    std::vector<double> scales;
    for (std::size_t group = 0; group < groups.size(); ++group)
        scales.push_back(scale_to_fit(largest[group], groups[group].n_table_rows));
    std::vector<std::int64_t> sums(2 * groups.size(), 0);  // of values, and of their magnitudes
    for_blocks([&](std::size_t group, std::span<double> values, std::size_t begin, std::size_t end) {
        if (!std::isfinite(largest[group])) return;
        std::int64_t sum = 0, magnitudes = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const std::int64_t units = std::llrint(values[i] * scales[group]);
            sum += units;
            magnitudes += std::abs(units);
        }
        const std::scoped_lock lock(mutex);
        sums[2 * group] += sum;
        sums[2 * group + 1] += magnitudes;
    });
    part_.sum(sums);
    std::vector<double> increases;
    for (std::size_t group = 0; group < groups.size(); ++group) {
        const auto sum = static_cast<double>(sums[2 * group]);
        const auto magnitudes = static_cast<double>(sums[2 * group + 1]);
        if (!std::isfinite(largest[group]))
            increases.push_back(largest[group]);
        else
            increases.push_back(std::abs(sum) <= kNegligible * magnitudes ? 0 : sum / scales[group]);
    }
    return increases;
}

/// Return for each of `n` groups the largest of 1, 1/2, 1/4, ... at which its element of
/// `increases(groups, step)` is not positive; 0 if there is none. Losses are convex: one that rises over the
/// smallest step rises over all of them. This is so for many trees without splits, whose value is a rounding
/// error.
template <class Increases>
std::vector<double> Booster::largest_safe_steps(std::size_t n, Increases&& increases) const {
    constexpr double kSmallest = 0x1p-63;
    std::vector<double> steps(n, 0);
    std::vector<std::size_t> open(n);
    std::iota(open.begin(), open.end(), std::size_t{0});
    const auto close = [&](double step, auto&& may_close) {
        if (open.empty()) return;
        const std::vector<double> increase = increases(std::span<const std::size_t>(open), step);
        std::vector<std::size_t> still_open;
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (!may_close(increase[i]))
                still_open.push_back(open[i]);
            else if (increase[i] <= 0)
                steps[open[i]] = step;
        }
        open = std::move(still_open);
    };
    const auto is_safe = [](double increase) { return increase <= 0; };
    close(1, is_safe);
    // quantile losses and several outputs: differences of losses, which are rounding errors for tiny steps
    const bool is_precise = !loss_.has_quantile_leaves() && loss_.n_outputs == 1;
    if (is_precise) close(kSmallest, [](double increase) { return increase > 0; });
    for (double step = 0.5; step >= kSmallest; step /= 2) close(step, is_safe);
    return steps;
}

/// Halve the values of leaves that would raise the loss of their rows.
void Booster::limit_steps(BinnedTree& tree, const RowPartitioner& samples,
                          std::span<const std::uint32_t> rows) {
    // derivatives of this many units per row are rounded by less than one part in a hundred
    constexpr double kMinUnitsPerRow = 64;
    const double max_safe_step = loss_.max_safe_step(boosting_.learning_rate);
    const GradientScale& scale = gradient_pairs_.scale;
    std::vector<std::size_t> leaves;
    for (std::size_t node = 0; node < tree.size(); ++node) {
        const double value = tree.arrays.value[node];
        if (!tree.is_leaf(static_cast<std::int32_t>(node)) || value == 0) continue;
        const GradientSums sums = scale.to_float(samples.leaf_totals[node]);
        const double min_units = kMinUnitsPerRow * static_cast<double>(scale.rows(samples.leaf_totals[node]));
        const bool is_precise = std::abs(sums.gradient) >= min_units * scale.gradient_unit &&
                                (scale.constant_hessian || sums.hessian >= min_units * scale.hessian_unit);
        if (!is_precise || std::abs(value) > max_safe_step) leaves.push_back(node);
    }
    const std::vector<double> steps =
        largest_safe_steps(leaves.size(), [&](std::span<const std::size_t> open, double step) {
            std::vector<RowGroup> groups;
            for (const std::size_t i : open) groups.push_back(rows_of_leaf(samples, leaves[i]));
            return total_increases(groups, [&](std::size_t group, std::size_t i) {
                const std::size_t leaf = leaves[open[group]];
                const std::uint32_t row = rows[samples.ranges[leaf].begin + i];
                return loss_.increase(row, raw_[row], step * tree.arrays.value[leaf]);
            });
        });
    for (std::size_t i = 0; i < leaves.size(); ++i) tree.arrays.value[leaves[i]] *= steps[i];
}

Booster::RowGroup Booster::rows_of_leaf(const RowPartitioner& samples, std::size_t leaf) const {
    const auto n_table_rows = samples.n_rows(samples.leaf_totals[leaf]);
    return {samples.ranges[leaf].size(), static_cast<std::size_t>(n_table_rows)};
}

/// Halve a tree while it would raise the loss of the training rows. That of rows in leaves does not rise, but
/// that of others, which are at nodes by now, may.
void Booster::limit_tree(BinnedTree& tree, const RowPartitioner& samples, std::span<const std::uint32_t> rows,
                         const PlacedRows& others) {
    const std::vector<double>& values = tree.arrays.value;
    std::vector<RowGroup> groups;
    std::vector<std::size_t> leaves;
    for (std::size_t node = 0; node < samples.ranges.size(); ++node) {
        if (!tree.is_leaf(static_cast<std::int32_t>(node))) continue;
        leaves.push_back(node);
        groups.push_back(rows_of_leaf(samples, node));
    }
    const RowGroup all_others{others.rows.size(), others.n_table_rows};
    const auto increase_of_others = [&](double step) {
        return total_increases({&all_others, 1}, [&](std::size_t, std::size_t i) {
            const std::uint32_t row = others.rows[i];
            return loss_.increase(row, raw_[row], step * values[static_cast<std::size_t>(others.nodes[i])]);
        })[0];
    };
    const auto increase_of_leaves = [&](double step) {
        const std::vector<double> increases = total_increases(groups, [&](std::size_t group, std::size_t i) {
            const std::uint32_t row = rows[samples.ranges[leaves[group]].begin + i];
            return loss_.increase(row, raw_[row], step * values[leaves[group]]);
        });
        return std::accumulate(increases.begin(), increases.end(), 0.0);
    };
    const double step = largest_safe_steps(1, [&](std::span<const std::size_t>, double factor) {
        const double increase = increase_of_others(factor);
        return std::vector{increase <= 0 ? increase : increase + increase_of_leaves(factor)};
    })[0];
    if (step < 1) tree.scale_values(step);
}

/// Halve the trees of an iteration, one per output, while they would raise the loss of the training rows.
void Booster::limit_iteration(std::vector<BinnedTree>& trees, std::vector<double>& updated) {
    const std::size_t n = loss_.n_rows();
    const double max_safe_step = loss_.max_safe_step(boosting_.learning_rate);
    double largest = 0;
    bool all_in_leaves = boosting_.subsample == 1;
    for (const BinnedTree& tree : trees) {
        for (const double value : tree.arrays.value) largest = std::max(largest, std::abs(value));
        all_in_leaves = all_in_leaves && tree.arrays.n_grown() == 0;
    }
    if (all_in_leaves && largest <= max_safe_step) return;
    const RowGroup all{n, part_.n_rows};
    const double step = largest_safe_steps(1, [&](std::span<const std::size_t>, double factor) {
        return total_increases({&all, 1}, [&](std::size_t, std::size_t row) {
            const auto raw = [&](int k) { return raw_[row + static_cast<std::size_t>(k) * n]; };
            const auto added = [&](int k) {
                return factor * (updated[row + static_cast<std::size_t>(k) * n] - raw(k));
            };
            return loss_.softmax_increase(row, raw, added);
        });
    })[0];
    if (step == 1) return;
    updated = raw_;
    for (std::size_t output = 0; output < trees.size(); ++output) {
        trees[output].scale_values(step);
        add_tree(trees[output], std::span(updated).subspan(output * n, n));
    }
}

/// Halve a tree of fractional rows while it would raise the loss of the training rows.
void Booster::limit_fractional_tree(BinnedTree& tree) {
    const UninitializedVector<double> predictions = fractional_predictions(tree);
    const RowGroup all{predictions.size(), part_.n_rows};
    const double step = largest_safe_steps(1, [&](std::span<const std::size_t>, double factor) {
        return total_increases({&all, 1}, [&](std::size_t, std::size_t row) {
            return loss_.increase(row, raw_[row], factor * predictions[row]);
        });
    })[0];
    if (step < 1) tree.scale_values(step);
}

}  // namespace tritree
