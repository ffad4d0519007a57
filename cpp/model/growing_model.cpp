#include "model/growing_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "common/require.hpp"

namespace tritree {

std::size_t GrowingModel::n_trees() const {
    const ReadLock lock(mutex_);
    return tree_count();
}

std::int64_t GrowingModel::n_nodes() const {
    return sum_over_trees([](const Tree& tree) { return static_cast<std::int64_t>(tree.size()); });
}

std::int64_t GrowingModel::n_grown() const {
    return sum_over_trees([](const Tree& tree) { return tree.n_grown(); });
}

std::int64_t GrowingModel::n_ungrown() const {
    return sum_over_trees([](const Tree& tree) { return tree.n_ungrown(); });
}

bool GrowingModel::is_detached() const {
    const ReadLock lock(mutex_);
    return !has_rows();
}

Tree GrowingModel::tree_copy(std::size_t number) const {
    const ReadLock lock(mutex_);
    if (number >= tree_count()) throw std::out_of_range("tree index out of range");
    return tree(number);
}

PredictionRows GrowingModel::prepare(TableView table, int) const {
    require(table.columns.size() == n_columns_, "wrong number of columns");
    if (table.n_rows >= std::size_t{1} << 32) throw std::length_error("more than 4,294,967,295 rows at once");
    return {std::move(table), {}};
}

std::size_t GrowingModel::trees_between_signals(std::size_t n_rows, int n_threads) {
    return std::max(2 * static_cast<std::size_t>(std::max(n_threads, 1)),
                    std::min<std::size_t>(64, 4096 / std::max<std::size_t>(n_rows, 1)));
}

void GrowingModel::predict(const PredictionRows& rows, IterationRange range, const PredictionOutput& output,
                           int n_threads, const CheckSignals& check_signals) {
    const std::size_t k = trees_per_iteration();
    for (bool has_grown = false;; has_grown = true) {
        std::vector<std::size_t> trees_to_grow;
        {
            const ReadLock lock(mutex_);
            if (range.begin > range.end || range.end > tree_count() / k)
                throw std::out_of_range("iterations out of range");
            TraversalResult result = traverse(rows, range.begin * k, range.end * k, output, n_threads);
            if (result.trees_to_grow.empty() || has_grown) {
                n_ungrown_hits_ += result.n_ungrown;
                return;
            }
            trees_to_grow = std::move(result.trees_to_grow);
        }
        grow_for(rows, trees_to_grow, n_threads, check_signals);
    }
}

}  // namespace tritree
