#include "booster.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tritree::boosting {
namespace {

constexpr std::uint64_t kRowSeed = 0x517cc1b727220a95u;  // what tells draws of rows from those of paths

}  // namespace

std::vector<std::uint32_t> draw_rows(std::size_t n, std::size_t most, std::uint64_t seed) {
    std::vector<std::uint32_t> rows;
    if (most >= n) {
        rows.resize(n);
        std::iota(rows.begin(), rows.end(), 0u);
        return rows;
    }
    rows.reserve(most);
    // each row in turn is taken with the chance that leaves as many as there must be
    std::size_t wanted = most;
    for (std::size_t row = 0; wanted > 0; ++row) {
        const double random = static_cast<double>(mixed(seed, row) >> 11) * 0x1p-53;
        if (random * static_cast<double>(n - row) < static_cast<double>(wanted)) {
            rows.push_back(static_cast<std::uint32_t>(row));
            --wanted;
        }
    }
    return rows;
}

Booster::Booster(CodeRows rows, std::shared_ptr<const Codes> codes, Loss loss, const Pace& pace,
                 std::shared_ptr<Ensemble> ensemble, std::vector<double> raw, int n_threads)
    : codes_(std::move(codes)),
      loss_(std::move(loss)),
      pace_(pace),
      ensemble_(std::move(ensemble)),
      raw_(std::move(raw)),
      n_threads_(n_threads),
      rows_(std::move(rows)) {
    if (!codes_) rows_.forget_unseen(ensemble_->bins());
    first_.resize(loss_.n_rows());
    if (!loss_.has_constant_second()) second_.resize(loss_.n_rows());
}

std::vector<std::uint32_t> Booster::rows_of_round(std::size_t round) const {
    const std::size_t n = loss_.n_rows();
    const auto most = static_cast<std::size_t>(std::ceil(pace_.subsample * static_cast<double>(n)));
    return draw_rows(n, std::max<std::size_t>(most, 1), mixed(ensemble_->plan().seed ^ kRowSeed, round));
}

void Booster::boost(const std::function<void()>& between_trees) {
    const std::size_t n = loss_.n_rows();
    const auto k = ensemble_->n_outputs();
    const std::size_t n_trees = ensemble_->n_trees();
    std::vector<std::uint32_t> chosen = rows_of_round(n_trees / k);
    std::vector<BoostedTree> trees;
    // the trees of a round are all fitted to what was before it; a single one can change that in place
    std::vector<double> after;
    if (k > 1) after = raw_;
    const std::span<double> sums = k > 1 ? after : raw_;
    for (std::size_t output = 0; output < k; ++output) {
        if (between_trees) between_trees();
        const bool last = output + 1 == k;
        trees.push_back(fit_tree(static_cast<int>(output), n_trees + output,
                                 last ? std::move(chosen) : chosen, sums.subspan(output * n, n)));
    }
    ensemble_->add(std::move(trees));
    if (k > 1) raw_ = std::move(after);
}

BoostedTree Booster::fit_tree(int output, std::size_t number, std::vector<std::uint32_t> rows,
                              std::span<double> sums) {
    const Plan& plan = ensemble_->plan();
    const Bins& bins = ensemble_->bins();
    loss_.differentiate(raw_, output, first_, second_, n_threads_);
    gradients_.fill(first_, second_, loss_.n_rows(), n_threads_);
    BoostedTree tree;
    Info root;
    root.path = mixed(plan.seed, number);
    tree.add_leaf(0, root);
    std::vector<std::int32_t> columns(bins.n_columns());
    std::iota(columns.begin(), columns.end(), 0);
    const bool fractional = plan.missing == Strategy::Fractional;
    TreeGrower grower({rows_, codes_.get()}, bins, gradients_, plan, n_threads_);
    if (fractional)
        grow_fractional(tree, output, rows, columns);
    else
        grower.grow(tree, rows, columns, plan.max_depth, plan.max_leaf_nodes);
    tree.n_fitted = static_cast<std::int32_t>(tree.size());
    if (loss_.renews_leaves() && !fractional) renew_leaves(tree, grower.ranges, rows, output);
    for (double& value : tree.values) value *= pace_.learning_rate;
    for (Info& info : tree.infos) {
        info.bounds.low *= pace_.learning_rate;
        info.bounds.high *= pace_.learning_rate;
    }
    tree.average(0);
    if (fractional)
        step_both_ways(tree, sums);
    else
        step(tree, grower.ranges, rows, sums);
    return tree;
}

/// Add what a new tree says of all rows to their sums.
void Booster::step(BoostedTree& tree, const std::vector<Range>& ranges, std::span<const std::uint32_t> rows,
                   std::span<double> sums) const {
    // where rows ended is known, except of those that wait for a third branch or were not drawn
    std::vector<std::uint32_t> others;
    std::vector<bool> drawn;
    if (rows.size() < loss_.n_rows()) {
        drawn.assign(loss_.n_rows(), false);
        for (const std::uint32_t row : rows) drawn[row] = true;
        for (std::size_t row = 0; row < drawn.size(); ++row)
            if (!drawn[row]) others.push_back(static_cast<std::uint32_t>(row));
    }
    for (std::size_t node = 0; node < ranges.size(); ++node) {
        const Step& step = tree.steps[node];
        if (step.is_leaf()) continue;
        const std::size_t begin = ranges[static_cast<std::size_t>(step.next[1])].end;
        others.insert(others.end(), rows.begin() + static_cast<std::ptrdiff_t>(begin),
                      rows.begin() + static_cast<std::ptrdiff_t>(ranges[node].end));
    }
    std::vector<std::int32_t> at(others.size(), 0);
    const Plan& plan = ensemble_->plan();
    if (const auto background = ensemble_->background(); background && plan.has_third())
        ThirdGrower(tree, *background, ensemble_->bins(), plan).lead(rows_, others, at.data());
    else
        tree.lead(rows_, others, at.data());
    // nothing can go wrong any more
    parallel_for(ranges.size(), n_threads_, [&](std::size_t node) {
        if (!tree.steps[node].is_leaf()) return;
        const double value = tree.values[node];
        for (std::size_t i = ranges[node].begin; i < ranges[node].end; ++i) sums[rows[i]] += value;
    });
    for (std::size_t i = 0; i < others.size(); ++i)
        sums[others[i]] += tree.values[static_cast<std::size_t>(at[i])];
}

void Booster::renew_leaves(BoostedTree& tree, const std::vector<Range>& ranges,
                           std::span<const std::uint32_t> rows, int output) const {
    const auto raw =
        std::span(raw_).subspan(static_cast<std::size_t>(output) * loss_.n_rows(), loss_.n_rows());
    parallel_for(tree.size(), n_threads_, [&](std::size_t node) {
        if (!tree.steps[node].is_leaf()) return;
        const Bounds& bounds = tree.infos[node].bounds;
        const double value = loss_.quantile_left(raw, rows.subspan(ranges[node].begin, ranges[node].size()));
        tree.values[node] = std::clamp(value, bounds.low, bounds.high);
    });
}

}  // namespace tritree::boosting
