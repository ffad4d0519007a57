#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "data/binned_rows.hpp"
#include "data/binning.hpp"
#include "tree/predictor.hpp"
#include "tree/tree.hpp"

namespace tritree {

/// Called regularly during long computations; throws to interrupt them.
using CheckSignals = std::function<void()>;

/// Consecutive iterations: trees of a forest, or boosting iterations with one tree per output.
struct IterationRange {
    std::size_t begin = 0, end = 0;
};

/// Rows to predict: the user's table, and its bins if the model traverses bins.
struct PredictionRows {
    TableView table;
    BinnedRows binned;

    std::size_t n_rows() const { return table.n_rows; }
};

/// Where predictions are written; any may be null.
struct PredictionOutput {
    double* values = nullptr;       ///< n_rows x n_outputs: the mean or the sum over trees
    double* variance = nullptr;     ///< n_rows x n_outputs: left by missing values, if estimated
    std::int32_t* nodes = nullptr;  ///< n_rows x trees: the node that each row ends in
};

/// A fitted model whose trees grow on demand: a single tree, a forest or boosted trees. Thread-safe: rows are
/// traversed under a shared lock, and branches that they need are grown under an exclusive one.
class GrowingModel {
  public:
    GrowingModel(const GrowthParameters& params, std::size_t n_columns, std::size_t n_outputs)
        : params_(params), n_columns_(n_columns), n_outputs_(n_outputs) {}
    virtual ~GrowingModel() = default;
    GrowingModel(const GrowingModel&) = delete;
    GrowingModel& operator=(const GrowingModel&) = delete;

    const GrowthParameters& params() const { return params_; }
    std::size_t n_columns() const { return n_columns_; }
    std::size_t n_outputs() const { return n_outputs_; }
    virtual std::size_t trees_per_iteration() const = 0;
    std::size_t n_trees() const;
    std::size_t n_iterations() const { return n_trees() / trees_per_iteration(); }
    std::int64_t n_nodes() const;
    std::int64_t n_grown() const;
    std::int64_t n_ungrown() const;
    /// Return how often a row reached a branch that could not be grown any more, and got the value of the
    /// node above it.
    std::int64_t n_ungrown_hits() const { return n_ungrown_hits_.load(); }
    bool is_detached() const;

    /// Predict rows with a range of iterations, growing the branches that they need; these stay if
    /// interrupted.
    void predict(const PredictionRows& rows, IterationRange range, const PredictionOutput& output,
                 int n_threads, const CheckSignals& check_signals = {});
    /// Prepare a table for `predict`. An infinite value throws InfiniteValueError here, or there.
    virtual PredictionRows prepare(TableView table, int n_threads) const;
    /// Grow about `max_new_nodes` more nodes; return the number of branches that are still ungrown.
    virtual std::int64_t grow_some(std::int64_t max_new_nodes, int n_threads) = 0;
    /// Return the reduction of the training loss per tree and column (n_trees x n_columns, or a single row
    /// for the ensemble).
    virtual std::vector<double> importances(int n_threads) = 0;
    /// Drop the rows from which trees grow.
    virtual void detach() = 0;
    /// Drop the iterations after the first `n`.
    virtual void keep_iterations(std::size_t n) = 0;
    /// Return a copy of the model that grows independently.
    virtual std::shared_ptr<GrowingModel> copy() const = 0;
    Tree tree_copy(std::size_t number) const;

  protected:
    /// A lock of the model that also blocks fork().
    template <class Lock>
    struct ForkSafeLock {
        explicit ForkSafeLock(std::shared_mutex& mutex) : fork(block_fork()), lock(mutex) {}
        std::shared_lock<std::shared_mutex> fork;
        Lock lock;
    };
    using ReadLock = ForkSafeLock<std::shared_lock<std::shared_mutex>>;
    using WriteLock = ForkSafeLock<std::unique_lock<std::shared_mutex>>;

    struct TraversalResult {
        std::int64_t n_ungrown = 0;              ///< rows that ended at a branch that has not been grown
        std::vector<std::size_t> trees_to_grow;  ///< trees with such a branch that can be grown
    };

    // called with the lock held
    virtual std::size_t tree_count() const = 0;
    virtual const Tree& tree(std::size_t number) const = 0;
    virtual bool has_rows() const = 0;
    virtual TraversalResult traverse(const PredictionRows& rows, std::size_t first_tree, std::size_t end_tree,
                                     const PredictionOutput& output, int n_threads) const = 0;
    /// Return how many trees grow at once, between checks for signals: more of them if there are few rows.
    static std::size_t trees_between_signals(std::size_t n_rows, int n_threads);
    /// Grow the branches that rows need; takes the exclusive lock.
    virtual void grow_for(const PredictionRows& rows, std::span<const std::size_t> trees, int n_threads,
                          const CheckSignals& check_signals) = 0;

    template <class F>
    std::int64_t sum_over_trees(F&& f) const {
        const ReadLock lock(mutex_);
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < tree_count(); ++i) sum += f(tree(i));
        return sum;
    }

    mutable std::shared_mutex mutex_;
    const GrowthParameters params_;
    const std::size_t n_columns_, n_outputs_;
    std::atomic<std::int64_t> n_ungrown_hits_{0};
};

}  // namespace tritree
