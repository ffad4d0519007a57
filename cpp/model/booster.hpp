#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/collective.hpp"
#include "common/uninitialized_vector.hpp"
#include "grow/boosted_grower.hpp"
#include "model/boosted_model.hpp"
#include "model/loss.hpp"

namespace tritree {

/// Boosting parameters: how trees are fitted one after the other and added up.
struct BoostingParameters {
    double learning_rate = 0.1;
    double subsample = 1;

    /// Return an error message, or null if the parameters are valid.
    const char* validate() const;
};

/// Adds iterations to a boosted model, each fitted to the gradients of the loss at the predictions so far.
///
/// A booster has the rows of a table, or of a part of it. The boosters of all parts then fit the same trees
/// together: each adds up its own rows, combines the sums with those of the others, and continues with the
/// results. So all of them end up with the same model, that of the whole table.
class Booster {
  public:
    /// Start a model, or continue one that was started with the same rows: `columns` have its bins.
    Booster(std::shared_ptr<const BinnedColumns> columns, Loss loss, const BoostingParameters& boosting,
            std::shared_ptr<BoostedModel> model, TablePart part, int n_threads);
    /// Continue a model with another table, given the raw predictions for it.
    Booster(const TableView& table, std::vector<double> raw, Loss loss, const BoostingParameters& boosting,
            std::shared_ptr<BoostedModel> model, int n_threads);

    /// Add one iteration; `check_signals` may throw, which leaves the model as it was.
    void boost(const CheckSignals& check_signals = {});
    /// Return the raw predictions of the training rows, one output after the other.
    std::span<const double> raw() const { return raw_; }

  private:
    Booster(Loss loss, const BoostingParameters& boosting, std::shared_ptr<BoostedModel> model,
            TablePart part, int n_threads);
    void add_model();
    void set_initial_hessians();
    double l2_of(int output) const;
    std::vector<std::uint32_t> sample_rows_of(std::size_t iteration) const;
    BinnedTree fit_tree(int output, std::size_t number, std::vector<std::uint32_t> rows,
                        std::span<double> raw);
    template <class LeafValue>
    void update_leaves(BinnedTree& tree, LeafValue&& value_of) const;
    void shrink(BinnedTree& tree) const;
    void finish(BinnedTree& tree) const;

    /// Rows of a leaf, or others, whose loss is added up.
    struct RowGroup {
        std::size_t n_rows = 0;        ///< here
        std::size_t n_table_rows = 0;  ///< in all parts of the table
    };
    template <class Increase>
    std::vector<double> total_increases(std::span<const RowGroup> groups, Increase&& increase_of);
    template <class Increases>
    std::vector<double> largest_safe_steps(std::size_t n, Increases&& increases) const;
    void limit_steps(BinnedTree& tree, const RowPartitioner& samples, std::span<const std::uint32_t> rows);
    RowGroup rows_of_leaf(const RowPartitioner& samples, std::size_t leaf) const;
    /// Rows with the nodes that they are at.
    struct PlacedRows {
        UninitializedVector<std::uint32_t> rows;
        UninitializedVector<std::int32_t> nodes;
        std::size_t n_table_rows = 0;  ///< in all parts of the table
    };
    void limit_tree(BinnedTree& tree, const RowPartitioner& samples, std::span<const std::uint32_t> rows,
                    const PlacedRows& others);
    void limit_fractional_tree(BinnedTree& tree);
    void limit_iteration(std::vector<BinnedTree>& trees, std::vector<double>& updated);
    void add_tree(const BinnedTree& tree, std::span<double> raw) const;

    PlacedRows rows_outside_leaves(const BinnedTree& tree, const RowPartitioner& samples,
                                   std::span<const std::uint32_t> rows) const;
    void grow_for(BinnedTree& tree, PlacedRows& placed) const;
    void add_predictions(BinnedTree& tree, const RowPartitioner& samples, std::span<const std::uint32_t> rows,
                         std::span<double> raw);
    void add_fractional_predictions(BinnedTree& tree, std::span<double> raw);
    UninitializedVector<double> fractional_predictions(const BinnedTree& tree) const;

    std::shared_ptr<const BinnedColumns>
        columns_;  // the same table as rows_, for faster partitioning, unless it is very large; or null
    Loss loss_;
    BoostingParameters boosting_;
    std::shared_ptr<BoostedModel> model_;
    TablePart part_;
    std::vector<double> raw_;
    int n_threads_;
    BinnedRows rows_;
    Gradients gradient_pairs_;
    UninitializedVector<double> gradients_, hessians_;
    std::vector<double> initial_hessians_;  // sum over the rows at the baseline, per output
};

}  // namespace tritree
