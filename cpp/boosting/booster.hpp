#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ensemble.hpp"
#include "loss.hpp"

namespace tritree::boosting {

/// How rounds follow each other.
struct Pace {
    double learning_rate = 0.1;
    double subsample = 1;
};

/// Adds rounds of trees to an ensemble, each fitted to what the ones before have left of a loss.
class Booster {
  public:
    /// `codes` may be empty, which takes longer; `raw` are the predictions so far (one output after the
    /// other).
    Booster(CodeRows rows, std::shared_ptr<const Codes> codes, Loss loss, const Pace& pace,
            std::shared_ptr<Ensemble> ensemble, std::vector<double> raw, int n_threads);

    /// Add one round; `between_trees` may throw to give up, which leaves the ensemble as it was.
    void boost(const std::function<void()>& between_trees = {});
    /// Return the predictions of the training rows, one output after the other.
    std::span<const double> raw() const { return raw_; }
    const Loss& loss() const { return loss_; }

  private:
    std::vector<std::uint32_t> rows_of_round(std::size_t round) const;
    /// Return the next tree, and add what it says to the sums of all rows.
    BoostedTree fit_tree(int output, std::size_t number, std::vector<std::uint32_t> rows,
                         std::span<double> sums);
    void step(BoostedTree& tree, const std::vector<Range>& ranges, std::span<const std::uint32_t> rows,
              std::span<double> sums) const;
    void renew_leaves(BoostedTree& tree, const std::vector<Range>& ranges,
                      std::span<const std::uint32_t> rows, int output) const;
    void grow_fractional(BoostedTree& tree, int output, std::span<const std::uint32_t> rows,
                         std::span<const std::int32_t> columns) const;
    void step_both_ways(const BoostedTree& tree, std::span<double> sums) const;

    std::shared_ptr<const Codes> codes_;
    Loss loss_;
    Pace pace_;
    std::shared_ptr<Ensemble> ensemble_;
    std::vector<double> raw_;
    int n_threads_;
    CodeRows rows_;
    Gradients gradients_;
    Items<double> first_, second_;
};

/// Return the numbers of at most `most` of `n` rows, drawn with a seed, in their order.
std::vector<std::uint32_t> draw_rows(std::size_t n, std::size_t most, std::uint64_t seed);

}  // namespace tritree::boosting
