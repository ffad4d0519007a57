#include "cut.hpp"

#include <algorithm>
#include <cmath>

namespace tritree::boosting {
namespace {

constexpr double kLeastSecond = 1e-3;  // of a side, where second derivatives may vanish
constexpr double kNegligible = 1e-12;  // a gain of this share of what it is made of is rounding
constexpr double kSmoothingRows = 10;  // by which the means of rare categories are drawn to zero

/// Return twice what the loss falls by when rows get a value.
double fall(const Sums& sums, double value, double l2) {
    return -(2 * sums.first * value + (sums.second + l2) * value * value);
}

/// Looks for the best cut of one node, column by column.
class Search {
  public:
    Search(const NodeSums& node, const Unit& unit, const Plan& plan)
        : unit_(unit), plan_(plan), bounds_(node.bounds), total_(node.total) {
        const Sums sums = unit.read(node.total);
        node_value_ = best_value(sums, plan, bounds_);
        node_fall_ = fall(sums, node_value_, plan.l2);
        bound_ = !plan.monotonic.empty();
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
        if (!may || !plan_.split_on_missing || !has_missing_ || direction_ != 0) return false;
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
        if (!(gain > best_.gain) || !(gain > kNegligible * (std::abs(reached) + std::abs(node_fall_))))
            return false;
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
    std::int64_t observed_left_ = 0, observed_right_ = 0;
    Cut best_;
};

void search_numbers(Search& search, const Cell* cells, const ColumnBins& bins) {
    Cell left;
    for (std::uint32_t code = 0; code + 1 < bins.n_codes; ++code) {
        if (cells[code].packed == 0) continue;
        left += cells[code];
        if (search.cut(left)) {
            search.best().categorical = false;
            search.best().begin = code + 1;
        }
    }
    if (search.cut_missing_off()) {
        search.best().categorical = false;
        search.best().begin = 0;
    }
}

/// Cut the categories in the order of the values they would get.
void search_categories(Search& search, const Cell* cells, const ColumnBins& bins) {
    struct Category {
        std::uint32_t code;
        double value;
    };
    static thread_local std::vector<Category> seen;
    seen.clear();
    const double smoothing = search.smoothing();
    for (std::uint32_t code = 0; code < bins.n_codes; ++code) {
        if (cells[code].packed == 0) continue;
        const Sums sums = search.unit().read(cells[code]);
        seen.push_back({code, -sums.first / (sums.second + smoothing)});
    }
    std::sort(seen.begin(), seen.end(), [](const Category& a, const Category& b) {
        return a.value != b.value ? a.value < b.value : a.code < b.code;
    });
    Cell left;
    std::size_t n_left = 0;
    bool found = false;
    for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
        left += cells[seen[i].code];
        if (search.cut(left)) {
            n_left = i + 1;
            found = true;
        }
    }
    if (search.cut_missing_off()) {
        n_left = 0;
        found = true;
    }
    if (!found) return;
    search.best().categorical = true;
    search.best().sets = CategorySets(bins.n_codes);
    for (std::size_t i = 0; i < seen.size(); ++i)
        search.best().sets.put(i < n_left ? Branch::Left : Branch::Right, seen[i].code);
}

}  // namespace

const char* Plan::validate(std::size_t n_columns) const {
    if (missing < Strategy::Trinary || missing > Strategy::Majority)
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
    for (const std::int32_t column : columns) {
        const ColumnBins& of = bins.columns[static_cast<std::size_t>(column)];
        const Cell* const cells = histogram.data() + bins.offsets[static_cast<std::size_t>(column)];
        search.begin_column(column, cells[of.n_codes]);
        if (of.categorical)
            search_categories(search, cells, of);
        else
            search_numbers(search, cells, of);
    }
    if (!search.found()) return std::nullopt;
    Cut& cut = search.best();
    cut.left_value = best_value(unit.read(cut.left), plan, node.bounds);
    cut.right_value = best_value(unit.read(cut.right), plan, node.bounds);
    return std::move(cut);
}

}  // namespace tritree::boosting
