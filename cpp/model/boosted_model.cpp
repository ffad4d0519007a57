#include "model/boosted_model.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "common/require.hpp"
#include "data/content_sampling.hpp"
#include "data/row_selection.hpp"
#include "tree/perfect_tree.hpp"

namespace tritree {
namespace {

constexpr std::size_t kBlock = 512;  // rows of a block stay in the L1 cache
constexpr std::size_t kMinRowsForPerfectTrees = 256;

}  // namespace

BoostedModel::BoostedModel(BinMapper mapper, const GrowthParameters& params, std::vector<double> baseline)
    : GrowingModel(params, mapper.n_columns(), baseline.size()),
      mapper_(std::move(mapper)),
      baseline_(std::move(baseline)) {
    require(n_columns_ <= 65535, "more than 65,535 columns");
    require_valid(params.validate_boosting(n_columns_));
    require(params.n_classes == 0, "a boosted model with classes of its own");
    require(!baseline_.empty(), "no outputs");
    for (const double value : baseline_) require(std::isfinite(value), "baseline is not finite");
}

std::shared_ptr<const BackgroundRows> BoostedModel::background() const {
    const ReadLock lock(mutex_);
    return background_;
}

void BoostedModel::set_background(std::shared_ptr<const BackgroundRows> background) {
    const WriteLock lock(mutex_);
    background_ = std::move(background);
    ++version_;
    background_sums_ = {};
}

void BoostedModel::keep_background(const BinnedColumns& binned, std::span<const double> weight,
                                   std::size_t max_rows, int n_threads) {
    require(mapper_.matches(binned), "columns that the model was not created with");
    require(max_rows > 0 && binned.n_rows > 0, "no background rows");
    require(weight.empty() || weight.size() == binned.n_rows, "columns and weights of different lengths");
    const std::vector<std::int64_t> rows =
        sample_by_hash(hash_rows(binned, params_.seed, n_threads), weight, max_rows).rows;
    std::vector<double> weights;
    for (std::size_t i = 0; !weight.empty() && i < rows.size(); ++i)
        weights.push_back(weight[static_cast<std::size_t>(rows[i])]);
    set_background(take_rows(binned, rows), std::move(weights), n_threads);
}

void BoostedModel::set_background(const BinnedColumns& sampled, std::vector<double> weight, int n_threads) {
    require(mapper_.matches(sampled), "columns that the model was not created with");
    require(sampled.n_rows > 0, "no background rows");
    require(weight.empty() || weight.size() == sampled.n_rows, "columns and weights of different lengths");
    if (!weight.empty()) require_valid(validate_weights(weight));
    const double mean =
        std::accumulate(weight.begin(), weight.end(), 0.0) / static_cast<double>(weight.size());
    if (mean > 0 && std::isfinite(mean))
        for (double& w : weight) w /= mean;
    set_background(std::make_shared<const BackgroundRows>(to_rows(sampled, mapper_, nullptr, n_threads),
                                                          std::move(weight), mapper_));
}

void BoostedModel::add_trees(std::vector<BinnedTree> trees) {
    const WriteLock lock(mutex_);
    for (BinnedTree& tree : trees) trees_.push_back(std::move(tree));
}

void BoostedModel::keep_iterations(std::size_t n) {
    const WriteLock lock(mutex_);
    trees_.resize(std::min(trees_.size() / n_outputs_, n) * n_outputs_);
    ++version_;
    background_sums_ = {};
}

std::shared_ptr<GrowingModel> BoostedModel::copy() const {
    const ReadLock lock(mutex_);
    auto model = std::make_shared<BoostedModel>(mapper_, params_, baseline_);
    model->trees_ = trees_;
    model->background_ = background_;
    return model;
}

PredictionRows BoostedModel::prepare(TableView table, int n_threads) const {
    PredictionRows rows = GrowingModel::prepare(std::move(table), n_threads);
    rows.binned = bin_rows(rows.table, mapper_, n_threads);
    return rows;
}

/// Traverse rows block by block, and call `take(first_row, tree_index, nodes)` for each block and tree in
/// order.
template <class F>
void BoostedModel::traverse_blocks(const BinnedRows& rows, std::size_t first_tree, std::size_t end_tree,
                                   int n_threads, F&& take) const {
    const int n = threads_for(10 * rows.n_rows() * (end_tree - first_tree), n_threads);
    PerfectTrees complete;
    if (rows.n_rows() >= kMinRowsForPerfectTrees) {
        std::vector<const BinnedTree*> trees;
        for (std::size_t number = first_tree; number < end_tree; ++number) trees.push_back(&trees_[number]);
        complete = PerfectTrees(trees, mapper_);
    }
    parallel_blocks(rows.n_rows(), kBlock, n, [&](std::size_t first, std::size_t last) {
        std::array<std::int32_t, kBlock> at, incomplete_at;
        std::vector<std::uint32_t> incomplete;
        if (!complete.empty()) incomplete = complete.incomplete_rows(rows, first, last);
        const bool mostly_complete = !complete.empty() && 2 * incomplete.size() < last - first;
        for (std::size_t number = first_tree; number < end_tree; ++number) {
            const BinnedTree& tree = trees_[number];
            if (mostly_complete && complete[number - first_tree].is_supported()) {
                complete[number - first_tree].traverse(rows, first, last, at.data());
                std::fill_n(incomplete_at.begin(), incomplete.size(), 0);
                tree.traverse(rows, incomplete, incomplete_at.data());
                for (std::size_t i = 0; i < incomplete.size(); ++i)
                    at[incomplete[i] - first] = incomplete_at[i];
            } else {
                std::fill_n(at.begin(), last - first, 0);
                tree.traverse(rows, first, last, at.data());
            }
            take(first, number, std::span<const std::int32_t>(at.data(), last - first));
        }
    });
}

GrowingModel::TraversalResult BoostedModel::traverse(const PredictionRows& rows, std::size_t first_tree,
                                                     std::size_t end_tree, const PredictionOutput& output,
                                                     int n_threads) const {
    const std::size_t k = n_outputs_, n_trees = end_tree - first_tree;
    // the baseline is part of the first iteration
    for (std::size_t i = 0; output.values != nullptr && i < rows.n_rows() * k; ++i)
        output.values[i] = first_tree == 0 ? baseline_[i % k] : 0;
    if (output.variance != nullptr) std::fill_n(output.variance, rows.n_rows() * k, 0.0);
    if (params_.missing == Strategy::Fractional) {
        traverse_fractional(rows.binned, first_tree, end_tree, output, n_threads);
        return {};
    }
    std::vector<std::atomic<std::int64_t>> n_ungrown(n_trees);
    traverse_blocks(rows.binned, first_tree, end_tree, n_threads,
                    [&](std::size_t first, std::size_t number, std::span<const std::int32_t> nodes) {
                        const Tree& tree = trees_[number].arrays;
                        std::int64_t ungrown = 0;
                        if (output.values != nullptr) {
                            double* const values = output.values + first * k + number % k;
                            for (std::size_t i = 0; i < nodes.size(); ++i)
                                values[i * k] += tree.value[static_cast<std::size_t>(nodes[i])];
                        }
                        for (const std::int32_t node : nodes) ungrown += !trees_[number].is_leaf(node);
                        if (output.variance != nullptr && !tree.variance.empty()) {
                            double* const variance = output.variance + first * k + number % k;
                            for (std::size_t i = 0; i < nodes.size(); ++i)
                                variance[i * k] += tree.variance[static_cast<std::size_t>(nodes[i])];
                        }
                        if (output.nodes != nullptr)
                            for (std::size_t i = 0; i < nodes.size(); ++i)
                                output.nodes[(first + i) * n_trees + number - first_tree] = nodes[i];
                        if (ungrown > 0) n_ungrown[number - first_tree] += ungrown;
                    });
    TraversalResult result;
    for (std::size_t i = 0; i < n_trees; ++i) {
        result.n_ungrown += n_ungrown[i];
        if (n_ungrown[i] > 0 && can_grow(trees_[first_tree + i]))
            result.trees_to_grow.push_back(first_tree + i);
    }
    return result;
}

void BoostedModel::traverse_fractional(const BinnedRows& rows, std::size_t first_tree, std::size_t end_tree,
                                       const PredictionOutput& output, int n_threads) const {
    const std::size_t k = n_outputs_, n_trees = end_tree - first_tree;
    const int n = threads_for(10 * rows.n_rows() * n_trees, n_threads);
    parallel_blocks(rows.n_rows(), kBlock, n, [&](std::size_t first, std::size_t last) {
        FractionalPredictor predictor;
        std::array<double, kBlock> predictions;
        std::array<std::int32_t, kBlock> nodes;
        for (std::size_t number = first_tree; number < end_tree; ++number) {
            if (output.values != nullptr) {
                predictor.predict(trees_[number], rows, first, last, predictions.data());
                for (std::size_t row = first; row < last; ++row)
                    output.values[row * k + number % k] += predictions[row - first];
            }
            if (output.nodes != nullptr) {
                predictor.apply(trees_[number], rows, first, last, nodes.data());
                for (std::size_t row = first; row < last; ++row)
                    output.nodes[row * n_trees + number - first_tree] = nodes[row - first];
            }
        }
    });
}

/// Return for each of some trees, in ascending order, the sum of the preceding trees for the background rows.
std::vector<std::vector<double>> BoostedModel::sums_before(std::span<const std::size_t> trees,
                                                           BackgroundSums& sums, int n_threads) const {
    std::vector<std::vector<double>> found(trees.size());
    if (!params_.estimates_variance) return found;
    const std::size_t n = background_->rows.n_rows(), k = n_outputs_;
    sums.sums.resize(n * k);
    for (auto& of_tree : found) of_tree.resize(n);
    parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::array<std::int32_t, kBlock> at;
        std::size_t number = sums.n_trees;
        for (std::size_t i = 0; i < trees.size(); ++i) {
            for (; number < std::min(trees[i], trees_.size()); ++number) {
                const BinnedTree& tree = trees_[number];
                std::fill_n(at.begin(), end - begin, 0);
                tree.traverse(background_->rows, begin, end, at.data());
                double* const into = sums.sums.data() + number % k * n;
                for (std::size_t row = begin; row < end; ++row)
                    into[row] += tree.arrays.value[static_cast<std::size_t>(at[row - begin])];
            }
            const double* const own = sums.sums.data() + trees[i] % k * n;
            std::copy(own + begin, own + end, found[i].data() + begin);
        }
    });
    sums.n_trees = std::max(sums.n_trees, std::min(trees.back(), trees_.size()));
    return found;
}

/// Take the cached sums if they are of trees before `first_tree`, else empty ones.
BoostedModel::BackgroundSums BoostedModel::take_sums(std::size_t first_tree) {
    const WriteLock lock(mutex_);
    if (background_sums_.n_trees <= first_tree && background_sums_.version == version_)
        return std::exchange(background_sums_, {});
    BackgroundSums none;
    none.version = version_;
    return none;
}

void BoostedModel::return_sums(BackgroundSums sums) {
    const WriteLock lock(mutex_);
    if (sums.version == version_) background_sums_ = std::move(sums);
}

void BoostedModel::grow_for(const PredictionRows& rows, std::span<const std::size_t> trees, int n_threads,
                            const CheckSignals& check_signals) {
    BackgroundSums sums = take_sums(trees.front());
    std::vector<std::uint32_t> all(rows.n_rows());
    std::iota(all.begin(), all.end(), 0u);
    const std::size_t batch = trees_between_signals(all.size(), n_threads);
    for (std::size_t first = 0; first < trees.size(); first += batch) {
        if (check_signals) check_signals();
        const WriteLock lock(mutex_);
        if (background_ == nullptr) return;
        const auto batch_trees = trees.subspan(first, std::min(batch, trees.size() - first));
        const std::vector<std::vector<double>> previous = sums_before(batch_trees, sums, n_threads);
        parallel_for(batch_trees.size(), n_threads, [&](std::size_t i) {
            if (batch_trees[i] >= trees_.size()) return;
            std::vector<std::int32_t> at(rows.n_rows(), 0);
            ThirdBranchGrower(trees_[batch_trees[i]], *background_, mapper_, params_, n_threads, previous[i])
                .traverse(rows.binned, all, at.data());
        });
    }
    return_sums(std::move(sums));
}

void BoostedModel::grow_for_background(int n_threads, const CheckSignals& check_signals) {
    BackgroundSums sums = take_sums(0);
    for (std::size_t number = 0;; ++number) {
        if (check_signals) check_signals();
        const WriteLock lock(mutex_);
        if (number >= trees_.size() || background_ == nullptr) break;
        const std::vector<std::vector<double>> previous = sums_before({&number, 1}, sums, n_threads);
        std::vector<std::uint32_t> all(background_->rows.n_rows());
        std::iota(all.begin(), all.end(), 0u);
        std::vector<std::int32_t> at(all.size(), 0);
        ThirdBranchGrower(trees_[number], *background_, mapper_, params_, n_threads, previous[0])
            .traverse(background_->rows, all, at.data());
    }
    return_sums(std::move(sums));
}

// trees grow one by one, so that the limit does not depend on threads
std::int64_t BoostedModel::grow_some(std::int64_t max_new_nodes, int n_threads) {
    std::size_t first_tree = 0;
    {
        const ReadLock lock(mutex_);
        while (first_tree < trees_.size() && trees_[first_tree].arrays.n_ungrown() == 0) ++first_tree;
    }
    BackgroundSums sums = take_sums(first_tree);
    std::int64_t n_ungrown = 0;
    {
        const WriteLock lock(mutex_);
        for (std::size_t number = first_tree; number < trees_.size(); ++number) {
            BinnedTree& tree = trees_[number];
            if (max_new_nodes > 0 && can_grow(tree) && tree.arrays.n_ungrown() > 0) {
                const std::vector<std::vector<double>> previous = sums_before({&number, 1}, sums, n_threads);
                ThirdBranchGrower grower(tree, *background_, mapper_, params_, n_threads, previous[0]);
                const std::size_t before = tree.size();
                for (std::int32_t node = 0; node < static_cast<std::int32_t>(before); ++node)
                    if (tree.needs_third(node) &&
                        static_cast<std::int64_t>(tree.size() - before) < max_new_nodes)
                        grower.grow_branches({node});
                max_new_nodes -= static_cast<std::int64_t>(tree.size() - before);
            }
            n_ungrown += tree.arrays.n_ungrown();
        }
        if (background_ == nullptr) return n_ungrown;
    }
    return_sums(std::move(sums));
    return n_ungrown;
}

std::vector<double> BoostedModel::importances(int) {
    const ReadLock lock(mutex_);
    std::vector<double> total(n_columns_, 0.0);
    for (const BinnedTree& binned : trees_) {
        std::vector<double> own(n_columns_, 0.0);
        for (std::size_t node = 0; node < static_cast<std::size_t>(binned.arrays.n_fitted); ++node)
            if (!binned.arrays.is_leaf(node)) own[binned.nodes[node].column] += binned.arrays.gain[node];
        for (std::size_t j = 0; j < n_columns_; ++j) total[j] += own[j];
    }
    return total;
}

}  // namespace tritree
