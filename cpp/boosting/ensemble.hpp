#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <vector>

#include "both_ways.hpp"
#include "core/parallel.hpp"
#include "loss.hpp"
#include "third.hpp"

namespace tritree::boosting {

/// Boosted trees that grow while they predict: `n_outputs` trees per round, one after the other. Safe from
/// many threads at once: rows are led down under a shared lock, and branches are grown under an exclusive
/// one.
class Ensemble {
  public:
    Ensemble(Bins bins, const Plan& plan, std::vector<double> baseline)
        : bins_(std::move(bins)), plan_(plan), baseline_(std::move(baseline)) {}

    const Bins& bins() const { return bins_; }
    const Plan& plan() const { return plan_; }
    const std::vector<double>& baseline() const { return baseline_; }
    std::size_t n_outputs() const { return baseline_.size(); }
    std::size_t n_trees() const;
    std::int64_t n_nodes() const;
    std::int64_t n_grown() const;
    std::int64_t n_cut_short() const { return n_cut_short_.load(); }
    bool is_detached() const;

    /// Add what the trees of rounds `begin` to `end` say of rows to `raw` (n_rows x n_outputs), growing third
    /// branches that rows need, and to `doubt` (as large, or null) what is left open by what is missing.
    /// `between` may throw to end the call: what was grown stays.
    void add_to(const CodeRows& rows, std::size_t begin, std::size_t end, double* raw, double* doubt,
                int n_threads, const std::function<void()>& between = {});
    /// Write down the nodes that rows end in, one per tree (n_rows x trees of those rounds).
    void apply(const CodeRows& rows, std::size_t begin, std::size_t end, std::int32_t* nodes, int n_threads,
               const std::function<void()>& between = {});

    /// Return per tree the leaves that parts of rows end in, where rows go both ways.
    std::vector<std::vector<End>> ends(const CodeRows& rows, int n_threads) const;

    void set_background(std::shared_ptr<const Background> background);
    std::shared_ptr<const Background> background() const;
    void detach() { set_background(nullptr); }
    /// Take up new trees, of one round or of many.
    void add(std::vector<BoostedTree> trees);
    void keep_rounds(std::size_t n_rounds);

    /// Call `f(trees)` while nothing grows.
    template <class F>
    void inspect(F&& f) const {
        const Reading lock(mutex_);
        f(trees_);
    }

  private:
    template <class Lock>
    struct Held {
        explicit Held(std::shared_mutex& mutex) : gate(hold_off_fork()), lock(mutex) {}
        std::shared_lock<std::shared_mutex> gate;
        Lock lock;
    };
    using Reading = Held<std::shared_lock<std::shared_mutex>>;
    using Writing = Held<std::unique_lock<std::shared_mutex>>;

    bool is_answer(const BoostedTree& tree, std::int32_t node) const;
    std::vector<std::size_t> find_wanting(const CodeRows& rows, std::size_t begin, std::size_t end,
                                          int n_threads) const;
    /// What the first so many trees say of the background rows, one output after the other.
    struct Said {
        std::size_t n_trees = 0;
        std::vector<double> sums;
        std::uint64_t edition = 0;  // of the trees and the rows
    };

    std::vector<std::vector<double>> said_before(std::span<const std::size_t> trees, Said& said) const;
    Said take_said(std::size_t first_tree);
    void give_back(Said said);
    void grow_for(const CodeRows& rows, std::span<const std::size_t> wanting, Said& said, int n_threads);
    template <class F>
    void lead_all(const CodeRows& rows, std::size_t begin, std::size_t end, int n_threads, F&& take) const;
    void add_both_ways(const CodeRows& rows, std::size_t begin, std::size_t end, double* raw,
                       int n_threads) const;
    void prepare(const CodeRows& rows, std::size_t begin, std::size_t end, int n_threads,
                 const std::function<void()>& between);

    mutable std::shared_mutex mutex_;
    Bins bins_;
    Plan plan_;
    std::vector<double> baseline_;
    std::vector<BoostedTree> trees_;
    std::shared_ptr<const Background> background_;  // empty once detached
    std::atomic<std::int64_t> n_cut_short_{0};
    Said said_;                  // the last of them, which the next round of a fit goes on with
    std::uint64_t edition_ = 0;  // changes where that does not hold any more
};

}  // namespace tritree::boosting
