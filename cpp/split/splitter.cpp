#include "split/splitter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "common/small_vector.hpp"
#include "split/category_order.hpp"
#include "split/criterion.hpp"

namespace tritree {
namespace {

/// The quick bound skips a split that is worse than the best so far by more than this fraction of the node's
/// loss: much larger than rounding errors, but too small to cost speed.
constexpr double kQuickBoundMargin = 1e-9;

/// Search for the best split of a node on one column. `try_split(left)` is called for every partition of the
/// observed cells to be tried, in the order in which ties are broken, and tries every branch to which the
/// strategy may send the missing rows.
template <class Criterion>
class SplitSearch {
  public:
    SplitSearch(const GrowthParameters& params, const CellReader& cells, const NodeSamples& node,
                const CellLayout& layout, const NodeStats& stats)
        : params_(params),
          layout_(layout),
          criterion_(node, layout),
          missing_(cells.missing()),
          observed_(layout.width),
          right_(layout.width),
          joined_(layout.width),
          left_side_(criterion_.dim()),
          right_side_(criterion_.dim()),
          missing_side_(criterion_.dim()),
          negligible_(kNegligible * stats.scaled_loss),
          margin_(kQuickBoundMargin * stats.scaled_loss),
          best_gain_(negligible_),
          quick_bound_(best_gain_ - margin_) {
        for (int k = 0; k < layout.width; ++k) observed_[k] = stats.total[k] - missing_[k];
        const bool observed_only = params.missing == Strategy::Surrogate;
        criterion_.load(observed_only ? observed_.data() : stats.total.data(), left_side_.data());
        criterion_.set_reference(left_side_.data());
        criterion_.load(missing_.data(), missing_side_.data());
        if constexpr (Criterion::kHasQuickBound) criterion_.load(observed_.data(), observed_side_.data());
        quick_bound_applies_ = params.missing == Strategy::Trinary || observed_only ||
                               (params.missing != Strategy::Fractional && missing_[0] == 0);
        if (layout.membership > 0)
            membership_unit_ =
                1 / (layout.membership == layout.weight ? node.scale.weight_scale : node.membership_scale);
    }

    /// Subtract a penalty from the gains of splits, except for missing against observed.
    void set_penalty(double penalty) { penalty_ = penalty; }
    double penalty() const { return penalty_; }

    const Criterion& criterion() const { return criterion_; }
    double gain() const { return found_ ? best_gain_ : 0; }
    double negligible() const { return negligible_; }
    /// Return whether a split was not tried because it has too few rows on a side.
    bool has_rejected() const { return has_rejected_; }
    std::int64_t observed_rows() const { return observed_[0]; }
    bool found() const { return found_; }
    /// Return the index of the best split among all that were tried.
    std::int64_t best_index() const { return best_index_; }

    void try_split(const std::int64_t* left) {
        ++n_tried_;
        for (int k = 0; k < layout_.width; ++k) right_[k] = observed_[k] - left[k];
        const std::int64_t* right = right_.data();
        const Branch larger_side = left[0] > right[0] ? Branch::Left : Branch::Right;
        const bool has_missing = missing_[0] > 0;
        switch (params_.missing) {
            case Strategy::Trinary:
                return try_branches(left, right, Branch::Third);
            case Strategy::Surrogate:
                return try_branches(left, right, Branch::Surrogates);
            case Strategy::Majority:
                if (!has_missing) return try_branches(left, right, larger_side);
                return try_joined(left, right, larger_side);
            case Strategy::Mia:
                if (!has_missing) return try_branches(left, right, larger_side);
                try_joined(left, right, Branch::Left);
                return try_joined(left, right, Branch::Right);
            case Strategy::TrinaryMia:
                if (!has_missing) return try_branches(left, right, Branch::Third);
                try_joined(left, right, Branch::Left);
                try_branches(left, right, Branch::Third);
                return try_joined(left, right, Branch::Right);
            case Strategy::Fractional:
                return try_fractional(left, right);
        }
    }

    /// Return whether a split with this weight and sum on its left side is clearly worse than the best so
    /// far; it counts as tried then. Nearly all splits are: dividing for each of them would take three times
    /// as long.
    bool is_clearly_worse(std::int64_t weight, std::int64_t sum) {
        if constexpr (Criterion::kHasQuickBound) {
            if (!quick_bound_applies_ ||
                !criterion_.is_clearly_worse(weight, sum, observed_side_.data(), quick_bound_))
                return false;
            ++n_tried_;
            return true;
        }
        return false;
    }

    /// Try missing against observed: missing rows left, observed rows right.
    void try_missing_vs_observed() {
        const bool mia = params_.missing == Strategy::Mia || params_.missing == Strategy::TrinaryMia;
        if (!mia || !params_.split_on_missing || missing_[0] == 0 || observed_[0] == 0) return;
        ++n_tried_;
        const double penalty = std::exchange(penalty_, 0);
        try_branches(missing_.data(), observed_.data(), Branch::Left);
        penalty_ = penalty;
        if (best_index_ == n_tried_ - 1) {
            best_.missing_vs_observed = true;
            best_.larger_side = Branch::Right;
            best_.left_fraction = 0;
        }
    }

    /// Return the best split, which ends the search. Third branches are for nodes in which many rows lack the
    /// value; where few do, rows go both ways.
    SplitInfo take_best() {
        const auto n_missing = static_cast<double>(missing_[0]),
                   n_observed = static_cast<double>(observed_[0]);
        if (best_.missing_to == Branch::Third &&
            n_missing < params_.min_missing_third * (n_missing + n_observed))
            best_.missing_to = Branch::Both;
        return std::move(best_);
    }

  private:
    /// Try a split whose missing rows join one side.
    void try_joined(const std::int64_t* left, const std::int64_t* right, Branch to) {
        const std::int64_t* side = to == Branch::Left ? left : right;
        for (int k = 0; k < layout_.width; ++k) joined_[k] = side[k] + missing_[k];
        const bool go_left = to == Branch::Left;
        const double left_fraction = static_cast<double>(left[0]) / static_cast<double>(observed_[0]);
        if (go_left)
            try_branches(joined_.data(), right, to, left_fraction);
        else
            try_branches(left, joined_.data(), to, left_fraction);
    }

    void try_branches(const std::int64_t* left, const std::int64_t* right, Branch missing_to,
                      double left_fraction = -1) {
        if (left[0] < params_.min_samples_leaf || right[0] < params_.min_samples_leaf) {
            has_rejected_ = true;
            return;
        }
        criterion_.load(left, left_side_.data());
        criterion_.load(right, right_side_.data());
        if (left_fraction < 0)
            left_fraction = static_cast<double>(left[0]) / static_cast<double>(left[0] + right[0]);
        if (!update_best(missing_to, left_fraction) || !layout_.complete) return;
        best_.child_cells.assign(left, left + layout_.width);
        best_.child_cells.insert(best_.child_cells.end(), right, right + layout_.width);
    }

    /// Try a split whose missing rows belong to both sides, in proportion to the observed rows there.
    void try_fractional(const std::int64_t* left, const std::int64_t* right) {
        const double left_fraction = static_cast<double>(left[0]) / static_cast<double>(left[0] + right[0]);
        const double missing = memberships(missing_.data());
        const double needed = static_cast<double>(params_.min_samples_leaf) - kMembershipTolerance;
        const double left_counted = params_.as_in_paper_runs ? 1 : left_fraction;
        const double right_counted = params_.as_in_paper_runs ? 1 : 1 - left_fraction;
        if (memberships(left) + left_counted * missing < needed ||
            memberships(right) + right_counted * missing < needed) {
            has_rejected_ = true;
            return;
        }
        criterion_.load(left, left_side_.data());
        criterion_.load(right, right_side_.data());
        for (int k = 0; k < criterion_.dim(); ++k) {
            left_side_[k] += left_fraction * missing_side_[k];
            right_side_[k] += (1 - left_fraction) * missing_side_[k];
        }
        update_best(Branch::Both, left_fraction);
    }

    double memberships(const std::int64_t* cell) const {
        return static_cast<double>(cell[layout_.membership]) * membership_unit_;
    }

    /// Update the best split if the two loaded sides gain more; return whether they do.
    bool update_best(Branch missing_to, double left_fraction) {
        if (!(criterion_.weight(left_side_.data()) > 0) || !(criterion_.weight(right_side_.data()) > 0))
            return false;
        const double gain = criterion_.gain(left_side_.data(), right_side_.data(),
                                            missing_to == Branch::Third ? missing_side_.data() : nullptr) -
                            penalty_;
        if (!(gain > (found_ ? best_gain_ + negligible_ : negligible_))) return false;
        found_ = true;
        best_gain_ = gain;
        quick_bound_ = gain - margin_;
        best_index_ = n_tried_ - 1;
        best_.gain = gain;
        best_.missing_to = missing_to;
        best_.left_fraction = left_fraction;
        best_.larger_side = left_fraction > 0.5 ? Branch::Left : Branch::Right;
        return true;
    }

    const GrowthParameters& params_;
    const CellLayout& layout_;
    Criterion criterion_;
    const CellSums& missing_;
    SmallVector<std::int64_t> observed_, right_, joined_;
    SmallVector<double> left_side_, right_side_, missing_side_;
    std::array<double, 2> observed_side_{};  // for criteria with a quick bound
    double negligible_, margin_, best_gain_, quick_bound_, membership_unit_ = 1, penalty_ = 0;
    bool quick_bound_applies_ = false;  // missing rows are on neither side: a split has a single gain
    std::int64_t n_tried_ = 0, best_index_ = -1;
    bool found_ = false, has_rejected_ = false;
    SplitInfo best_;
};

template <class Criterion>
std::optional<SplitInfo> search_numeric(SplitSearch<Criterion>& search, const GrowthParameters& params,
                                        const BinnedColumn& column, const CellReader& cells,
                                        const CellLayout& layout) {
    SmallVector<std::int64_t> left(layout.width);
    // Skip splits with too few rows on a side, even if all missing rows joined it.
    const std::int64_t min_left = params.min_samples_leaf - cells.missing()[0];
    const std::int64_t max_left = search.observed_rows() - min_left;
    std::int64_t rows = 0, weight = 0, sum = 0;
    std::size_t first_tried = 0, n_added = 0;
    for (std::size_t cell = 0; cell + 1 < cells.size(); ++cell) {
        const std::int64_t* const next = cells.at(cell);
        rows += next[0];
        weight += next[layout.weight];
        sum += next[1];
        if (rows < min_left) {
            first_tried = cell + 1;
            continue;
        }
        if (rows > max_left) break;
        if (search.is_clearly_worse(weight, sum)) continue;
        for (; n_added <= cell; ++n_added) cells.add_to(n_added, left.data());
        search.try_split(left.data());
    }
    const std::int64_t best_index = search.best_index();
    search.try_missing_vs_observed();
    if (!search.found()) return std::nullopt;
    SplitInfo split = search.take_best();
    if (split.missing_vs_observed) {
        split.threshold = -std::numeric_limits<double>::infinity();
    } else {
        const std::size_t cell = static_cast<std::size_t>(best_index) + first_tried;
        split.threshold_bin = cells.bin(cell);
        split.threshold = column.threshold(cells.bin(cell), cells.bin(cell + 1));
    }
    return split;
}

/// Try all partitions of the categories into two sets; the first category always goes left, and category i in
/// those whose bit i - 1 is set.
template <class Criterion>
void try_partitions(SplitSearch<Criterion>& search, const CellReader& cells, const CellLayout& layout) {
    const std::size_t n_masks = std::size_t{1} << (cells.size() - 1);
    // sums[mask] is the cell of the categories that go left
    std::vector<std::int64_t> sums(n_masks * layout.width, 0);
    cells.add_to(0, sums.data());
    for (std::size_t mask = 0; mask < n_masks; ++mask) {
        std::int64_t* sum = &sums[mask * layout.width];
        if (mask > 0) {
            const std::size_t top = std::bit_floor(mask);
            std::copy_n(&sums[(mask ^ top) * layout.width], layout.width, sum);
            cells.add_to(static_cast<std::size_t>(std::countr_zero(top)) + 1, sum);
        }
        if (mask + 1 < n_masks) search.try_split(sum);
    }
}

/// Try the splits of categories in the given order.
template <class Criterion>
void try_ordered(SplitSearch<Criterion>& search, const CellReader& cells, const CellLayout& layout,
                 const std::vector<std::uint32_t>& order) {
    SmallVector<std::int64_t> left(layout.width);
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        cells.add_to(order[i], left.data());
        search.try_split(left.data());
    }
}

/// Return whether a split of one category from the others gains as much as the best split so far. If rows
/// are weighted, a category of next to no weight may join the missing rows of missing against observed for
/// the same gain.
template <class Criterion>
bool one_category_gains(const SplitSearch<Criterion>& best, const GrowthParameters& params,
                        const CellReader& cells, const NodeSamples& node, const CellLayout& layout,
                        const NodeStats& stats) {
    SplitSearch<Criterion> search(params, cells, node, layout, stats);
    search.set_penalty(best.penalty());
    SmallVector<std::int64_t> left(layout.width);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        std::copy_n(cells.at(i), layout.width, left.data());
        search.try_split(left.data());
    }
    return search.gain() >= best.gain() - best.negligible();
}

/// Return whether the best split so far, among those of categories ordered by score, is the best of all
/// partitions. If a side may have any number of rows, the best of all is among them: a gain is a convex
/// function of the sums of a side (Breiman et al. 1984), unless rows are on both sides, or their side depends
/// on the numbers of rows. The best admissible one is, too, if none of the others gains more. Missing against
/// observed is among them, but partitions that gain as much precede it. With surrogates the best so far
/// always counts as the best: rpart tries no other.
template <class Criterion>
bool is_best_partition(const SplitSearch<Criterion>& search, const GrowthParameters& params,
                       const CellReader& cells, const NodeSamples& node, const CellLayout& layout,
                       const NodeStats& stats, const std::vector<std::uint32_t>& order) {
    if (params.missing == Strategy::Surrogate) return true;
    const bool has_missing = cells.missing()[0] > 0;
    const bool joins_side = params.missing == Strategy::Mia || params.missing == Strategy::TrinaryMia;
    if (has_missing && (params.missing == Strategy::Majority || params.missing == Strategy::Fractional))
        return false;
    if (!search.has_rejected() && !(has_missing && joins_side)) return true;
    SplitSearch<Criterion> admissible = search;
    admissible.try_missing_vs_observed();
    const bool is_missing_vs_observed = admissible.best_index() != search.best_index();
    const bool is_weighted = !node.weight.empty();
    if (is_missing_vs_observed && is_weighted &&
        one_category_gains(admissible, params, cells, node, layout, stats))
        return false;
    GrowthParameters any_rows = params;
    any_rows.min_samples_leaf = 0;
    any_rows.split_on_missing = true;
    SplitSearch<Criterion> unrestricted(any_rows, cells, node, layout, stats);
    unrestricted.set_penalty(search.penalty());
    try_ordered(unrestricted, cells, layout, order);
    unrestricted.try_missing_vs_observed();
    return unrestricted.gain() <= admissible.gain() + search.negligible();
}

/// Return the gain that a split of `n` categories must exceed. Their order is fitted to the rows that the
/// split is judged by, so that chance gains with each category beyond two about as much as the loss of a row.
double category_penalty_of(std::size_t n, const GrowthParameters& params, const NodeStats& stats) {
    if (n <= 2) return 0;
    return params.category_penalty * static_cast<double>(n - 2) * (stats.scaled_loss / stats.memberships);
}

/// Find the best split of a categorical column: the best of all partitions up to `kMaxExhaustiveCategories`
/// categories in the node, and else the best in their order.
template <class Criterion>
std::optional<SplitInfo> search_categorical(SplitSearch<Criterion>& search, const GrowthParameters& params,
                                            const BinnedColumn& column, const CellReader& cells,
                                            const NodeSamples& node, const CellLayout& layout,
                                            const NodeStats& stats) {
    const bool by_score = Criterion::scores_order_categories(layout.n_classes);
    const bool is_small = cells.size() <= kMaxExhaustiveCategories;
    search.set_penalty(category_penalty_of(cells.size(), params, stats));
    std::vector<std::uint32_t> order;
    if (by_score || !is_small) {
        const bool as_rpart = params.missing == Strategy::Surrogate && layout.n_classes == 2;
        order = order_categories(search.criterion(), cells, layout, as_rpart);
        try_ordered(search, cells, layout, order);
    }
    const auto n_ordered = static_cast<std::int64_t>(order.empty() ? 0 : order.size() - 1);
    if (is_small && !(by_score && is_best_partition(search, params, cells, node, layout, stats, order)))
        try_partitions(search, cells, layout);
    const std::int64_t best = search.best_index();
    search.try_missing_vs_observed();
    if (!search.found()) return std::nullopt;
    SplitInfo split = search.take_best();
    std::vector<bool> goes_left(cells.size());
    for (std::int64_t i = 0; i <= best && best < n_ordered; ++i)
        goes_left[order[static_cast<std::size_t>(i)]] = true;
    for (std::size_t i = 0; i < cells.size() && best >= n_ordered; ++i)
        goes_left[i] = i == 0 || ((best - n_ordered) >> (i - 1) & 1);
    split.categorical = true;
    split.sets = CategorySets(column.n_bins);
    for (std::size_t i = 0; i < cells.size(); ++i)
        split.sets.put(!split.missing_vs_observed && goes_left[i] ? Branch::Left : Branch::Right,
                       cells.bin(i));
    return split;
}

template <class Criterion>
std::optional<SplitInfo> search_column(const GrowthParameters& params, const BinnedColumn& column,
                                       const CellReader& cells, const NodeSamples& node,
                                       const CellLayout& layout, const NodeStats& stats) {
    if (cells.size() == 0) return std::nullopt;
    SplitSearch<Criterion> search(params, cells, node, layout, stats);
    return column.categorical ? search_categorical(search, params, column, cells, node, layout, stats)
                              : search_numeric(search, params, column, cells, layout);
}

}  // namespace

std::optional<SplitInfo> best_split(const GrowthParameters& params, const BinnedColumn& column,
                                    std::int32_t column_number, const CellReader& cells,
                                    const NodeSamples& node, const CellLayout& layout,
                                    const NodeStats& stats) {
    std::optional<SplitInfo> split;
    switch (params.criterion) {
        case CriterionKind::SquaredError:
            split = search_column<SquaredError>(params, column, cells, node, layout, stats);
            break;
        case CriterionKind::Entropy:
            split = params.as_in_paper_runs
                        ? search_column<EntropyTimesRows>(params, column, cells, node, layout, stats)
                        : search_column<Entropy>(params, column, cells, node, layout, stats);
            break;
        case CriterionKind::Gini:
            split = search_column<Gini>(params, column, cells, node, layout, stats);
            break;
    }
    if (split) split->column = column_number;
    return split;
}

void sort_ladder(std::vector<SplitInfo>& splits, const GrowthParameters& params, double node_loss) {
    if (splits.size() < 2) return;
    std::stable_sort(splits.begin(), splits.end(),
                     [](const SplitInfo& a, const SplitInfo& b) { return a.gain > b.gain; });
    for (auto place = splits.begin(); place != splits.end(); ++place) {
        auto first = place;
        for (auto tied = place; tied != splits.end() && tied->gain >= place->gain - kNegligible * node_loss;
             ++tied)
            if (tied->column < first->column) first = tied;
        std::rotate(place, first, std::next(first));
    }
    if (params.missing != Strategy::TrinaryMia) return;
    const auto end = std::find_if(splits.begin(), splits.end(), [](const SplitInfo& split) {
        return split.missing_to == Branch::Left || split.missing_to == Branch::Right;
    });
    if (end != splits.end()) splits.erase(std::next(end), splits.end());
}

}  // namespace tritree
