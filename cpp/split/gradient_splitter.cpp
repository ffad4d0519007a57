#include "split/gradient_splitter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace tritree {
namespace {

constexpr double kMinHessian = 1e-3;           // of a child, unless the hessian is constant
constexpr double kCategorySmoothingRows = 10;  // shrinks the values by which rare categories are ordered

/// Under trinary_mia, a split that sends missing values left or right must beat one that sends them to the
/// third branch by this multiple of the gain by chance: Akaike's penalty of a parameter. Missingness may not
/// mean the same in prediction as in training.
constexpr double kMissingSidePenalty = 2;

/// Return the gain that a split must exceed: the more rows a node has, the more thresholds there are, and the
/// larger is the largest gain that chance alone offers.
double split_penalty_of(double n_rows, double gain_by_chance, const GrowthParameters& params) {
    const double ratio = n_rows / (2 * static_cast<double>(params.min_samples_leaf));
    return ratio > 1 ? params.split_penalty * gain_by_chance * std::log(ratio) : 0;
}

/// Return the gain that a split of `n` categories must have in addition. The categories are ordered by the
/// gradients of the rows that the split is judged by, so that noise alone has a gain, proportional to their
/// number.
double category_penalty_of(std::size_t n, double gain_by_chance, const GrowthParameters& params) {
    return n > 2 ? params.category_penalty * gain_by_chance * static_cast<double>(n - 2) : 0;
}

/// Return twice the reduction of the loss when rows get a value.
double loss_reduction(const GradientSums& sums, double value, double l2) {
    return -(2 * sums.gradient * value + (sums.hessian + l2) * value * value);
}

// ---- candidate enumeration, for any search over cells ----
//
// A search has begin_column(column, missing), try_thresholds(cells, n_bins), begin_categories(n), best(),
// scale(), category_smoothing(), and try_split(left) and try_missing_vs_observed(), which return whether the
// split is the best so far.

template <class Search, class Cell>
void search_numeric(Search& search, const Cell* cells, const ColumnBins& bins) {
    search.try_thresholds(cells, bins.n_bins);
    if (search.try_missing_vs_observed()) {
        search.best().categorical = false;
        search.best().missing_vs_observed = true;
    }
}

/// A category with the leaf value that it would get.
struct ValuedCategory {
    double value;
    std::uint32_t bin;

    bool operator<(const ValuedCategory& other) const {
        return value != other.value ? value < other.value : bin < other.bin;
    }
};

/// Sort categories by value, ties by bin: first into as many buckets as there are categories. For thousands
/// of them this takes a quarter of the time of std::sort.
void sort_categories(std::vector<ValuedCategory>& categories) {
    constexpr std::size_t kMinCategories = 64;
    constexpr std::uint32_t kMaxInsertions = 32;  // into a bucket
    const std::size_t n = categories.size();
    double min = std::numeric_limits<double>::infinity(), max = -min;
    for (const ValuedCategory& category : categories) {
        min = std::min(min, category.value);
        max = std::max(max, category.value);
    }
    const double buckets_per_unit = static_cast<double>(n) / (max - min);
    if (n < kMinCategories || !(buckets_per_unit > 0 && std::isfinite(buckets_per_unit))) {
        std::sort(categories.begin(), categories.end());
        return;
    }
    static thread_local std::vector<ValuedCategory> own_sorted;
    static thread_local std::vector<std::uint32_t> own_buckets, own_ends;
    std::vector<ValuedCategory>& sorted = own_sorted;
    std::vector<std::uint32_t>&buckets = own_buckets, &ends = own_ends;
    sorted.resize(n);
    buckets.resize(n);
    ends.assign(n + 2, 0);
    for (std::size_t i = 0; i < n; ++i) {
        // rounding does not change the order of values, so that of the buckets is right
        buckets[i] = static_cast<std::uint32_t>((categories[i].value - min) * buckets_per_unit);
        ++ends[buckets[i]];
    }
    const std::uint32_t largest = *std::max_element(ends.begin(), ends.end());
    std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), 0u);
    for (std::size_t i = 0; i < n; ++i) sorted[ends[buckets[i]]++] = categories[i];
    categories.swap(sorted);
    if (largest > kMaxInsertions) {
        for (std::size_t bucket = 0, begin = 0; begin < n; begin = ends[bucket++])
            std::sort(categories.begin() + static_cast<std::ptrdiff_t>(begin),
                      categories.begin() + static_cast<std::ptrdiff_t>(ends[bucket]));
        return;
    }
    for (std::size_t i = 1; i < n; ++i) {
        const ValuedCategory category = categories[i];
        std::size_t at = i;
        for (; at > 0 && category < categories[at - 1]; --at) categories[at] = categories[at - 1];
        categories[at] = category;
    }
}

/// Split the categories in the order of the leaf values that they would get.
template <class Search, class Cell>
void search_categorical(Search& search, const Cell* cells, const ColumnBins& bins) {
    static thread_local std::vector<ValuedCategory> own_seen;
    std::vector<ValuedCategory>& seen = own_seen;
    seen.resize(bins.n_bins);
    const double smoothing = search.category_smoothing();
    std::size_t n_seen = 0;
    for (std::uint32_t bin = 0; bin < bins.n_bins; ++bin) {
        if (cells[bin].is_empty()) continue;
        const GradientSums sums = search.scale().to_float(cells[bin]);
        seen[n_seen++] = {-sums.gradient / (sums.hessian + smoothing), bin};
    }
    seen.resize(n_seen);
    sort_categories(seen);
    Cell left;
    std::size_t n_left = 0;
    bool found = false;
    search.begin_categories(seen.size());
    for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
        left += cells[seen[i].bin];
        if (search.try_split(left)) {
            n_left = i + 1;
            found = true;
        }
    }
    search.begin_categories(0);
    if (search.try_missing_vs_observed()) {
        n_left = 0;
        found = true;
    }
    if (!found) return;
    search.best().categorical = true;
    search.best().missing_vs_observed = n_left == 0;
    search.best().sets = CategorySets(bins.n_bins);
    for (std::size_t i = 0; i < seen.size(); ++i)
        search.best().sets.put(i < n_left ? Branch::Left : Branch::Right, seen[i].bin);
}

template <class Search, class Cell>
void search_columns(Search& search, const ColumnsHistogram<Cell>& histogram, const BinMapper& mapper,
                    std::span<const std::int32_t> columns) {
    for (const std::int32_t column : columns) {
        const ColumnBins& bins = mapper.columns[static_cast<std::size_t>(column)];
        const Cell* const cells = histogram.data() + mapper.offsets[static_cast<std::size_t>(column)];
        search.begin_column(column, cells[bins.n_bins]);
        if (bins.categorical)
            search_categorical(search, cells, bins);
        else
            search_numeric(search, cells, bins);
    }
}

/// Return twice the reduction of the loss by two children, or -inf if they violate a monotonic constraint.
class ChildrenReduction {
  public:
    ChildrenReduction(const GrowthParameters& params, const ValueBounds& bounds)
        : params_(params), bounds_(bounds), constrained_(!params.monotonic.empty()) {}

    void begin_column(std::int32_t column) {
        direction_ = constrained_ ? params_.monotonic[static_cast<std::size_t>(column)] : 0;
    }
    int direction() const { return direction_; }
    bool is_constrained() const { return constrained_; }

    double operator()(const GradientSums& left, const GradientSums& right) const {
        if (!constrained_)
            return left.gradient * left.gradient / (left.hessian + params_.l2) +
                   right.gradient * right.gradient / (right.hessian + params_.l2);
        const double left_value = node_value(left, params_, bounds_);
        const double right_value = node_value(right, params_, bounds_);
        if (direction_ * (right_value - left_value) < 0) return -std::numeric_limits<double>::infinity();
        return loss_reduction(left, left_value, params_.l2) + loss_reduction(right, right_value, params_.l2);
    }

  private:
    const GrowthParameters& params_;
    const ValueBounds bounds_;
    const bool constrained_;
    int direction_ = 0;
};

/// Search for the best split of a node, column by column.
class GradientSplitSearch {
  public:
    GradientSplitSearch(const GradientCell& total, const ValueBounds& bounds, const GradientScale& scale,
                        const GrowthParameters& params)
        : scale_(scale), params_(params), total_(total), reduction_(params, bounds) {
        const GradientSums sums = scale.to_float(total);
        node_value_ = node_value(sums, params, bounds);
        node_reduction_ = loss_reduction(sums, node_value_, params.l2);
        side_penalty_ =
            params.missing == Strategy::TrinaryMia ? kMissingSidePenalty * scale.gain_by_chance : 0;
        best_penalized_gain_ =
            split_penalty_of(static_cast<double>(scale.rows(total)), scale.gain_by_chance, params) +
            params.min_gain;
    }

    void begin_column(std::int32_t column, const GradientCell& missing) {
        column_ = column;
        reduction_.begin_column(column);
        missing_ = missing;
        observed_ = total_;
        observed_ -= missing;
        has_missing_ = scale_.rows(missing) > 0;
        // rows that take the third branch keep the value of the node while splits are searched
        const GradientSums third = scale_.to_float(missing);
        third_reduction_ = -(2 * third.gradient * node_value_ + third.hessian * node_value_ * node_value_);
        category_penalty_ = 0;
    }

    void begin_categories(std::size_t n) {
        category_penalty_ = category_penalty_of(n, scale_.gain_by_chance, params_);
    }

    bool try_split(const GradientCell& left) {
        GradientCell right = observed_;
        right -= left;
        const std::int64_t n_left = scale_.rows(left), n_right = scale_.rows(right);
        if (n_left == 0 || n_right == 0) return false;
        n_observed_left_ = n_left;
        n_observed_right_ = n_right;
        larger_side_ = n_left > n_right ? Branch::Left : Branch::Right;
        switch (params_.missing) {
            case Strategy::Trinary:
                return update_best(left, right, Branch::Third);
            case Strategy::Majority:
                return try_joined(left, right, larger_side_);
            case Strategy::Mia:
                if (!has_missing_) return update_best(left, right, larger_side_);
                break;
            default:
                if (!has_missing_) return update_best(left, right, Branch::Third);
        }
        bool better = try_joined(left, right, Branch::Left);
        if (params_.missing == Strategy::TrinaryMia) better |= update_best(left, right, Branch::Third);
        better |= try_joined(left, right, Branch::Right);
        return better;
    }

    bool try_missing_vs_observed() {
        if (!params_.may_split_on_missing() || !has_missing_ || reduction_.direction() != 0) return false;
        n_observed_left_ = 0;
        n_observed_right_ = scale_.rows(observed_);
        larger_side_ = Branch::Right;
        return n_observed_right_ > 0 && update_best(missing_, observed_, Branch::Left);
    }

    /// Try the thresholds of a numeric column: `cells` are those of its bins. Most of them are ruled out by
    /// approximate gains, which are computed for many thresholds at once.
    void try_thresholds(const GradientCell* cells, std::uint32_t n_bins) {
        std::array<std::uint32_t, kChunk> bin_of;
        std::array<double, kChunk> gain;
        GradientCell sum;
        for (std::uint32_t bin = 0; bin + 1 < n_bins;) {
            std::size_t n = 0;
            for (; bin + 1 < n_bins && n < kChunk; ++bin) {
                sum += cells[bin];
                left_[n] = sum;
                bin_of[n] = bin;
                n += !cells[bin].is_empty();
            }
            approximate_gains({left_.data(), n}, gain.data());
            double bar = least_approximate_gain();
            for (std::size_t i = 0; i < n; ++i) {
                if (gain[i] < bar || !try_split(left_[i])) continue;
                best_.categorical = best_.missing_vs_observed = false;
                best_.threshold_bin = bin_of[i];
                bar = least_approximate_gain();
            }
        }
    }

    GradientSplit& best() { return best_; }
    const GradientScale& scale() const { return scale_; }
    double category_smoothing() const {
        const auto n_rows = static_cast<double>(std::max<std::int64_t>(scale_.rows(total_), 1));
        return kCategorySmoothingRows * scale_.to_float(total_).hessian / n_rows;
    }
    std::array<GradientSums, 2> child_sums() const {
        return {scale_.to_float(best_.left), scale_.to_float(best_.right)};
    }

  private:
    static constexpr std::size_t kChunk = 256;
    static constexpr double kTolerance = 1e-9;  // of approximate gains; far above rounding errors

    /// Set upper bounds of the penalised gains of splits, plus the reduction of the loss by the node itself:
    /// by the best way of sending missing values somewhere. Without branches, to be vectorised.
    void approximate_gains(std::span<const GradientCell> left, double* gain) const {
        std::array<double, kChunk> gradient, hessian;
        for (std::size_t i = 0; i < left.size(); ++i) {
            const GradientSums sums = scale_.to_float(left[i]);
            gradient[i] = sums.gradient;
            hessian[i] = sums.hessian + params_.l2;
        }
        const GradientSums observed = scale_.to_float(observed_), missing = scale_.to_float(missing_);
        const double l2 = 2 * params_.l2;
        const auto set_gains = [&](const GradientSums& to_left, const GradientSums& to_right, double offset,
                                   auto&& combine) {
            const double sum_g = observed.gradient + to_left.gradient + to_right.gradient;
            const double sum_h = observed.hessian + l2 + to_left.hessian + to_right.hessian;
            const double constant = offset + sum_g * sum_g / sum_h;
            for (std::size_t i = 0; i < left.size(); ++i) {
                const double g = gradient[i] + to_left.gradient, h = hessian[i] + to_left.hessian;
                const double other_g = observed.gradient - gradient[i] + to_right.gradient;
                const double other_h = observed.hessian + l2 - hessian[i] + to_right.hessian;
                // g² / h + other_g² / other_h, less what is the same for all thresholds: one division
                const double difference = g * other_h - other_g * h;
                gain[i] = combine(gain[i], difference * difference / (h * other_h * sum_h) + constant);
            }
        };
        const auto first = [](double, double second) { return second; };
        const auto larger = [](double a, double b) { return a > b ? a : b; };
        if (!has_missing_ || params_.missing == Strategy::Trinary)
            return set_gains({}, {}, has_missing_ ? third_reduction_ : 0, first);
        set_gains(missing, {}, -side_penalty_, first);
        set_gains({}, missing, -side_penalty_, larger);
        if (params_.missing == Strategy::TrinaryMia) set_gains({}, {}, third_reduction_, larger);
    }

    /// Return what an approximate gain must reach for the split to be the best so far.
    double least_approximate_gain() const {
        if (reduction_.is_constrained()) return -std::numeric_limits<double>::infinity();
        return best_penalized_gain_ + node_reduction_ -
               kTolerance * (best_penalized_gain_ + std::abs(node_reduction_) + std::abs(third_reduction_));
    }

    bool try_joined(GradientCell left, GradientCell right, Branch missing_to) {
        (missing_to == Branch::Left ? left : right) += missing_;
        return update_best(left, right, missing_to);
    }

    bool update_best(const GradientCell& left, const GradientCell& right, Branch missing_to) {
        if (std::min(scale_.rows(left), scale_.rows(right)) < params_.min_samples_leaf) return false;
        const GradientSums l = scale_.to_float(left), r = scale_.to_float(right);
        if (!scale_.constant_hessian && std::min(l.hessian, r.hessian) < kMinHessian) return false;
        const double reduction = reduction_(l, r);
        const bool third = missing_to == Branch::Third;
        const double gain = (third ? reduction + third_reduction_ : reduction) - node_reduction_;
        const double penalized_gain = gain - category_penalty_ - (third ? 0 : side_penalty_);
        if (!(penalized_gain > best_penalized_gain_) ||
            !(gain > kNegligible * (std::abs(reduction) + std::abs(node_reduction_))))
            return false;
        best_penalized_gain_ = penalized_gain;
        best_.gain = gain;
        best_.column = column_;
        best_.missing_to = missing_to;
        best_.larger_side = larger_side_;
        best_.left = left;
        best_.right = right;
        best_.left_fraction =
            static_cast<double>(n_observed_left_) / static_cast<double>(n_observed_left_ + n_observed_right_);
        return true;
    }

    const GradientScale& scale_;
    const GrowthParameters& params_;
    const GradientCell total_;
    ChildrenReduction reduction_;
    GradientCell missing_, observed_;
    std::int32_t column_ = -1;
    bool has_missing_ = false;
    double node_value_ = 0, node_reduction_ = 0, third_reduction_ = 0;
    double side_penalty_ = 0, category_penalty_ = 0, best_penalized_gain_ = 0;
    std::int64_t n_observed_left_ = 0, n_observed_right_ = 0;
    Branch larger_side_ = Branch::Right;
    GradientSplit best_;
    std::array<GradientCell, kChunk> left_;  // of a chunk; not in its function, which would clear it
};

/// Search for the best fractional split of a node. Sharing update_best with GradientSplitSearch would slow
/// the latter down by half.
class FractionalSplitSearch {
  public:
    FractionalSplitSearch(const FractionalCell& total, const ValueBounds& bounds,
                          const FractionalScale& scale, const GrowthParameters& params)
        : scale_(scale),
          params_(params),
          total_(total),
          min_memberships_(static_cast<double>(params.min_samples_leaf) - kMembershipTolerance),
          reduction_(params, bounds) {
        const GradientSums sums = scale.to_float(total);
        node_reduction_ = loss_reduction(sums, node_value(sums, params, bounds), params.l2);
        best_penalized_gain_ = split_penalty_of(scale.memberships(total), scale.gain_by_chance(), params);
    }

    void begin_column(std::int32_t column, const FractionalCell& missing) {
        column_ = column;
        reduction_.begin_column(column);
        missing_ = scale_.to_float(missing);
        missing_memberships_ = scale_.memberships(missing);
        observed_ = total_;
        observed_ -= missing;
        category_penalty_ = 0;
    }

    void begin_categories(std::size_t n) {
        category_penalty_ = category_penalty_of(n, scale_.gain_by_chance(), params_);
    }

    bool try_split(const FractionalCell& left) {
        FractionalCell right = observed_;
        right -= left;
        if (left.rows == 0 || right.rows == 0) return false;
        const double fraction = static_cast<double>(left.rows) / static_cast<double>(observed_.rows);
        if (scale_.memberships(left) + fraction * missing_memberships_ < min_memberships_ ||
            scale_.memberships(right) + (1 - fraction) * missing_memberships_ < min_memberships_)
            return false;
        const GradientSums l = with_missing(scale_.to_float(left), fraction);
        const GradientSums r = with_missing(scale_.to_float(right), 1 - fraction);
        if (!scale_.constant_hessian() && std::min(l.hessian, r.hessian) < kMinHessian) return false;
        const double reduction = reduction_(l, r), gain = reduction - node_reduction_;
        const double penalized_gain = gain - category_penalty_;
        if (!(penalized_gain > best_penalized_gain_) ||
            !(gain > kNegligible * (std::abs(reduction) + std::abs(node_reduction_))))
            return false;
        best_penalized_gain_ = penalized_gain;
        best_.gain = gain;
        best_.column = column_;
        best_.missing_to = Branch::Both;
        best_sums_ = {l, r};
        best_.larger_side = left.rows > right.rows ? Branch::Left : Branch::Right;
        best_.left_fraction = fraction;
        return true;
    }

    void try_thresholds(const FractionalCell* cells, std::uint32_t n_bins) {
        FractionalCell left;
        for (std::uint32_t bin = 0; bin + 1 < n_bins; ++bin) {
            if (cells[bin].is_empty()) continue;
            left += cells[bin];
            if (!try_split(left)) continue;
            best_.categorical = best_.missing_vs_observed = false;
            best_.threshold_bin = bin;
        }
    }

    /// Missing rows are on both sides, so they are never separated from the others.
    bool try_missing_vs_observed() const { return false; }

    GradientSplit& best() { return best_; }
    const FractionalScale& scale() const { return scale_; }
    double category_smoothing() const {
        const double memberships = scale_.memberships(total_);
        return memberships > 0 ? kCategorySmoothingRows * scale_.to_float(total_).hessian / memberships : 0;
    }
    const std::array<GradientSums, 2>& child_sums() const { return best_sums_; }

  private:
    GradientSums with_missing(const GradientSums& sums, double fraction) const {
        return {sums.gradient + fraction * missing_.gradient, sums.hessian + fraction * missing_.hessian};
    }

    const FractionalScale& scale_;
    const GrowthParameters& params_;
    const FractionalCell total_;
    const double min_memberships_;
    ChildrenReduction reduction_;
    std::int32_t column_ = -1;
    FractionalCell observed_;
    GradientSums missing_;
    double missing_memberships_ = 0, node_reduction_ = 0;
    double category_penalty_ = 0, best_penalized_gain_ = 0;
    std::array<GradientSums, 2> best_sums_;
    GradientSplit best_;
};

/// Return the best split of a search over all columns, with the values of its children.
template <class Search>
std::optional<GradientSplit> take_best(Search& search, const GrowthParameters& params,
                                       const ValueBounds& bounds) {
    GradientSplit& split = search.best();
    if (split.column < 0) return std::nullopt;
    const auto [left, right] = search.child_sums();
    split.left_value = node_value(left, params, bounds);
    split.right_value = node_value(right, params, bounds);
    return std::move(split);
}

}  // namespace

double node_value(const GradientSums& sums, const GrowthParameters& params, const ValueBounds& bounds) {
    const double weight = sums.hessian + params.l2;
    return std::clamp(weight > 0 ? -sums.gradient / weight : 0.0, bounds.low, bounds.high);
}

std::optional<GradientSplit> best_split(const GradientHistogram& histogram, const BinMapper& mapper,
                                        std::span<const std::int32_t> columns, const GradientCell& total,
                                        const ValueBounds& bounds, const GradientScale& scale,
                                        const GrowthParameters& params) {
    GradientSplitSearch search(total, bounds, scale, params);
    search_columns(search, histogram, mapper, columns);
    return take_best(search, params, bounds);
}

std::optional<GradientSplit> best_split(const FractionalHistogram& histogram, const BinMapper& mapper,
                                        std::span<const std::int32_t> columns, const FractionalCell& total,
                                        const ValueBounds& bounds, const FractionalScale& scale,
                                        const GrowthParameters& params) {
    FractionalSplitSearch search(total, bounds, scale, params);
    search_columns(search, histogram, mapper, columns);
    return take_best(search, params, bounds);
}

}  // namespace tritree
