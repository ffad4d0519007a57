#include "cut.hpp"

#include "cut_search.hpp"

namespace tritree::boosting {
namespace {

/// Of a split that gives missing values to a side, where they could go third: it must gain so many times more
/// than chance gives. Akaike's price of one parameter; what holes tell in training may not hold tomorrow.
constexpr double kPriceOfSide = 2;

/// Looks for the best cut of one node, column by column.
class Search {
  public:
    Search(const NodeSums& node, const Unit& unit, const Plan& plan)
        : unit_(unit), plan_(plan), bounds_(node.bounds), total_(node.total) {
        const Sums sums = unit.read(node.total);
        node_value_ = best_value(sums, plan, bounds_);
        node_fall_ = fall(sums, node_value_, plan.l2);
        bound_ = !plan.monotonic.empty();
        price_ = plan.missing == Strategy::TrinaryMia ? kPriceOfSide * unit.chance : 0;
    }

    void begin_column(std::int32_t column, const Cell& missing) {
        column_ = column;
        missing_ = missing;
        observed_ = total_;
        observed_ -= missing;
        has_missing_ = unit_.rows(missing) > 0;
        // what rows without a value keep if they go third: the node's own value
        const Sums staying = unit_.read(missing);
        staying_fall_ = -(2 * staying.first * node_value_ + staying.second * node_value_ * node_value_);
        direction_ = bound_ ? plan_.monotonic[static_cast<std::size_t>(column)] : 0;
    }

    /// Try a cut with these rows on the left; say whether it is the best so far.
    bool cut(const Cell& left) {
        Cell right = observed_;
        right -= left;
        const std::int64_t n_left = unit_.rows(left), n_right = unit_.rows(right);
        if (n_left == 0 || n_right == 0) return false;
        const Branch larger = n_left > n_right ? Branch::Left : Branch::Right;
        observed_left_ = n_left;
        observed_right_ = n_right;
        switch (plan_.missing) {
            case Strategy::Trinary:
                return judge(left, right, Branch::Third, larger);
            case Strategy::Majority:
                return joined(left, right, larger, larger);
            case Strategy::Mia:
                if (!has_missing_) return judge(left, right, larger, larger);
                break;
            default:
                if (!has_missing_) return judge(left, right, Branch::Third, larger);
        }
        bool better = joined(left, right, Branch::Left, larger);
        if (plan_.missing == Strategy::TrinaryMia) better |= judge(left, right, Branch::Third, larger);
        better |= joined(left, right, Branch::Right, larger);
        return better;
    }

    /// Try missing against observed; say whether it is the best so far.
    bool cut_missing_off() {
        const bool may = plan_.missing == Strategy::Mia || plan_.missing == Strategy::TrinaryMia;
        if (!may || !has_missing_ || direction_ != 0) return false;
        observed_left_ = 0;
        observed_right_ = unit_.rows(observed_);
        return observed_right_ > 0 && judge(missing_, observed_, Branch::Left, Branch::Right);
    }

    Cut& best() { return best_; }
    bool found() const { return best_.column >= 0; }
    const Unit& unit() const { return unit_; }
    double smoothing() const {
        const Sums sums = unit_.read(total_);
        return kSmoothingRows * sums.second / static_cast<double>(std::max<std::int64_t>(sums.rows, 1));
    }

  private:
    bool joined(Cell left, Cell right, Branch to, Branch larger) {
        (to == Branch::Left ? left : right) += missing_;
        return judge(left, right, to, larger);
    }

    bool judge(const Cell& left, const Cell& right, Branch missing_to, Branch larger) {
        if (std::min(unit_.rows(left), unit_.rows(right)) < plan_.min_samples_leaf) return false;
        const Sums l = unit_.read(left), r = unit_.read(right);
        if (!unit_.constant && std::min(l.second, r.second) < kLeastSecond) return false;
        double left_value = 0, right_value = 0, reached = 0;
        if (bound_) {
            left_value = best_value(l, plan_, bounds_);
            right_value = best_value(r, plan_, bounds_);
            if (direction_ * (right_value - left_value) < 0) return false;
            reached = fall(l, left_value, plan_.l2) + fall(r, right_value, plan_.l2);
        } else {
            reached = l.first * l.first / (l.second + plan_.l2) + r.first * r.first / (r.second + plan_.l2);
        }
        const double after = missing_to == Branch::Third ? reached + staying_fall_ : reached;
        const double gain = after - node_fall_;
        const double worth = missing_to == Branch::Third ? gain : gain - price_;
        if (!(worth > best_worth_) || !(gain > kNegligible * (std::abs(reached) + std::abs(node_fall_))))
            return false;
        best_worth_ = worth;
        best_.gain = gain;
        best_.column = column_;
        best_.missing_to = missing_to;
        best_.larger = larger;
        best_.left = left;
        best_.right = right;
        best_.observed_left = observed_left_;
        best_.observed_right = observed_right_;
        return true;
    }

    const Unit& unit_;
    const Plan& plan_;
    const Bounds bounds_;
    const Cell total_;
    Cell missing_, observed_;
    std::int32_t column_ = -1;
    int direction_ = 0;
    bool has_missing_ = false, bound_ = false;
    double node_value_ = 0, node_fall_ = 0, staying_fall_ = 0;
    double price_ = 0, best_worth_ = 0;
    std::int64_t observed_left_ = 0, observed_right_ = 0;
    Cut best_;
};

}  // namespace

const char* Plan::validate(std::size_t n_columns) const {
    if (missing < Strategy::Trinary || missing > Strategy::Fractional)
        return "a strategy that cannot be boosted";
    if (max_depth < 0 || max_leaf_nodes < 0 || min_samples_leaf < 1) return "settings out of range";
    if (!(l2 >= 0) || !std::isfinite(l2)) return "l2 out of range";
    if (!(max_features > 0) || max_features > 1) return "max_features out of range";
    if (!monotonic.empty() && monotonic.size() != n_columns) return "constraints of other columns";
    if (third_depth_extra < 0 || third_rows < 1 || max_third_nodes < 0) return "settings out of range";
    if (max_depth > kMostDepth || third_depth_extra > kMostDepth) return "settings out of range";
    return nullptr;
}

double best_value(const Sums& sums, const Plan& plan, const Bounds& bounds) {
    const double weight = sums.second + plan.l2;
    return std::clamp(weight > 0 ? -sums.first / weight : 0.0, bounds.low, bounds.high);
}

std::optional<Cut> best_cut(const Histogram& histogram, const Bins& bins,
                            std::span<const std::int32_t> columns, const NodeSums& node, const Unit& unit,
                            const Plan& plan) {
    Search search(node, unit, plan);
    search_columns(search, histogram, bins, columns);
    if (!search.found()) return std::nullopt;
    Cut& cut = search.best();
    cut.left_value = best_value(unit.read(cut.left), plan, node.bounds);
    cut.right_value = best_value(unit.read(cut.right), plan, node.bounds);
    return std::move(cut);
}

}  // namespace tritree::boosting
