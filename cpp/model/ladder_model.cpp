#include "model/ladder_model.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "common/require.hpp"
#include "model/importance.hpp"

namespace tritree {
namespace {

constexpr std::size_t kBlock = 1024;  // rows that one task traverses: they stay in the L2 cache

}  // namespace

LadderModel::LadderModel(const GrowthParameters& params, std::size_t n_columns,
                         std::shared_ptr<const TrainingData> data)
    : GrowingModel(params, n_columns, static_cast<std::size_t>(params.n_outputs())), data_(std::move(data)) {}

GrowthParameters LadderModel::params_of(std::uint64_t seed) const {
    GrowthParameters params = params_;
    params.seed = seed;
    return params;
}

void LadderModel::add_trees(std::span<const std::uint64_t> seeds,
                            std::vector<std::vector<std::uint32_t>> in_bags, int n_threads,
                            const CheckSignals& check_signals, const std::function<void()>& on_tree) {
    if (data_ == nullptr) throw std::logic_error("the training rows have been dropped");
    require(in_bags.empty() || in_bags.size() == seeds.size(), "seeds and samples of different lengths");
    for (const std::vector<std::uint32_t>& rows : in_bags)
        require(
            !rows.empty() && std::is_sorted(rows.begin(), rows.end()) && rows.back() < data_->binned->n_rows,
            "sampled rows out of range or out of order");
    in_bags.resize(seeds.size());
    std::vector<std::unique_ptr<LadderTree>> grown(seeds.size());
    std::vector<std::atomic<bool>> finished(seeds.size());
    auto append = [&] {
        const WriteLock lock(mutex_);
        for (std::size_t i = 0; i < grown.size() && finished[i]; ++i) trees_.push_back(std::move(grown[i]));
    };
    try {
        parallel_for(seeds.size(), n_threads, [&](std::size_t i) {
            auto tree = std::make_unique<LadderTree>();
            tree->seed = seeds[i];
            tree->grower =
                std::make_unique<LadderGrower>(data_, params_of(seeds[i]), std::move(in_bags[i]), tree->tree);
            tree->grower->grow_binary_tree(n_threads, check_signals);
            tree->tree.n_fitted = static_cast<std::int32_t>(tree->tree.size());
            if (!params_.has_third()) {
                tree->distribution = first_nodes_distribution(*tree->grower);
                tree->grower.reset();
            }
            grown[i] = std::move(tree);
            finished[i] = true;
            if (on_tree) on_tree();
        });
    } catch (...) {
        append();
        throw;
    }
    append();
}

/// Traverse all rows of a table; return the number of rows that ended at an ungrown branch. With `checks`, a
/// block of rows is checked for infinite values just before, while it is in the cache.
std::int64_t LadderModel::traverse_tree(const LadderTree& ladder_tree, const TableView& table, double* values,
                                        std::int32_t* nodes, int n_threads, bool checks) const {
    const Tree& tree = ladder_tree.tree;
    const std::size_t k = n_outputs_;
    std::atomic<std::int64_t> n_ungrown{0};
    if (params_.missing == Strategy::Fractional) {
        parallel_blocks(table.n_rows, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
            if (checks) check_finite(table, begin, end);
            std::vector<double> value(k);
            for (std::size_t row = begin; row < end; ++row) {
                std::fill(value.begin(), value.end(), 0.0);
                std::int32_t leaf = 0;
                traverse_fractional(tree, table, row, leaf, value.data());
                if (nodes != nullptr) nodes[row] = leaf;
                if (values != nullptr) std::copy(value.begin(), value.end(), &values[row * k]);
            }
        });
        return 0;
    }
    std::optional<BatchPredictor> predictor;
    if (BatchPredictor::supports(tree, table)) predictor.emplace(tree, table);
    parallel_blocks(table.n_rows, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        if (checks) check_finite(table, begin, end);
        std::array<std::int32_t, kBlock> at;
        at.fill(0);
        Branch branch = Branch::None;
        if (predictor)
            predictor->traverse(begin, end, at.data());
        else
            for (std::size_t row = begin; row < end; ++row)
                tritree::traverse(tree, table, row, at[row - begin], branch);
        std::int64_t ungrown = 0;
        std::vector<double> value(k);
        for (std::size_t row = begin; row < end; ++row) {
            const auto node = static_cast<std::size_t>(at[row - begin]);
            if (tree.weighs_evidence && !tree.is_leaf(node)) {
                std::fill(value.begin(), value.end(), 0.0);
                ungrown += !traverse_fractional(tree, table, row, at[row - begin], value.data());
                if (nodes != nullptr) nodes[row] = at[row - begin];
                if (values != nullptr) std::copy(value.begin(), value.end(), &values[row * k]);
                continue;
            }
            ungrown += params_.has_third() && !tree.is_leaf(node);
            if (nodes != nullptr) nodes[row] = at[row - begin];
            for (std::size_t output = 0; values != nullptr && output < k; ++output)
                values[row * k + output] = tree.value[node * k + output];
        }
        n_ungrown += ungrown;
    });
    return n_ungrown;
}

GrowingModel::TraversalResult LadderModel::traverse(const PredictionRows& rows, std::size_t first_tree,
                                                    std::size_t end_tree, const PredictionOutput& output,
                                                    int n_threads) const {
    const std::size_t n_trees = end_tree - first_tree, n_values = rows.n_rows() * n_outputs_;
    if (n_trees == 1) {
        TraversalResult result;
        const LadderTree& tree = *trees_[first_tree];
        result.n_ungrown = traverse_tree(tree, rows.table, output.values, output.nodes, n_threads, true);
        if (result.n_ungrown > 0 && can_grow(tree)) result.trees_to_grow.push_back(first_tree);
        return result;
    }
    parallel_blocks(rows.n_rows(), kBlock, n_threads,
                    [&](std::size_t begin, std::size_t end) { check_finite(rows.table, begin, end); });
    std::vector<std::int64_t> n_ungrown(n_trees, 0);
    std::vector<std::vector<double>> values(n_trees);
    // Several trees are traversed in parallel, in batches: the predictions of all trees may not fit into
    // memory.
    const bool by_tree = n_trees > 1 && rows.n_rows() > 1;
    const std::size_t batch = by_tree ? 4 * static_cast<std::size_t>(std::max(n_threads, 1)) : 1;
    for (std::size_t begin = 0; begin < n_trees; begin += batch) {
        const std::size_t n = std::min(batch, n_trees - begin);
        parallel_for(n, by_tree ? n_threads : 1, [&](std::size_t i) {
            const std::size_t number = begin + i;
            std::vector<std::int32_t> nodes(output.nodes != nullptr ? rows.n_rows() : 0);
            if (output.values != nullptr) values[number].resize(n_values);
            n_ungrown[number] = traverse_tree(*trees_[first_tree + number], rows.table,
                                              output.values != nullptr ? values[number].data() : nullptr,
                                              output.nodes != nullptr ? nodes.data() : nullptr,
                                              by_tree ? 1 : n_threads, false);
            for (std::size_t row = 0; row < nodes.size(); ++row)
                output.nodes[row * n_trees + number] = nodes[row];
        });
        for (std::size_t number = begin; output.values != nullptr && number < begin + n; ++number) {
            const std::vector<double> own = std::exchange(values[number], {});
            if (number == 0)
                std::copy(own.begin(), own.end(), output.values);
            else
                for (std::size_t i = 0; i < n_values; ++i) output.values[i] += own[i];
        }
    }
    if (output.values != nullptr && n_trees > 1)
        for (std::size_t i = 0; i < n_values; ++i) output.values[i] /= static_cast<double>(n_trees);
    TraversalResult result;
    for (std::size_t i = 0; i < n_trees; ++i) {
        result.n_ungrown += n_ungrown[i];
        if (n_ungrown[i] > 0 && can_grow(*trees_[first_tree + i]))
            result.trees_to_grow.push_back(first_tree + i);
    }
    return result;
}

namespace {

void add_needed(NeededBranches& needed, const NeededBranches& more) {
    needed.parts.insert(needed.parts.end(), more.parts.begin(), more.parts.end());
    needed.branches.insert(needed.branches.end(), more.branches.begin(), more.branches.end());
}

/// Sort branches, and drop those that occur again: several rows may need the same.
void sort_unique(std::vector<BranchRef>& branches) {
    std::sort(branches.begin(), branches.end());
    branches.erase(std::unique(branches.begin(), branches.end()), branches.end());
}

}  // namespace

/// Traverse the moving parts of rows as far as the tree is grown: those that need other than a third branch
/// then wait. Return what the others need.
NeededBranches LadderModel::traverse_moving(const Tree& tree, const TableView& table, GrowingRows& rows,
                                            int n_threads) {
    struct Block {
        NeededBranches third, other;
    };
    const std::vector<RowPart> moving = std::exchange(rows.moving, {});
    std::vector<Block> blocks((moving.size() + kBlock - 1) / kBlock);
    parallel_blocks(moving.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        auto& [third, other] = blocks[begin / kBlock];
        for (std::size_t i = begin; i < end; ++i) find_needed(tree, table, moving[i], third, other);
        sort_unique(third.branches);
        sort_unique(other.branches);
    });
    NeededBranches all_third;
    for (const Block& block : blocks) {
        add_needed(all_third, block.third);
        add_needed(rows.waiting, block.other);
    }
    return all_third;
}

/// Traverse rows as far as the tree is grown, then grow the branches that they need next; return whether
/// there were any.
bool LadderModel::grow_next_branches(LadderTree& ladder_tree, const TableView& table, GrowingRows& rows,
                                     int n_threads) const {
    if (!can_grow(ladder_tree)) return false;
    const Tree& tree = ladder_tree.tree;
    NeededBranches third = traverse_moving(tree, table, rows, n_threads);
    const std::int64_t room = params_.max_third_nodes - tree.n_grown();
    std::vector<BranchRef> branches;
    // Third branches cost almost nothing. Rows that need one continue before other branches are grown, so
    // that all branches of a ladder that rows need are grown together. The other rows wait until then: if all
    // were traversed again after each level of third branches, that would take a fourth of the time.
    if (room > 0 && !third.branches.empty()) {
        rows.moving = std::move(third.parts);
        branches = std::move(third.branches);
    } else {
        add_needed(rows.waiting, third);
        rows.moving = std::exchange(rows.waiting.parts, {});
        branches = std::exchange(rows.waiting.branches, {});
    }
    if (room <= 0)  // evidence has no nodes
        std::erase_if(branches, [](const BranchRef& branch) { return branch.branch != Branch::Both; });
    if (branches.empty()) return false;
    ladder_tree.grower->grow(std::move(branches), n_threads, std::max<std::int64_t>(room, 0));
    return true;
}

void LadderModel::grow_for(const PredictionRows& rows, std::span<const std::size_t> trees, int n_threads,
                           const CheckSignals& check_signals) {
    GrowingRows all;
    all.moving.resize(rows.n_rows());
    for (std::size_t row = 0; row < all.moving.size(); ++row)
        all.moving[row] = {static_cast<std::uint32_t>(row), 0, 1.0};
    if (trees.size() == 1) {  // on all threads, and interruptible in between
        for (bool more = true; more;) {
            if (check_signals) check_signals();
            const WriteLock lock(mutex_);
            more =
                trees[0] < trees_.size() && grow_next_branches(*trees_[trees[0]], rows.table, all, n_threads);
        }
        return;
    }
    const std::size_t batch = trees_between_signals(rows.n_rows(), n_threads);
    for (std::size_t begin = 0; begin < trees.size(); begin += batch) {
        if (check_signals) check_signals();
        const WriteLock lock(mutex_);
        parallel_for(std::min(batch, trees.size() - begin), n_threads, [&](std::size_t i) {
            const std::size_t number = trees[begin + i];
            GrowingRows pending = all;
            while (number < trees_.size() && grow_next_branches(*trees_[number], rows.table, pending, 1)) {
            }
        });
    }
}

std::int64_t LadderModel::grow_some(std::int64_t max_new_nodes, int n_threads) {
    const WriteLock lock(mutex_);
    std::int64_t n_ungrown = 0;
    for (const auto& ladder_tree : trees_) {
        const auto before = static_cast<std::int64_t>(ladder_tree->tree.size());
        if (ladder_tree->grower != nullptr && max_new_nodes > 0)
            ladder_tree->grower->grow_some(max_new_nodes, n_threads);
        max_new_nodes -= static_cast<std::int64_t>(ladder_tree->tree.size()) - before;
        n_ungrown += ladder_tree->tree.n_ungrown();
    }
    return n_ungrown;
}

void LadderModel::grow_branches(std::size_t tree_number, std::vector<BranchRef> branches,
                                std::int64_t max_new_nodes, int n_threads) {
    require(max_new_nodes >= 0, "negative number of nodes");
    const WriteLock lock(mutex_);
    if (tree_number >= trees_.size()) throw std::out_of_range("tree index out of range");
    LadderTree& ladder_tree = *trees_[tree_number];
    if (ladder_tree.grower == nullptr) return;
    for (const auto& [node, branch] : branches)
        if (node < 0 || static_cast<std::size_t>(node) >= ladder_tree.tree.size() || branch < Branch::Left ||
            branch > Branch::Both)
            throw std::out_of_range("branch out of range");
    ladder_tree.grower->grow(std::move(branches), n_threads, max_new_nodes);
}

std::vector<double> LadderModel::importances(int n_threads) {
    const WriteLock lock(mutex_);
    if (params_.has_third() && data_ == nullptr)
        throw std::logic_error("the training rows have been dropped");
    std::vector<double> all(trees_.size() * n_columns_);
    parallel_for(trees_.size(), n_threads, [&](std::size_t i) {
        LadderTree& ladder_tree = *trees_[i];
        const std::vector<double> own = params_.has_third()
                                            ? importances_on_demand(*ladder_tree.grower, n_threads)
                                            : tritree::importances(ladder_tree.tree, params_, n_columns_);
        std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(i * n_columns_));
    });
    return all;
}

void LadderModel::detach() {
    const WriteLock lock(mutex_);
    for (const auto& ladder_tree : trees_) {
        if (ladder_tree->grower == nullptr) continue;
        ladder_tree->distribution = first_nodes_distribution(*ladder_tree->grower);
        ladder_tree->grower.reset();
    }
    data_.reset();
}

void LadderModel::keep_iterations(std::size_t n) {
    const WriteLock lock(mutex_);
    trees_.resize(std::min(trees_.size(), n));
}

namespace {

/// Give third branches to the splits of a tree that send rows both ways.
void add_third_branches(Tree& tree) {
    tree.weighs_evidence = false;
    tree.evidence = {};
    for (std::size_t node = 0; node < tree.size(); ++node) {
        if (tree.missing_to[node] != static_cast<std::int8_t>(Branch::Both)) continue;
        tree.missing_to[node] = static_cast<std::int8_t>(Branch::Third);
        tree.third[node] = kUngrown;
    }
}

}  // namespace

std::unique_ptr<LadderTree> LadderModel::copy_tree(const LadderTree& from, bool with_third_branches) {
    auto tree = std::make_unique<LadderTree>();
    tree->tree = from.tree;
    if (with_third_branches) add_third_branches(tree->tree);
    tree->distribution = from.distribution;
    tree->seed = from.seed;
    if (from.grower == nullptr) return tree;
    GrowthParameters params = from.grower->params();
    if (with_third_branches) params.min_missing_third = 0;
    tree->grower =
        std::make_unique<LadderGrower>(from.grower->data(), params, from.grower->in_bag(), tree->tree);
    tree->grower->positions = from.grower->positions;
    tree->grower->ladders = from.grower->ladders;
    for (Ladder& ladder : tree->grower->ladders) {
        ladder.rows = {};
        ladder.own_rows = {};
        for (SplitInfo& split : ladder.splits)
            if (with_third_branches && split.missing_to == Branch::Both) split.missing_to = Branch::Third;
    }
    tree->grower->restore_rows();
    return tree;
}

std::shared_ptr<GrowingModel> LadderModel::copy() const {
    const ReadLock lock(mutex_);
    auto model = std::make_shared<LadderModel>(params_, n_columns_, data_);
    for (const auto& tree : trees_) model->add_tree(copy_tree(*tree));
    return model;
}

std::shared_ptr<LadderModel> LadderModel::copy_with_rows(std::shared_ptr<const TrainingData> data) const {
    const ReadLock lock(mutex_);
    if (data_ != nullptr && (*data_->binned != *data->binned || data_->target != data->target))
        throw std::invalid_argument("other training rows");
    auto model =
        std::make_shared<LadderModel>(params_, n_columns_, data_ != nullptr ? data_ : std::move(data));
    for (const auto& tree : trees_) model->add_tree(copy_tree(*tree));
    return model;
}

std::shared_ptr<LadderModel> LadderModel::with_third_branches() const {
    const ReadLock lock(mutex_);
    GrowthParameters params = params_;
    params.min_missing_third = 0;
    auto model = std::make_shared<LadderModel>(params, n_columns_, data_);
    for (const auto& tree : trees_) model->add_tree(copy_tree(*tree, params_.weighs_evidence()));
    return model;
}

std::vector<std::uint64_t> LadderModel::seeds() const {
    const ReadLock lock(mutex_);
    std::vector<std::uint64_t> seeds;
    for (const auto& tree : trees_) seeds.push_back(tree->seed);
    return seeds;
}

std::shared_ptr<GrowingModel> LadderModel::copy_of_tree(std::size_t number) const {
    const ReadLock lock(mutex_);
    if (number >= trees_.size()) throw std::out_of_range("tree index out of range");
    auto model = std::make_shared<LadderModel>(params_, n_columns_, data_);
    model->add_tree(copy_tree(*trees_[number]));
    return model;
}

TargetDistribution LadderModel::distribution_of(std::size_t tree_number,
                                                std::span<const std::int32_t> nodes) {
    const WriteLock lock(mutex_);  // dropped rows are recomputed and cached
    if (tree_number >= trees_.size()) throw std::out_of_range("tree index out of range");
    LadderTree& ladder_tree = *trees_[tree_number];
    for (const std::int32_t node : nodes)
        if (node < 0 || static_cast<std::size_t>(node) >= ladder_tree.tree.size())
            throw std::out_of_range("node index out of range");
    if (params_.n_classes > 0) return {};
    if (ladder_tree.grower != nullptr) {
        std::vector<double> edges = distribution_edges(ladder_tree.grower->target());
        std::vector<float> fractions = bin_fractions(*ladder_tree.grower, edges, nodes);
        return {std::move(edges), std::move(fractions)};
    }
    constexpr std::size_t kBins = TargetDistribution::kBins;
    const TargetDistribution& stored = ladder_tree.distribution;
    TargetDistribution found{
        stored.edges, std::vector<float>(nodes.size() * kBins, std::numeric_limits<float>::quiet_NaN())};
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const std::size_t begin = static_cast<std::size_t>(nodes[n]) * kBins;
        if (begin < stored.fractions.size())
            std::copy_n(&stored.fractions[begin], kBins, &found.fractions[n * kBins]);
    }
    return found;
}

std::vector<TargetDistribution> LadderModel::kept_distributions() const {
    std::vector<TargetDistribution> distributions;
    for (const auto& ladder_tree : trees_)
        distributions.push_back(ladder_tree->grower ? first_nodes_distribution(*ladder_tree->grower)
                                                    : ladder_tree->distribution);
    return distributions;
}

}  // namespace tritree
