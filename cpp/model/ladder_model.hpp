#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "grow/ladder_grower.hpp"
#include "model/growing_model.hpp"
#include "model/target_distribution.hpp"

namespace tritree {

/// One tree of a single-tree model or a forest.
struct LadderTree {
    Tree tree;
    std::unique_ptr<LadderGrower> grower;  ///< null once detached
    TargetDistribution distribution;       ///< of the first nodes, kept when detached
    std::uint64_t seed = 0;
};

/// A single tree or a forest: trees grown by ladders from one training table, whose mean is predicted.
class LadderModel : public GrowingModel {
  public:
    /// `data` is null if the model is detached.
    LadderModel(const GrowthParameters& params, std::size_t n_columns,
                std::shared_ptr<const TrainingData> data);

    /// Grow trees, one per seed, side by side, from sorted samples of rows or, if `in_bags` is empty, from
    /// all rows. `on_tree` is called after each tree. Both functions may throw: the finished trees before the
    /// first unfinished one are kept then.
    void add_trees(std::span<const std::uint64_t> seeds, std::vector<std::vector<std::uint32_t>> in_bags,
                   int n_threads, const CheckSignals& check_signals, const std::function<void()>& on_tree);
    /// Append a tree that was read from a file.
    void add_tree(std::unique_ptr<LadderTree> tree) { trees_.push_back(std::move(tree)); }

    std::size_t trees_per_iteration() const override { return 1; }
    std::int64_t grow_some(std::int64_t max_new_nodes, int n_threads) override;
    /// Grow branches of one tree; see LadderGrower::grow.
    void grow_branches(std::size_t tree_number, std::vector<BranchRef> branches, std::int64_t max_new_nodes,
                       int n_threads);
    std::vector<double> importances(int n_threads) override;
    void detach() override;
    void keep_iterations(std::size_t n) override;
    std::shared_ptr<GrowingModel> copy() const override;
    /// Return a copy to which trees can be added; throws std::invalid_argument if the model grows from other
    /// rows than `data`.
    std::shared_ptr<LadderModel> copy_with_rows(std::shared_ptr<const TrainingData> data) const;
    /// Return a copy in which all splits that send rows both ways have third branches.
    std::shared_ptr<LadderModel> with_third_branches() const;
    std::vector<std::uint64_t> seeds() const;
    /// Return a model of one tree that grows independently.
    std::shared_ptr<GrowingModel> copy_of_tree(std::size_t number) const;
    /// Return the target distribution in some nodes of a tree, NaN where unknown; empty in classification.
    TargetDistribution distribution_of(std::size_t tree_number, std::span<const std::int32_t> nodes);

    /// Call `f(trees, data, distributions)` while nothing changes. Without `with_rows`, or if detached,
    /// `data` is null, and `distributions` are those that remain without the training rows.
    template <class F>
    void inspect(bool with_rows, F&& f) const {
        const WriteLock lock(mutex_);  // distributions are computed from rows that are cached
        const TrainingData* const data = with_rows ? data_.get() : nullptr;
        f(trees_, data, data == nullptr ? kept_distributions() : std::vector<TargetDistribution>());
    }

  protected:
    std::size_t tree_count() const override { return trees_.size(); }
    const Tree& tree(std::size_t number) const override { return trees_[number]->tree; }
    bool has_rows() const override { return data_ != nullptr; }
    TraversalResult traverse(const PredictionRows& rows, std::size_t first_tree, std::size_t end_tree,
                             const PredictionOutput& output, int n_threads) const override;
    void grow_for(const PredictionRows& rows, std::span<const std::size_t> trees, int n_threads,
                  const CheckSignals& check_signals) override;

  private:
    GrowthParameters params_of(std::uint64_t seed) const;
    bool can_grow(const LadderTree& tree) const {
        return tree.grower != nullptr &&
               (tree.tree.n_grown() < params_.max_third_nodes || tree.tree.n_without_evidence() > 0);
    }
    std::int64_t traverse_tree(const LadderTree& tree, const TableView& table, double* values,
                               std::int32_t* nodes, int n_threads, bool checks) const;
    /// Parts of rows for which a tree grows.
    struct GrowingRows {
        std::vector<RowPart> moving;  ///< to be traversed
        NeededBranches waiting;       ///< until the others need no third branches any more
    };
    static NeededBranches traverse_moving(const Tree& tree, const TableView& table, GrowingRows& rows,
                                          int n_threads);
    bool grow_next_branches(LadderTree& tree, const TableView& table, GrowingRows& rows, int n_threads) const;
    std::vector<TargetDistribution> kept_distributions() const;
    static std::unique_ptr<LadderTree> copy_tree(const LadderTree& tree, bool with_third_branches = false);

    std::vector<std::unique_ptr<LadderTree>> trees_;
    std::shared_ptr<const TrainingData> data_;
};

}  // namespace tritree
