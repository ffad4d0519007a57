#include "model/booster.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"
#include "tree/fractional_predictor.hpp"

namespace tritree {
namespace {

constexpr std::uint64_t kRowSeed = 0x517cc1b727220a95u;  // distinguishes row sampling from paths

}  // namespace

Booster::Booster(BinnedRows rows, std::shared_ptr<const BinnedColumns> columns, Loss loss,
                 const BoostingParameters& boosting, std::shared_ptr<BoostedModel> model,
                 std::vector<double> raw, int n_threads)
    : columns_(std::move(columns)),
      loss_(std::move(loss)),
      boosting_(boosting),
      model_(std::move(model)),
      raw_(std::move(raw)),
      n_threads_(n_threads),
      rows_(std::move(rows)) {
    if (!columns_) rows_.unseen_to_missing(model_->mapper());
    gradients_.resize(loss_.n_rows());
    if (!loss_.has_constant_hessian()) hessians_.resize(loss_.n_rows());
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
    model_->add_trees(std::move(trees));
    if (k > 1) raw_ = std::move(updated);
}

/// Fit the next tree, and add its predictions to `raw`.
BinnedTree Booster::fit_tree(int output, std::size_t number, std::vector<std::uint32_t> rows,
                             std::span<double> raw) {
    const GrowthParameters& params = model_->params();
    const BinMapper& mapper = model_->mapper();
    loss_.derivatives(raw_, output, gradients_, hessians_, n_threads_);
    gradient_pairs_.fill(gradients_, hessians_, loss_.n_rows(), n_threads_);
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
        finish_tree(tree);
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
        finish_tree(tree);
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

/// Finish a fitted tree: multiply its values by the learning rate, and set what follows from its splits and
/// leaves.
void Booster::finish_tree(BinnedTree& tree) const {
    Tree& arrays = tree.arrays;
    arrays.n_fitted = static_cast<std::int32_t>(tree.size());
    for (auto* array : {&arrays.value, &arrays.low, &arrays.high})
        for (double& value : *array) value *= boosting_.learning_rate;
    tree.set_thresholds(0, model_->mapper());
    tree.average_inner_nodes(0);
}

void Booster::add_predictions(BinnedTree& tree, const std::vector<RowRange>& ranges,
                              std::span<const std::uint32_t> rows, std::span<double> raw) const {
    // the leaves of rows are known, except for those that need a third branch or were not sampled
    std::vector<std::uint32_t> others;
    if (rows.size() < loss_.n_rows()) {
        std::vector<bool> sampled(loss_.n_rows(), false);
        for (const std::uint32_t row : rows) sampled[row] = true;
        for (std::size_t row = 0; row < sampled.size(); ++row)
            if (!sampled[row]) others.push_back(static_cast<std::uint32_t>(row));
    }
    for (std::size_t node = 0; node < ranges.size(); ++node) {
        if (tree.is_leaf(static_cast<std::int32_t>(node))) continue;
        const std::size_t begin = ranges[static_cast<std::size_t>(tree.arrays.right[node])].end;
        others.insert(others.end(), rows.begin() + static_cast<std::ptrdiff_t>(begin),
                      rows.begin() + static_cast<std::ptrdiff_t>(ranges[node].end));
    }
    std::vector<std::int32_t> at(others.size(), 0);
    const GrowthParameters& params = model_->params();
    if (const auto background = model_->background(); background && params.has_third())
        ThirdBranchGrower(tree, *background, model_->mapper(), params).traverse(rows_, others, at.data());
    else
        tree.traverse(rows_, others, at.data());
    // nothing below can throw
    const std::vector<double>& values = tree.arrays.value;
    parallel_for(ranges.size(), n_threads_, [&](std::size_t node) {
        if (!tree.is_leaf(static_cast<std::int32_t>(node))) return;
        for (std::size_t i = ranges[node].begin; i < ranges[node].end; ++i) raw[rows[i]] += values[node];
    });
    for (std::size_t i = 0; i < others.size(); ++i) raw[others[i]] += values[static_cast<std::size_t>(at[i])];
}

void Booster::add_fractional_predictions(const BinnedTree& tree, std::span<double> raw) const {
    constexpr std::size_t kBlock = std::size_t{1} << 12;
    parallel_blocks(raw.size(), kBlock, n_threads_, [&](std::size_t begin, std::size_t end) {
        std::vector<double> predictions(end - begin);
        FractionalPredictor().predict(tree, rows_, begin, end, predictions.data());
        for (std::size_t i = begin; i < end; ++i) raw[i] += predictions[i - begin];
    });
}

}  // namespace tritree
