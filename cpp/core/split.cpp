#include "split.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "category_order.hpp"
#include "criterion.hpp"
#include "few.hpp"

namespace tritree {
namespace {

/// By how much of the node's loss a cut must be worse than the best so far to be refused unmeasured: far more
/// than rounding, far less than would save anything.
constexpr double kRefusalMargin = 1e-9;

/// The search for one column's best split. `cut(left)` is called for every way of parting the observed cells,
/// in the order in which ties are broken, and tries every way in which the strategy may treat the missing
/// ones.
template <class Loss>
class Search {
  public:
    Search(const Settings& settings, const Cells& cells, const NodeRows& node, const Layout& layout,
           const Summary& summary)
        : settings_(settings),
          layout_(layout),
          loss_(node, layout),
          missing_(cells.missing()),
          observed_(layout.width),
          right_(layout.width),
          joined_(layout.width),
          left_side_(loss_.dim()),
          right_side_(loss_.dim()),
          missing_side_(loss_.dim()),
          negligible_(kNegligible * summary.scan_loss),
          margin_(kRefusalMargin * summary.scan_loss),
          best_gain_(negligible_),
          refused_below_(best_gain_ - margin_) {
        for (int k = 0; k < layout.width; ++k) observed_[k] = summary.total[k] - missing_[k];
        const bool observed_only = settings.missing == Strategy::Surrogate;
        loss_.load(observed_only ? observed_.data() : summary.total.data(), left_side_.data());
        loss_.set_reference(left_side_.data());
        loss_.load(missing_.data(), missing_side_.data());
        if constexpr (Loss::kQuickToRefuse) loss_.load(observed_.data(), observed_side_.data());
        one_way_ = settings.missing == Strategy::Trinary || observed_only ||
                   (settings.missing != Strategy::Fractional && missing_[0] == 0);
        if (layout.member > 0)
            member_unit_ = 1 / (layout.member == layout.weight ? node.frame.weight_scale : node.member_scale);
    }

    const Loss& loss() const { return loss_; }
    std::int64_t observed_rows() const { return observed_[0]; }
    bool found() const { return found_; }
    /// Return the number, among all cuts tried, of the best one.
    std::int64_t best_cut() const { return best_cut_; }

    void cut(const std::int64_t* left) {
        ++n_cuts_;
        for (int k = 0; k < layout_.width; ++k) right_[k] = observed_[k] - left[k];
        const std::int64_t* right = right_.data();
        const Branch larger = left[0] > right[0] ? Branch::Left : Branch::Right;
        const bool holes = missing_[0] > 0;
        switch (settings_.missing) {
            case Strategy::Trinary:
                return consider(left, right, Branch::Third);
            case Strategy::Surrogate:
                return consider(left, right, Branch::Surrogates);
            case Strategy::Majority:
                if (!holes) return consider(left, right, larger);
                return consider_joined(left, right, larger);
            case Strategy::Mia:
                if (!holes) return consider(left, right, larger);
                consider_joined(left, right, Branch::Left);
                return consider_joined(left, right, Branch::Right);
            case Strategy::TrinaryMia:
                if (!holes) return consider(left, right, Branch::Third);
                consider_joined(left, right, Branch::Left);
                consider(left, right, Branch::Third);
                return consider_joined(left, right, Branch::Right);
            case Strategy::Fractional:
                return consider_shared(left, right);
        }
    }

    /// Pass over a cut that is clearly worse than the best so far, and say so, by the weight and the sum of
    /// its left side. Nearly all are: to divide for each of them would take three times as long.
    bool refuse(std::int64_t weight, std::int64_t sum) {
        if constexpr (Loss::kQuickToRefuse) {
            if (!one_way_ || !loss_.refuse(weight, sum, observed_side_.data(), refused_below_)) return false;
            ++n_cuts_;
            return true;
        }
        return false;
    }

    /// Try missing against observed: missing left, observed right.
    void cut_missing_off() {
        const bool mia = settings_.missing == Strategy::Mia || settings_.missing == Strategy::TrinaryMia;
        if (!mia || !settings_.split_on_missing || missing_[0] == 0 || observed_[0] == 0) return;
        ++n_cuts_;
        consider(missing_.data(), observed_.data(), Branch::Left);
        if (best_cut_ == n_cuts_ - 1) {
            best_.missing_alone = true;
            best_.larger = Branch::Right;
            best_.share = 0;
        }
    }

    /// Return the best split; the search is over then.
    Rung take_rung() { return std::move(best_); }

  private:
    /// Let the missing rows join one side.
    void consider_joined(const std::int64_t* left, const std::int64_t* right, Branch to) {
        const std::int64_t* side = to == Branch::Left ? left : right;
        for (int k = 0; k < layout_.width; ++k) joined_[k] = side[k] + missing_[k];
        const bool go_left = to == Branch::Left;
        const double share = static_cast<double>(left[0]) / static_cast<double>(observed_[0]);
        if (go_left)
            consider(joined_.data(), right, to, share);
        else
            consider(left, joined_.data(), to, share);
    }

    void consider(const std::int64_t* left, const std::int64_t* right, Branch missing_to, double share = -1) {
        if (left[0] < settings_.min_samples_leaf || right[0] < settings_.min_samples_leaf) return;
        loss_.load(left, left_side_.data());
        loss_.load(right, right_side_.data());
        if (share < 0) share = static_cast<double>(left[0]) / static_cast<double>(left[0] + right[0]);
        if (!judge(missing_to, share) || !layout_.complete) return;
        best_.sides.assign(left, left + layout_.width);
        best_.sides.insert(best_.sides.end(), right, right + layout_.width);
    }

    /// Let the missing rows belong to both sides, in proportion to the rows observed there.
    void consider_shared(const std::int64_t* left, const std::int64_t* right) {
        const double share = static_cast<double>(left[0]) / static_cast<double>(left[0] + right[0]);
        const double missing = members(missing_.data());
        const double needed = static_cast<double>(settings_.min_samples_leaf) - kMembershipSlack;
        const double joins_left = settings_.missing_counts_twice ? 1 : share;
        const double joins_right = settings_.missing_counts_twice ? 1 : 1 - share;
        if (members(left) + joins_left * missing < needed || members(right) + joins_right * missing < needed)
            return;
        loss_.load(left, left_side_.data());
        loss_.load(right, right_side_.data());
        for (int k = 0; k < loss_.dim(); ++k) {
            left_side_[k] += share * missing_side_[k];
            right_side_[k] += (1 - share) * missing_side_[k];
        }
        judge(Branch::Both, share);
    }

    double members(const std::int64_t* cell) const {
        return static_cast<double>(cell[layout_.member]) * member_unit_;
    }

    /// Take the two sides if they are the best so far, and say so.
    bool judge(Branch missing_to, double share) {
        if (!(loss_.weight(left_side_.data()) > 0) || !(loss_.weight(right_side_.data()) > 0)) return false;
        const double gain = loss_.gain(left_side_.data(), right_side_.data(),
                                       missing_to == Branch::Third ? missing_side_.data() : nullptr);
        if (!(gain > (found_ ? best_gain_ + negligible_ : negligible_))) return false;
        found_ = true;
        best_gain_ = gain;
        refused_below_ = gain - margin_;
        best_cut_ = n_cuts_ - 1;
        best_.gain = gain;
        best_.missing_to = missing_to;
        best_.share = share;
        best_.larger = share > 0.5 ? Branch::Left : Branch::Right;
        return true;
    }

    const Settings& settings_;
    const Layout& layout_;
    Loss loss_;
    const Cell& missing_;
    Few<std::int64_t> observed_, right_, joined_;
    Few<double> left_side_, right_side_, missing_side_;
    std::array<double, 2> observed_side_{};  // of a loss that is quick to refuse
    double negligible_, margin_, best_gain_, refused_below_, member_unit_ = 1;
    bool one_way_ = false;  // missing rows leave only one way to take a cut, and are on neither side
    std::int64_t n_cuts_ = 0, best_cut_ = -1;
    bool found_ = false;
    Rung best_;
};

template <class Loss>
std::optional<Rung> search_numeric(Search<Loss>& search, const Settings& settings, const CodedColumn& column,
                                   const Cells& cells, const Layout& layout) {
    Few<std::int64_t> left(layout.width);
    // Rows alone decide which cuts are out of the question, except where missing rows may still join a side.
    const std::int64_t enough = settings.min_samples_leaf - cells.missing()[0];
    const std::int64_t most = search.observed_rows() - enough;
    std::int64_t rows = 0, weight = 0, sum = 0;
    std::size_t first = 0, taken = 0;
    for (std::size_t cell = 0; cell + 1 < cells.size(); ++cell) {
        const std::int64_t* const next = cells.at(cell);
        rows += next[0];
        weight += next[layout.weight];
        sum += next[1];
        if (rows < enough) {
            first = cell + 1;
            continue;
        }
        if (rows > most) break;
        if (search.refuse(weight, sum)) continue;
        for (; taken <= cell; ++taken) cells.add_to(taken, left.data());
        search.cut(left.data());
    }
    const std::int64_t last_cut = search.best_cut();
    search.cut_missing_off();
    if (!search.found()) return std::nullopt;
    Rung rung = search.take_rung();
    if (rung.missing_alone) {
        rung.threshold = -std::numeric_limits<double>::infinity();
    } else {
        const std::size_t cell = static_cast<std::size_t>(last_cut) + first;
        rung.low = cells.code(cell);
        rung.threshold = column.threshold(cells.code(cell), cells.code(cell + 1));
    }
    return rung;
}

/// Put the categories on the side that the best cut gave them; `on_left(i)` speaks of cell i.
template <class F>
void fill_sets(Rung& rung, const CodedColumn& column, const Cells& cells, F&& on_left) {
    rung.categorical = true;
    rung.sets = CategorySets(column.n_codes);
    for (std::size_t i = 0; i < cells.size(); ++i)
        rung.sets.put(!rung.missing_alone && on_left(i) ? Branch::Left : Branch::Right, cells.code(i));
}

/// Try every way of parting the categories; the first category is always on the left.
template <class Loss>
std::optional<Rung> search_partitions(Search<Loss>& search, const CodedColumn& column, const Cells& cells,
                                      const Layout& layout) {
    const std::size_t n_masks = std::size_t{1} << (cells.size() - 1);
    // sums[mask] is the cell of the first category and those whose bits are set: category i has bit i - 1
    std::vector<std::int64_t> sums(n_masks * layout.width, 0);
    cells.add_to(0, sums.data());
    for (std::size_t mask = 0; mask < n_masks; ++mask) {
        std::int64_t* sum = &sums[mask * layout.width];
        if (mask > 0) {
            const std::size_t top = std::bit_floor(mask);
            std::copy_n(&sums[(mask ^ top) * layout.width], layout.width, sum);
            cells.add_to(static_cast<std::size_t>(std::countr_zero(top)) + 1, sum);
        }
        if (mask + 1 < n_masks) search.cut(sum);
    }
    const auto best = static_cast<std::size_t>(search.best_cut());
    search.cut_missing_off();
    if (!search.found()) return std::nullopt;
    Rung rung = search.take_rung();
    fill_sets(rung, column, cells, [&](std::size_t i) { return i == 0 || (best >> (i - 1) & 1); });
    return rung;
}

/// Cut the categories where they lie in a row.
template <class Loss>
std::optional<Rung> search_ordered(Search<Loss>& search, const CodedColumn& column, const Cells& cells,
                                   const Layout& layout, const std::vector<std::uint32_t>& order) {
    Few<std::int64_t> left(layout.width);
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        cells.add_to(order[i], left.data());
        search.cut(left.data());
    }
    const std::int64_t best = search.best_cut();
    search.cut_missing_off();
    if (!search.found()) return std::nullopt;
    Rung rung = search.take_rung();
    std::vector<bool> on_left(order.size());
    for (std::int64_t i = 0; i <= best; ++i) on_left[order[static_cast<std::size_t>(i)]] = true;
    fill_sets(rung, column, cells, [&](std::size_t i) { return on_left[i]; });
    return rung;
}

template <class Loss>
std::optional<Rung> search_column(const Settings& settings, const CodedColumn& column, const Cells& cells,
                                  const NodeRows& node, const Layout& layout, const Summary& summary) {
    if (cells.size() == 0) return std::nullopt;
    Search<Loss> search(settings, cells, node, layout, summary);
    if (!column.categorical) return search_numeric(search, settings, column, cells, layout);
    if (!Loss::scores_order_categories(layout.n_classes) && cells.size() <= kMaxPartitioned)
        return search_partitions(search, column, cells, layout);
    return search_ordered(search, column, cells, layout, order_categories(search.loss(), cells, layout));
}

}  // namespace

std::optional<Rung> best_split(const Settings& settings, const CodedColumn& column,
                               std::int32_t column_number, const Cells& cells, const NodeRows& node,
                               const Layout& layout, const Summary& summary) {
    std::optional<Rung> rung;
    switch (settings.criterion) {
        case Criterion::SquaredError:
            rung = search_column<SquaredError>(settings, column, cells, node, layout, summary);
            break;
        case Criterion::Entropy:
            rung = search_column<Entropy>(settings, column, cells, node, layout, summary);
            break;
        case Criterion::Gini:
            rung = search_column<Gini>(settings, column, cells, node, layout, summary);
            break;
        case Criterion::EntropyTimesRows:
            rung = search_column<EntropyTimesRows>(settings, column, cells, node, layout, summary);
            break;
    }
    if (rung) rung->column = column_number;
    return rung;
}

void sort_ladder(std::vector<Rung>& rungs, const Settings& settings, double node_loss) {
    if (rungs.size() < 2) return;
    std::stable_sort(rungs.begin(), rungs.end(),
                     [](const Rung& a, const Rung& b) { return a.gain > b.gain; });
    for (auto place = rungs.begin(); place != rungs.end(); ++place) {
        auto first = place;
        for (auto tied = place; tied != rungs.end() && tied->gain >= place->gain - kNegligible * node_loss;
             ++tied)
            if (tied->column < first->column) first = tied;
        std::rotate(place, first, std::next(first));
    }
    if (settings.missing != Strategy::TrinaryMia) return;
    const auto end = std::find_if(rungs.begin(), rungs.end(),
                                  [](const Rung& rung) { return rung.missing_to != Branch::Third; });
    if (end != rungs.end()) rungs.erase(std::next(end), rungs.end());
}

}  // namespace tritree
