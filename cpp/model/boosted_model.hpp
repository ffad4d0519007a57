#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "grow/third_branch.hpp"
#include "model/growing_model.hpp"
#include "tree/fractional_predictor.hpp"

namespace tritree {

/// Boosted trees: `n_outputs` trees per iteration, whose sum is predicted. Third branches grow from
/// background rows.
class BoostedModel : public GrowingModel {
  public:
    /// `baseline` has the start of the sum of each output; throws std::invalid_argument.
    BoostedModel(BinMapper mapper, const GrowthParameters& params, std::vector<double> baseline);

    const BinMapper& mapper() const { return mapper_; }
    const std::vector<double>& baseline() const { return baseline_; }

    std::shared_ptr<const BackgroundRows> background() const;
    /// Set the rows from which third branches grow; null to detach.
    void set_background(std::shared_ptr<const BackgroundRows> background);
    /// Keep at most `max_rows` of the training rows as background.
    void keep_background(const BinnedColumns& binned, std::span<const double> weight, std::size_t max_rows,
                         int n_threads);
    /// Set the background to rows in random order. Their weights are scaled to a mean of 1, so that the unit
    /// of weights does not matter.
    void set_background(const BinnedColumns& sampled, std::vector<double> weight, int n_threads);
    /// Grow the branches that background rows need, tree by tree: the variance of a branch depends on what
    /// the trees before predict for background rows. Fitting grows them as well.
    void grow_for_background(int n_threads, const CheckSignals& check_signals);
    /// Append the trees of one or more iterations.
    void add_trees(std::vector<BinnedTree> trees);

    std::size_t trees_per_iteration() const override { return baseline_.size(); }
    PredictionRows prepare(TableView table, int n_threads) const override;
    std::int64_t grow_some(std::int64_t max_new_nodes, int n_threads) override;
    /// Return one row: the sum of gains of the fitted splits per column.
    std::vector<double> importances(int n_threads) override;
    void detach() override { set_background(nullptr); }
    void keep_iterations(std::size_t n) override;
    std::shared_ptr<GrowingModel> copy() const override;

    /// Call `f(trees, background)` while nothing changes; `background` is null if detached.
    template <class F>
    void inspect(F&& f) const {
        const ReadLock lock(mutex_);
        f(trees_, background_);
    }

  protected:
    std::size_t tree_count() const override { return trees_.size(); }
    const Tree& tree(std::size_t number) const override { return trees_[number].arrays; }
    bool has_rows() const override { return background_ != nullptr; }
    TraversalResult traverse(const PredictionRows& rows, std::size_t first_tree, std::size_t end_tree,
                             const PredictionOutput& output, int n_threads) const override;
    void grow_for(const PredictionRows& rows, std::span<const std::size_t> trees, int n_threads,
                  const CheckSignals& check_signals) override;

  private:
    /// Sums of the first trees for the background rows, one output after the other.
    struct BackgroundSums {
        std::size_t n_trees = 0;
        std::vector<double> sums;
        std::uint64_t version = 0;  // of the trees and the background rows
    };

    bool can_grow(const BinnedTree& tree) const {
        return background_ != nullptr && tree.arrays.n_grown() < params_.max_third_nodes;
    }
    template <class F>
    void traverse_blocks(const BinnedRows& rows, std::size_t first_tree, std::size_t end_tree, int n_threads,
                         F&& take) const;
    void traverse_fractional(const BinnedRows& rows, std::size_t first_tree, std::size_t end_tree,
                             const PredictionOutput& output, int n_threads) const;
    std::vector<std::vector<double>> sums_before(std::span<const std::size_t> trees, BackgroundSums& sums,
                                                 int n_threads) const;
    BackgroundSums take_sums(std::size_t first_tree);
    void return_sums(BackgroundSums sums);

    const BinMapper mapper_;
    const std::vector<double> baseline_;
    std::vector<BinnedTree> trees_;
    std::shared_ptr<const BackgroundRows> background_;  // null once detached
    BackgroundSums background_sums_;                    // of the last call, which the next one continues
    std::uint64_t version_ = 0;                         // incremented when cached sums become invalid
};

}  // namespace tritree
