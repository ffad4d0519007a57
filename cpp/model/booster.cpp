#include "model/booster.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"
#include "common/require.hpp"
#include "split/fixed_point.hpp"
#include "tree/fractional_predictor.hpp"

namespace tritree {
namespace {

/// Larger tables are kept as rows only, and fitted in 1.45 x the time.
constexpr std::size_t kMaxCellsKeptTwice = std::size_t{1} << 30;
constexpr std::size_t kRowsPerBlock = std::size_t{1} << 12;
constexpr std::uint64_t kRowSeed = 0x517cc1b727220a95u;  // distinguishes row sampling from paths

void scale_values(BinnedTree& tree, double factor) {
    for (auto* array : {&tree.arrays.value, &tree.arrays.low, &tree.arrays.high})
        for (double& value : *array) value *= factor;
}

}  // namespace

const char* BoostingParameters::validate() const {
    if (!std::isfinite(learning_rate) || learning_rate <= 0) return "learning rate out of range";
    return subsample > 0 && subsample <= 1 ? nullptr : "subsample out of range";
}

Booster::Booster(Loss loss, const BoostingParameters& boosting, std::shared_ptr<BoostedModel> model,
                 int n_threads)
    : loss_(std::move(loss)), boosting_(boosting), model_(std::move(model)), n_threads_(n_threads) {
    loss_.n_outputs = static_cast<int>(model_->n_outputs());
    require_valid(loss_.validate());
    require_valid(boosting_.validate());
    gradients_.resize(loss_.n_rows());
    if (!loss_.has_constant_hessian()) hessians_.resize(loss_.n_rows());
    set_initial_hessians();
}

Booster::Booster(std::shared_ptr<const BinnedColumns> columns, Loss loss, const BoostingParameters& boosting,
                 std::shared_ptr<BoostedModel> model, int n_threads)
    : Booster(std::move(loss), boosting, std::move(model), n_threads) {
    require(model_->mapper().matches(*columns), "columns that the model was not created with");
    require(columns->n_rows == loss_.n_rows(), "columns, target and weights of different lengths");
    rows_ = to_rows(*columns, model_->mapper(), nullptr, n_threads_);
    if (columns->n_rows * columns->columns.size() <= kMaxCellsKeptTwice) columns_ = std::move(columns);
    for (const double start : model_->baseline()) raw_.insert(raw_.end(), loss_.n_rows(), start);
}

Booster::Booster(const TableView& table, std::vector<double> raw, Loss loss,
                 const BoostingParameters& boosting, std::shared_ptr<BoostedModel> model, int n_threads)
    : Booster(std::move(loss), boosting, std::move(model), n_threads) {
    require(table.columns.size() == model_->n_columns(), "wrong number of columns");
    require(table.n_rows == loss_.n_rows() && raw.size() == loss_.n_rows() * model_->n_outputs(),
            "columns, target and weights of different lengths");
    require(std::all_of(raw.begin(), raw.end(), [](double value) { return std::isfinite(value); }),
            "raw predictions are not finite");
    raw_ = std::move(raw);
    rows_ = bin_rows(table, model_->mapper(), n_threads_);
    rows_.unseen_to_missing(model_->mapper());
}

void Booster::set_initial_hessians() {
    if (hessians_.empty()) return;
    std::vector<double> raw;
    for (const double start : model_->baseline()) raw.insert(raw.end(), loss_.n_rows(), start);
    for (int output = 0; output < loss_.n_outputs; ++output) {
        loss_.derivatives(raw, output, gradients_, hessians_, n_threads_);
        gradient_pairs_.fill(gradients_, hessians_, loss_.n_rows(), n_threads_);
        initial_hessians_.push_back(gradient_pairs_.scale.total_hessian);
    }
}

/// Return the L2 regularisation of the next tree. As predicted probabilities approach 0 and 1, second
/// derivatives vanish, and a constant would keep a model from ever becoming sure. In proportion to their mean
/// it would be a number of rows, too few for small noisy tables; the square root is best for both. For k > 2
/// equally likely classes a second derivative is (k - 1) / k² instead of a quarter.
double Booster::l2_of(int output) const {
    double l2 = model_->params().l2;
    if (initial_hessians_.empty()) return l2;
    if (const double k = loss_.n_outputs; k > 1) l2 *= 4 * (k - 1) / (k * k);
    const double initial = initial_hessians_[static_cast<std::size_t>(output)];
    const double ratio = initial > 0 ? gradient_pairs_.scale.total_hessian / initial : 1;
    return ratio < 1 ? l2 * std::sqrt(ratio) : l2;
}

std::vector<std::uint32_t> Booster::sample_rows_of(std::size_t iteration) const {
    const std::size_t n = loss_.n_rows();
    const auto sampled = static_cast<std::size_t>(std::ceil(boosting_.subsample * static_cast<double>(n)));
    return sample_rows(n, std::max<std::size_t>(sampled, 1),
                       hash_seed(model_->params().seed ^ kRowSeed, iteration));
}

void Booster::boost(const CheckSignals& check_signals) {
    const std::size_t n = loss_.n_rows(), k = model_->n_outputs(), n_trees = model_->n_trees();
    std::vector<std::uint32_t> sampled = sample_rows_of(n_trees / k);
    std::vector<BinnedTree> trees;
    // the trees of an iteration are all fitted to the predictions before it; a single one can update them in
    // place
    std::vector<double> updated;
    if (k > 1) updated = raw_;
    const std::span<double> raw = k > 1 ? updated : raw_;
    for (std::size_t output = 0; output < k; ++output) {
        if (check_signals) check_signals();
        const bool last = output + 1 == k;
        trees.push_back(fit_tree(static_cast<int>(output), n_trees + output,
                                 last ? std::move(sampled) : sampled, raw.subspan(output * n, n)));
    }
    if (k > 1) limit_iteration(trees, updated);
    for (BinnedTree& tree : trees) tree.shrink_to_fit();
    model_->add_trees(std::move(trees));
    if (k > 1) raw_ = std::move(updated);
}

/// Fit the next tree, and add its predictions to `raw`.
BinnedTree Booster::fit_tree(int output, std::size_t number, std::vector<std::uint32_t> rows,
                             std::span<double> raw) {
    const BinMapper& mapper = model_->mapper();
    loss_.derivatives(raw_, output, gradients_, hessians_, n_threads_);
    gradient_pairs_.fill(gradients_, hessians_, loss_.n_rows(), n_threads_);
    GrowthParameters params = model_->params();
    params.l2 = l2_of(output);
    BinnedTree tree;
    tree.add_root(hash_seed(params.seed, number), params);
    std::vector<std::int32_t> columns(mapper.n_columns());
    std::iota(columns.begin(), columns.end(), 0);
    const BinnedData data{rows_, columns_.get()};
    const auto before = std::span<const double>(raw_).subspan(
        static_cast<std::size_t>(output) * loss_.n_rows(), loss_.n_rows());
    if (params.missing == Strategy::Fractional) {
        FractionalRowPartitioner samples(data, mapper, gradient_pairs_, params, rows,
                                         loss_.has_quantile_leaves(), n_threads_);
        BoostedGrower<FractionalRowPartitioner>(samples, mapper, params, n_threads_)
            .grow(tree, columns, params.max_depth);
        if (loss_.has_quantile_leaves()) samples.leaves.resize(tree.size());
        update_leaves(tree, [&](std::size_t leaf) {
            std::vector<std::uint32_t> in_leaf;
            std::vector<double> fractions;
            bool whole = true;
            for (const FractionalSample& sample : samples.leaves[leaf]) {
                in_leaf.push_back(sample.row);
                fractions.push_back(samples.scale().fraction(sample));
                whole &= sample.membership == samples.scale().whole();
            }
            if (whole) fractions.clear();
            return loss_.residual_quantile(before, in_leaf, fractions);
        });
        shrink(tree);
        finish(tree);
        add_fractional_predictions(tree, raw);
    } else {
        RowPartitioner samples(data, mapper, gradient_pairs_, params, rows, n_threads_);
        BoostedGrower<RowPartitioner>(samples, mapper, params, n_threads_)
            .grow(tree, columns, params.max_depth);
        update_leaves(tree, [&](std::size_t leaf) {
            const RowRange range = samples.ranges[leaf];
            return loss_.residual_quantile(
                before, std::span<const std::uint32_t>(rows).subspan(range.begin, range.size()));
        });
        shrink(tree);
        // halving single leaves could break a monotonic constraint
        const bool may_limit_leaves = params.monotonic.empty() || tree.size() == 1;
        if (may_limit_leaves && loss_.n_outputs == 1) limit_steps(tree, samples, rows);
        finish(tree);
        add_predictions(tree, samples.ranges, rows, raw);
    }
    return tree;
}

/// Set the values of leaves to quantiles of residuals, if the loss requires it.
template <class LeafValue>
void Booster::update_leaves(BinnedTree& tree, LeafValue&& value_of) const {
    if (!loss_.has_quantile_leaves()) return;
    parallel_for(tree.size(), n_threads_, [&](std::size_t node) {
        const auto number = static_cast<std::int32_t>(node);
        if (!tree.is_leaf(number)) return;
        const ValueBounds bounds = tree.bounds(number);
        tree.arrays.value[node] = std::clamp(value_of(node), bounds.low, bounds.high);
    });
}

/// Multiply the values of a fitted tree by the learning rate.
void Booster::shrink(BinnedTree& tree) const {
    tree.arrays.n_fitted = static_cast<std::int32_t>(tree.size());
    scale_values(tree, boosting_.learning_rate);
}

/// Set what follows from the values of leaves and the splits.
void Booster::finish(BinnedTree& tree) const {
    tree.set_thresholds(0, model_->mapper());
    tree.average_inner_nodes(0);
}

// A Newton step may raise the loss where second derivatives are small, and with it boosting may diverge. So a
// step that could, by a bound that most steps meet, is halved until the loss of its rows does not rise.

/// Return the sum of `increase_of(0) ... increase_of(n - 1)` in fixed point: it does not depend on their
/// order, and is 0 where rounding errors may have made it.
template <class Increase>
double Booster::total_increase(std::size_t n, Increase&& increase_of) {
    constexpr std::size_t kBlock = std::size_t{1} << 13;
    const std::span increases = std::span(gradients_).first(n);  // gradients are in fixed point by now
    std::vector<double> largest((n + kBlock - 1) / kBlock, 0);
    std::vector<std::int64_t> sums(largest.size(), 0), magnitudes(largest.size(), 0);
    const int n_threads = threads_for(20 * n, n_threads_);
    parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            increases[i] = increase_of(i);
            const double magnitude = std::abs(increases[i]);
            largest[begin / kBlock] = std::isfinite(magnitude) ? std::max(largest[begin / kBlock], magnitude)
                                                               : std::numeric_limits<double>::infinity();
            if (!std::isfinite(magnitude)) return;
        }
    });
    const double bound = n > 0 ? *std::max_element(largest.begin(), largest.end()) : 0;
    if (!std::isfinite(bound)) return bound;
    const double scale = scale_to_fit(bound, n);
    parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const std::int64_t units = std::llrint(increases[i] * scale);
            sums[begin / kBlock] += units;
            magnitudes[begin / kBlock] += std::abs(units);
        }
    });
    const auto add_up = [](const std::vector<std::int64_t>& parts) {
        return static_cast<double>(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}));
    };
    const double sum = add_up(sums);
    const bool may_be_rounding = std::abs(sum) <= kNegligible * add_up(magnitudes);
    return may_be_rounding ? 0 : sum / scale;
}

/// Return the largest of 1, 1/2, 1/4, ... at which `increase` is not positive; 0 if there is none. Losses are
/// convex: one that rises over the smallest step rises over all of them. This is so for many trees without
/// splits, whose value is a rounding error.
template <class Increase>
double Booster::largest_safe_step(Increase&& increase) {
    constexpr double kSmallest = 0x1p-63;
    if (increase(1.0) <= 0) return 1;
    // quantile losses and several outputs: differences of losses, which are rounding errors for tiny steps
    const bool is_precise = !loss_.has_quantile_leaves() && loss_.n_outputs == 1;
    if (is_precise && increase(kSmallest) > 0) return 0;
    for (double step = 0.5; step >= kSmallest; step /= 2)
        if (increase(step) <= 0) return step;
    return 0;
}

/// Halve the values of leaves that would raise the loss of their rows.
void Booster::limit_steps(BinnedTree& tree, const RowPartitioner& samples,
                          std::span<const std::uint32_t> rows) {
    // derivatives of this many units per row are rounded by less than one part in a hundred
    constexpr double kMinUnitsPerRow = 64;
    const double max_safe_step = loss_.max_safe_step(boosting_.learning_rate);
    const GradientScale& scale = gradient_pairs_.scale;
    for (std::size_t node = 0; node < tree.size(); ++node) {
        double& value = tree.arrays.value[node];
        if (!tree.is_leaf(static_cast<std::int32_t>(node)) || value == 0) continue;
        const GradientSums sums = scale.to_float(samples.totals[node]);
        const double min_units = kMinUnitsPerRow * static_cast<double>(scale.rows(samples.totals[node]));
        const bool is_precise = std::abs(sums.gradient) >= min_units * scale.gradient_unit &&
                                (scale.constant_hessian || sums.hessian >= min_units * scale.hessian_unit);
        if (is_precise && std::abs(value) <= max_safe_step) continue;
        const RowRange range = samples.ranges[node];
        const auto increase = [&](double step) {
            return total_increase(range.size(), [&](std::size_t i) {
                const std::uint32_t row = rows[range.begin + i];
                return loss_.increase(row, raw_[row], step * value);
            });
        };
        value *= largest_safe_step(increase);
    }
}

/// Halve a tree while it would raise the loss of the training rows. That of rows in leaves does not rise, but
/// that of `others`, which end at the nodes `at`, may.
void Booster::limit_tree(BinnedTree& tree, const std::vector<RowRange>& ranges,
                         std::span<const std::uint32_t> rows, std::span<const std::uint32_t> others,
                         std::span<const std::int32_t> at) {
    const std::vector<double>& values = tree.arrays.value;
    const auto increase_of_others = [&](double step) {
        return total_increase(others.size(), [&](std::size_t i) {
            const std::uint32_t row = others[i];
            return loss_.increase(row, raw_[row], step * values[static_cast<std::size_t>(at[i])]);
        });
    };
    const auto increase_of_leaves = [&](double step) {
        double increase = 0;
        for (std::size_t node = 0; node < ranges.size(); ++node) {
            if (!tree.is_leaf(static_cast<std::int32_t>(node))) continue;
            increase += total_increase(ranges[node].size(), [&](std::size_t i) {
                const std::uint32_t row = rows[ranges[node].begin + i];
                return loss_.increase(row, raw_[row], step * values[node]);
            });
        }
        return increase;
    };
    const double step = largest_safe_step([&](double factor) {
        const double increase = increase_of_others(factor);
        return increase <= 0 ? increase : increase + increase_of_leaves(factor);
    });
    if (step < 1) scale_values(tree, step);
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
    const double step = largest_safe_step([&](double factor) {
        return total_increase(n, [&](std::size_t row) {
            const auto raw = [&](int k) { return raw_[row + static_cast<std::size_t>(k) * n]; };
            const auto added = [&](int k) {
                return factor * (updated[row + static_cast<std::size_t>(k) * n] - raw(k));
            };
            return loss_.softmax_increase(row, raw, added);
        });
    });
    if (step == 1) return;
    for (BinnedTree& tree : trees) scale_values(tree, step);
    for (std::size_t i = 0; i < updated.size(); ++i) updated[i] = raw_[i] + step * (updated[i] - raw_[i]);
}

/// Return the rows whose leaves are not known, in the order of memory, with the nodes from which they go on:
/// those that need a third branch, and those that were not sampled.
Booster::PlacedRows Booster::rows_outside_leaves(const BinnedTree& tree, const std::vector<RowRange>& ranges,
                                                 std::span<const std::uint32_t> rows) const {
    const std::size_t n = loss_.n_rows();
    PlacedRows others;
    std::size_t n_in_leaves = 0;
    for (std::size_t node = 0; node < ranges.size(); ++node)
        if (tree.is_leaf(static_cast<std::int32_t>(node))) n_in_leaves += ranges[node].size();
    if (n_in_leaves == n) return others;
    UninitializedVector<std::int32_t> node_of(n, 0);
    parallel_for(ranges.size(), n_threads_, [&](std::size_t i) {
        const auto node = static_cast<std::int32_t>(i);
        const bool is_leaf = tree.is_leaf(node);
        const std::size_t begin =
            is_leaf ? ranges[i].begin : ranges[static_cast<std::size_t>(tree.arrays.right[i])].end;
        for (std::size_t k = begin; k < ranges[i].end; ++k) node_of[rows[k]] = is_leaf ? kNone : node;
    });
    std::vector<std::size_t> end_of((n + kRowsPerBlock - 1) / kRowsPerBlock);
    parallel_blocks(n, kRowsPerBlock, n_threads_, [&](std::size_t begin, std::size_t end) {
        std::size_t n_others = 0;
        for (std::size_t row = begin; row < end; ++row) n_others += node_of[row] != kNone;
        end_of[begin / kRowsPerBlock] = n_others;
    });
    std::inclusive_scan(end_of.begin(), end_of.end(), end_of.begin());
    others.rows.resize(n - n_in_leaves);
    others.nodes.resize(n - n_in_leaves);
    parallel_blocks(n, kRowsPerBlock, n_threads_, [&](std::size_t begin, std::size_t end) {
        // without a branch to mispredict: each row is written, and the next one over it if it is in a leaf
        std::array<std::uint32_t, kRowsPerBlock> own_rows;
        std::array<std::int32_t, kRowsPerBlock> own_nodes;
        std::size_t n_own = 0;
        for (std::size_t row = begin; row < end; ++row) {
            own_rows[n_own] = static_cast<std::uint32_t>(row);
            own_nodes[n_own] = node_of[row];
            n_own += node_of[row] != kNone;
        }
        const std::size_t to = end_of[begin / kRowsPerBlock] - n_own;
        std::copy_n(own_rows.begin(), n_own, others.rows.begin() + static_cast<std::ptrdiff_t>(to));
        std::copy_n(own_nodes.begin(), n_own, others.nodes.begin() + static_cast<std::ptrdiff_t>(to));
    });
    return others;
}

void Booster::add_predictions(BinnedTree& tree, const std::vector<RowRange>& ranges,
                              std::span<const std::uint32_t> rows, std::span<double> raw) {
    PlacedRows others = rows_outside_leaves(tree, ranges, rows);
    const GrowthParameters& params = model_->params();
    if (const auto background = model_->background(); background && params.has_third())
        ThirdBranchGrower(tree, *background, model_->mapper(), params, n_threads_)
            .traverse(rows_, others.rows, others.nodes.data());
    else
        tree.traverse(rows_, others.rows, others.nodes.data());
    if (loss_.n_outputs == 1 && !others.rows.empty())
        limit_tree(tree, ranges, rows, others.rows, others.nodes);
    const std::vector<double>& values = tree.arrays.value;
    // nothing below can throw
    parallel_for(ranges.size(), n_threads_, [&](std::size_t node) {
        if (!tree.is_leaf(static_cast<std::int32_t>(node))) return;
        for (std::size_t i = ranges[node].begin; i < ranges[node].end; ++i) raw[rows[i]] += values[node];
    });
    parallel_blocks(others.rows.size(), kRowsPerBlock, n_threads_, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            raw[others.rows[i]] += values[static_cast<std::size_t>(others.nodes[i])];
    });
}

void Booster::add_fractional_predictions(BinnedTree& tree, std::span<double> raw) {
    constexpr std::size_t kBlock = std::size_t{1} << 12;
    UninitializedVector<double> predictions(raw.size());
    parallel_blocks(raw.size(), kBlock, n_threads_, [&](std::size_t begin, std::size_t end) {
        FractionalPredictor().predict(tree, rows_, begin, end, predictions.data() + begin);
    });
    double step = 1;
    if (loss_.n_outputs == 1)
        step = largest_safe_step([&](double factor) {
            return total_increase(raw.size(), [&](std::size_t row) {
                return loss_.increase(row, raw_[row], factor * predictions[row]);
            });
        });
    if (step < 1) scale_values(tree, step);
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i] += step * predictions[i];
}

}  // namespace tritree
