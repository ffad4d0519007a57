#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "grower.hpp"
#include "parallel.hpp"
#include "predict.hpp"
#include "spread.hpp"

namespace tritree {

/// A fitted tree that grows while it predicts. Safe from many threads at once: rows are led down under a
/// shared lock, and branches they miss are grown under an exclusive one.
class Model {
  public:
    /// Fit; `between_levels` may throw to give up.
    Model(std::shared_ptr<const Codes> codes, Target target, const Settings& settings, int n_threads,
          const std::function<void()>& between_levels = {});
    /// Take up a tree again; `grower` is empty if it was detached.
    Model(Tree tree, std::unique_ptr<Grower> grower, Spread spread, const Settings& settings,
          std::int32_t n_columns, std::int32_t n_fitted);

    /// Fill `values` (n_rows x n_outputs) with what the rows are predicted, and `leaves` with where they end;
    /// either may be null. `between_rounds` is called before each round of growth, and may throw to end the
    /// call: what was grown stays.
    void predict(const RowsToPredict& table, int n_threads, double* values, std::int32_t* leaves,
                 const std::function<void()>& between_rounds = {});
    /// Grow at most `max_new_nodes` more nodes; return how many known branches are still ungrown.
    std::int64_t grow_some(std::int64_t max_new_nodes, int n_threads);
    /// Grow some branches, those of them that are known and not there yet.
    void grow_branches(std::vector<Wanted> wanted, int n_threads);
    std::vector<double> importances(int n_threads);
    /// Return the spread of responses in some nodes, NaN where it is not known; no bins in classification.
    Spread spread_of(std::span<const std::int32_t> nodes);
    /// Return the spread that is left, or would be, once the training rows are gone.
    Spread lasting_spread();
    /// Drop the training rows and the ladders.
    void detach();

    Tree snapshot() const;
    std::int64_t n_nodes() const;
    std::int64_t n_grown() const;
    std::int64_t n_ungrown() const;
    std::int64_t n_cut_short() const { return n_cut_short_.load(); }
    bool is_detached() const;
    int n_outputs() const { return settings_.n_outputs(); }
    std::int32_t n_columns() const { return n_columns_; }
    const Settings& settings() const { return settings_; }
    std::int32_t n_fitted() const { return n_fitted_; }

    /// Call `f(tree, spread, grower or null)` while nothing grows.
    template <class F>
    void inspect(F&& f) const {
        const Reading lock(mutex_);
        f(tree(), spread_, grower_.get());
    }

  private:
    /// A lock of the model, and against forks while it is held.
    template <class Lock>
    struct Held {
        explicit Held(std::shared_mutex& mutex) : gate(hold_off_fork()), lock(mutex) {}
        std::shared_lock<std::shared_mutex> gate;
        Lock lock;
    };
    using Reading = Held<std::shared_lock<std::shared_mutex>>;
    using Writing = Held<std::unique_lock<std::shared_mutex>>;

    const Tree& tree() const { return grower_ ? grower_->tree : tree_; }
    /// Where answers go; either may be null.
    struct Answers {
        double* values;
        std::int32_t* leaves;
    };
    /// A row and the node it has come to.
    struct Standing {
        std::uint32_t row;
        std::int32_t node;
    };
    void answer(const Answers& answers, std::size_t row, std::int32_t node) const;
    void predict_fractional(const RowsToPredict& table, int n_threads, const Answers& answers) const;
    std::vector<Standing> lead_all(const RowsToPredict& table, int n_threads, const Answers& answers) const;
    std::vector<Wanted> lead(const RowsToPredict& table, int n_threads, const Answers& answers,
                             std::vector<Standing>& pending);
    void grow(const std::vector<Wanted>& wanted, int n_threads);

    mutable std::shared_mutex mutex_;
    std::unique_ptr<Grower> grower_;  // empty once detached
    Tree tree_;                       // what is left then,
    Spread spread_;                   // and how the responses were spread
    Settings settings_;
    std::int32_t n_columns_;
    std::int32_t n_fitted_;  // nodes right after fitting
    std::atomic<std::int64_t> n_cut_short_{0};
};

}  // namespace tritree
