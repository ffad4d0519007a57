#include "model/booster.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"
#include "common/require.hpp"
#include "tree/fractional_predictor.hpp"

namespace tritree {
namespace {

/// Larger tables are kept as rows only, and fitted in 1.45 x the time.
constexpr std::size_t kMaxCellsKeptTwice = std::size_t{1} << 30;
constexpr std::size_t kRowsPerBlock = std::size_t{1} << 12;
constexpr std::uint64_t kRowSeed = 0x517cc1b727220a95u;  // distinguishes row sampling from paths

}  // namespace

const char* BoostingParameters::validate() const {
    if (!std::isfinite(learning_rate) || learning_rate <= 0) return "learning rate out of range";
    return subsample > 0 && subsample <= 1 ? nullptr : "subsample out of range";
}

Booster::Booster(Loss loss, const BoostingParameters& boosting, std::shared_ptr<BoostedModel> model,
                 TablePart part, int n_threads)
    : loss_(std::move(loss)),
      boosting_(boosting),
      model_(std::move(model)),
      part_(std::move(part)),
      n_threads_(n_threads) {
    loss_.n_outputs = static_cast<int>(model_->n_outputs());
    require_valid(loss_.validate());
    require_valid(boosting_.validate());
    require(part_.first_row <= part_.n_rows && loss_.n_rows() <= part_.n_rows - part_.first_row,
            "more rows than the table has");
    require(part_.is_whole() || !loss_.has_quantile_leaves(),
            "quantiles of residuals need all rows in one place");
    gradients_.resize(loss_.n_rows());
    if (!loss_.has_constant_hessian()) hessians_.resize(loss_.n_rows());
    set_initial_hessians();
}

Booster::Booster(std::shared_ptr<const BinnedColumns> columns, Loss loss, const BoostingParameters& boosting,
                 std::shared_ptr<BoostedModel> model, TablePart part, int n_threads)
    : Booster(std::move(loss), boosting, std::move(model), std::move(part), n_threads) {
    require(model_->mapper().matches(*columns), "columns that the model was not created with");
    require(columns->n_rows == loss_.n_rows(), "columns, target and weights of different lengths");
    rows_ = to_rows(*columns, model_->mapper(), nullptr, n_threads_);
    if (columns->n_rows * columns->columns.size() <= kMaxCellsKeptTwice) columns_ = std::move(columns);
    for (const double start : model_->baseline()) raw_.insert(raw_.end(), loss_.n_rows(), start);
    add_model();
}

Booster::Booster(const TableView& table, std::vector<double> raw, Loss loss,
                 const BoostingParameters& boosting, std::shared_ptr<BoostedModel> model, int n_threads)
    : Booster(std::move(loss), boosting, std::move(model), TablePart::whole(table.n_rows), n_threads) {
    require(table.columns.size() == model_->n_columns(), "wrong number of columns");
    require(table.n_rows == loss_.n_rows() && raw.size() == loss_.n_rows() * model_->n_outputs(),
            "columns, target and weights of different lengths");
    require(std::all_of(raw.begin(), raw.end(), [](double value) { return std::isfinite(value); }),
            "raw predictions are not finite");
    raw_ = std::move(raw);
    rows_ = bin_rows(table, model_->mapper(), n_threads_);
    rows_.unseen_to_missing(model_->mapper());
}

/// Add the predictions of the trees that the model has.
void Booster::add_model() {
    const std::size_t n = loss_.n_rows(), k = model_->n_outputs();
    model_->inspect([&](const std::vector<BinnedTree>& trees, const auto&) {
        for (std::size_t i = 0; i < trees.size(); ++i)
            add_tree(trees[i], std::span(raw_).subspan(i % k * n, n));
    });
}

void Booster::set_initial_hessians() {
    if (hessians_.empty()) return;
    std::vector<double> raw;
    for (const double start : model_->baseline()) raw.insert(raw.end(), loss_.n_rows(), start);
    for (int output = 0; output < loss_.n_outputs; ++output) {
        loss_.derivatives(raw, output, gradients_, hessians_, n_threads_);
        gradient_pairs_.fill(gradients_, hessians_, part_, n_threads_);
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
    const std::size_t n = part_.n_rows;
    const auto sampled = static_cast<std::size_t>(std::ceil(boosting_.subsample * static_cast<double>(n)));
    return sample_rows(n, std::max<std::size_t>(sampled, 1),
                       hash_seed(model_->params().seed ^ kRowSeed, iteration), part_.first_row,
                       loss_.n_rows());
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
    gradient_pairs_.fill(gradients_, hessians_, part_, n_threads_);
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
        FractionalRowPartitioner samples(data, mapper, gradient_pairs_, rows, part_.n_rows,
                                         loss_.has_quantile_leaves(), n_threads_);
        BoostedGrower<FractionalRowPartitioner>(samples, part_, mapper, params, n_threads_)
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
        RowPartitioner samples(data, mapper, gradient_pairs_, rows, n_threads_);
        BoostedGrower<RowPartitioner>(samples, part_, mapper, params, n_threads_)
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
        add_predictions(tree, samples, rows, raw);
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
    tree.scale_values(boosting_.learning_rate);
}

/// Set what follows from the values of leaves and the splits.
void Booster::finish(BinnedTree& tree) const {
    tree.set_thresholds(0, model_->mapper());
    tree.average_inner_nodes(0);
}

/// Add the predictions of a tree that has all branches that the training rows need.
void Booster::add_tree(const BinnedTree& tree, std::span<double> raw) const {
    if (model_->params().missing == Strategy::Fractional) {
        const UninitializedVector<double> predictions = fractional_predictions(tree);
        for (std::size_t row = 0; row < raw.size(); ++row) raw[row] += predictions[row];
        return;
    }
    UninitializedVector<std::uint32_t> rows(raw.size());
    std::iota(rows.begin(), rows.end(), 0u);
    UninitializedVector<std::int32_t> nodes(raw.size(), 0);
    tree.traverse(rows_, rows, nodes.data());
    for (std::size_t row = 0; row < raw.size(); ++row)
        raw[row] += tree.arrays.value[static_cast<std::size_t>(nodes[row])];
}

/// Return the rows whose leaves are not known, in the order of memory, with the nodes from which they go on:
/// those that need a third branch, and those that were not sampled.
Booster::PlacedRows Booster::rows_outside_leaves(const BinnedTree& tree, const RowPartitioner& samples,
                                                 std::span<const std::uint32_t> rows) const {
    const std::size_t n = loss_.n_rows();
    const std::vector<RowRange>& ranges = samples.ranges;
    PlacedRows others;
    others.n_table_rows = part_.n_rows;
    std::size_t n_in_leaves = 0;
    for (std::size_t node = 0; node < ranges.size(); ++node) {
        if (!tree.is_leaf(static_cast<std::int32_t>(node))) continue;
        const RowGroup leaf = rows_of_leaf(samples, node);
        n_in_leaves += leaf.n_rows;
        others.n_table_rows -= leaf.n_table_rows;
    }
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

/// Grow the third branches that rows need, in all parts of the table, and move the rows to where they end.
void Booster::grow_for(BinnedTree& tree, PlacedRows& placed) const {
    const GrowthParameters& params = model_->params();
    const auto background = model_->background();
    if (!background || !params.has_third()) {
        tree.traverse(rows_, placed.rows, placed.nodes.data());
        return;
    }
    ThirdBranchGrower grower(tree, *background, model_->mapper(), params, n_threads_);
    TraversingRows traversing(rows_, placed.rows, placed.nodes.data());
    for (;;) {
        std::vector<std::int64_t> is_needed(tree.size(), 0);
        for (const std::int32_t node : traversing.advance(tree, n_threads_))
            is_needed[static_cast<std::size_t>(node)] = 1;
        part_.sum(is_needed);
        std::vector<std::int32_t> nodes;
        for (std::size_t node = 0; node < is_needed.size(); ++node)
            if (is_needed[node] > 0) nodes.push_back(static_cast<std::int32_t>(node));
        if (nodes.empty() || grower.is_full()) return;
        grower.grow_branches(nodes);
    }
}

void Booster::add_predictions(BinnedTree& tree, const RowPartitioner& samples,
                              std::span<const std::uint32_t> rows, std::span<double> raw) {
    PlacedRows others = rows_outside_leaves(tree, samples, rows);
    if (others.n_table_rows > 0) {
        grow_for(tree, others);
        if (loss_.n_outputs == 1) limit_tree(tree, samples, rows, others);
    }
    const std::vector<RowRange>& ranges = samples.ranges;
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

UninitializedVector<double> Booster::fractional_predictions(const BinnedTree& tree) const {
    constexpr std::size_t kBlock = std::size_t{1} << 12;
    UninitializedVector<double> predictions(loss_.n_rows());
    parallel_blocks(predictions.size(), kBlock, n_threads_, [&](std::size_t begin, std::size_t end) {
        FractionalPredictor().predict(tree, rows_, begin, end, predictions.data() + begin);
    });
    return predictions;
}

void Booster::add_fractional_predictions(BinnedTree& tree, std::span<double> raw) {
    if (loss_.n_outputs == 1) limit_fractional_tree(tree);
    add_tree(tree, raw);
}

}  // namespace tritree
