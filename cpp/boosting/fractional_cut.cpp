#include "fractional_cut.hpp"

#include "cut_search.hpp"

namespace tritree::boosting {
namespace {

/// Return sums with a share of others added.
Sums with_share(const Sums& sums, const Sums& of, double share) {
    return {sums.first + share * of.first, sums.second + share * of.second, sums.rows};
}

/// Looks for the best cut of one node, column by column. How it judges two sides is what the search of other
/// strategies does; a judge that both would share has made that one slower by half.
class SharedSearch {
  public:
    SharedSearch(const PartCell& total, const Bounds& bounds, const PartUnit& unit, const Plan& plan)
        : unit_(unit),
          plan_(plan),
          bounds_(bounds),
          total_(total),
          needed_(static_cast<double>(plan.min_samples_leaf) - kMembershipSlack),
          bound_(!plan.monotonic.empty()) {
        const Sums sums = unit.read(total);
        node_fall_ = fall(sums, best_value(sums, plan, bounds), plan.l2);
    }

    void begin_column(std::int32_t column, const PartCell& missing) {
        column_ = column;
        direction_ = bound_ ? plan_.monotonic[static_cast<std::size_t>(column)] : 0;
        missing_ = unit_.read(missing);
        missing_members_ = unit_.members(missing);
        observed_ = total_;
        observed_ -= missing;
    }

    /// Try a cut with these rows on the left; say whether it is the best so far.
    bool cut(const PartCell& left) {
        PartCell right = observed_;
        right -= left;
        if (left.rows == 0 || right.rows == 0) return false;
        const double share = static_cast<double>(left.rows) / static_cast<double>(observed_.rows);
        if (unit_.members(left) + share * missing_members_ < needed_ ||
            unit_.members(right) + (1 - share) * missing_members_ < needed_)
            return false;
        const Sums l = with_share(unit_.read(left), missing_, share);
        const Sums r = with_share(unit_.read(right), missing_, 1 - share);
        if (!judge(l, r)) return false;
        best_.larger = left.rows > right.rows ? Branch::Left : Branch::Right;
        best_.observed_left = left.rows;
        best_.observed_right = right.rows;
        return true;
    }

    /// A row without a value is on both sides: it is never told from the others.
    bool cut_missing_off() const { return false; }

    Cut& best() { return best_; }
    bool found() const { return best_.column >= 0; }
    const PartUnit& unit() const { return unit_; }
    double smoothing() const {
        const double members = unit_.members(total_);
        return members > 0 ? kSmoothingRows * unit_.read(total_).second / members : 0;
    }

  private:
    bool judge(const Sums& l, const Sums& r) {
        if (!unit_.constant() && std::min(l.second, r.second) < kLeastSecond) return false;
        const double left_value = best_value(l, plan_, bounds_), right_value = best_value(r, plan_, bounds_);
        double reached = 0;
        if (bound_) {
            if (direction_ * (right_value - left_value) < 0) return false;
            reached = fall(l, left_value, plan_.l2) + fall(r, right_value, plan_.l2);
        } else {
            reached = l.first * l.first / (l.second + plan_.l2) + r.first * r.first / (r.second + plan_.l2);
        }
        const double gain = reached - node_fall_;
        if (!(gain > best_.gain) || !(gain > kNegligible * (std::abs(reached) + std::abs(node_fall_))))
            return false;
        best_.gain = gain;
        best_.column = column_;
        best_.missing_to = Branch::Both;
        best_.left_value = left_value;
        best_.right_value = right_value;
        return true;
    }

    const PartUnit& unit_;
    const Plan& plan_;
    const Bounds bounds_;
    const PartCell total_;
    const double needed_;
    const bool bound_;
    std::int32_t column_ = -1;
    int direction_ = 0;
    PartCell observed_;
    Sums missing_;
    double missing_members_ = 0, node_fall_ = 0;
    Cut best_;
};

}  // namespace

std::optional<Cut> best_shared_cut(const PartHistogram& histogram, const Bins& bins,
                                   std::span<const std::int32_t> columns, const PartCell& total,
                                   const Bounds& bounds, const PartUnit& unit, const Plan& plan) {
    SharedSearch search(total, bounds, unit, plan);
    search_columns(search, histogram, bins, columns);
    if (!search.found()) return std::nullopt;
    return std::move(search.best());
}

}  // namespace tritree::boosting
