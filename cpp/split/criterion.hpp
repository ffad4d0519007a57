#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "split/category_order.hpp"
#include "split/node_stats.hpp"

namespace tritree {

// A criterion measures by how much the loss of the rows on one side of a split falls when they get a value of
// their own instead of a reference value: that of the node, or of its observed rows for surrogate splits. The
// gain of a split is the sum over its two sides, under every strategy: rows that keep the reference value
// gain nothing, which is why missing rows do not appear in a trinary gain.
//
// A side is represented by `dim()` doubles, which `load` computes from a histogram cell.

class SquaredError {
  public:
    SquaredError(const NodeSamples& node, const CellLayout& layout)
        : weight_at_(layout.weight),
          sum_unit_(1 / node.scale.sum_scale),
          weight_unit_(layout.weight > 0 ? 1 / node.scale.weight_scale : 1) {}

    int dim() const { return 2; }
    void load(const std::int64_t* cell, double* side) const {
        side[0] = static_cast<double>(cell[weight_at_]) * weight_unit_;
        side[1] = static_cast<double>(cell[1]) * sum_unit_;
    }
    static double weight(const double* side) { return side[0]; }
    void set_reference(const double* side) { mean_ = side[1] / side[0]; }
    double improvement(const double* side) const {
        const double shift = side[1] / side[0] - mean_;
        return side[0] * shift * shift;
    }
    /// Return the gain of a split; `staying` is the side of the rows that keep the reference value.
    double gain(const double* left, const double* right, const double* /*staying*/) const {
        return improvement(left) + improvement(right);
    }
    /// Return, without dividing, whether the gain is less than `floor` (to about 1e-12 of the loss), given
    /// the fixed-point sums of the left side, and both sides together.
    static constexpr bool kHasQuickBound = true;
    bool is_clearly_worse(std::int64_t weight, std::int64_t sum, const double* both, double floor) const {
        const double left = static_cast<double>(weight) * weight_unit_, right = both[0] - left;
        const double left_sum = static_cast<double>(sum) * sum_unit_, right_sum = both[1] - left_sum;
        const double a = left_sum - left * mean_, b = right_sum - right * mean_;
        return a * a * right + b * b * left < floor * left * right;
    }
    /// Return the score by which categories are ordered: the mean target.
    Score score(const double* side, std::int64_t rows) const {
        if (!(side[0] > 0)) return {mean_, 0};
        const double mean = side[1] / side[0], n = static_cast<double>(rows);
        const double weight_error = weight_at_ > 0 ? std::abs(mean) * weight_unit_ : 0;
        return {mean,
                n * (sum_unit_ + weight_error) / side[0]};  // rows are rounded by up to half a unit each
    }
    double reference(std::size_t) const { return mean_; }
    static bool scores_order_categories(int) { return true; }

  private:
    int weight_at_;
    double sum_unit_, weight_unit_, mean_ = 0;
};

/// Cross-entropy and Gini; `Measure::improvement(p, reference)` is the contribution of one class per unit of
/// weight.
template <class Measure>
class ClassLoss {
  public:
    ClassLoss(const NodeSamples& node, const CellLayout& layout)
        : n_classes_(layout.n_classes),
          unit_(node.weight.empty() ? 1 : 1 / node.scale.weight_scale),
          reference_(layout.n_classes) {}

    int dim() const { return n_classes_; }
    void load(const std::int64_t* cell, double* side) const {
        for (int k = 0; k < n_classes_; ++k) side[k] = static_cast<double>(cell[1 + k]) * unit_;
    }
    double weight(const double* side) const {
        double sum = 0;
        for (int k = 0; k < n_classes_; ++k) sum += side[k];
        return sum;
    }
    void set_reference(const double* side) {
        const double total = weight(side);
        for (int k = 0; k < n_classes_; ++k) reference_[k] = side[k] / total;
    }
    double improvement(const double* side) const {
        const double total = weight(side);
        double sum = 0;
        for (int k = 0; k < n_classes_; ++k)
            if (reference_[k] > 0) sum += Measure::improvement(side[k] / total, reference_[k]);
        return total * sum;
    }
    double gain(const double* left, const double* right, const double* /*staying*/) const {
        return improvement(left) + improvement(right);
    }
    static constexpr bool kHasQuickBound = false;
    /// Return the score by which categories are ordered if there are two classes: the proportion of the
    /// second.
    Score score(const double* side, std::int64_t rows) const {
        const double total = weight(side);
        if (!(total > 0)) return {reference_[1], 0};
        return {side[1] / total, unit_ < 1 ? static_cast<double>(rows) * unit_ / total : 0};
    }
    double reference(std::size_t k) const { return reference_[k]; }
    static bool scores_order_categories(int n_classes) { return n_classes == 2; }

  protected:
    int n_classes_;
    double unit_;
    std::vector<double> reference_;
};

/// p log(p / r) - p + r, which sums to the Kullback-Leibler divergence and is never negative. Written as
/// r ((1 + d) log(1 + d) - d) with p = r (1 + d), and by its series near d = 0, it does not cancel.
struct EntropyMeasure {
    static double improvement(double proportion, double reference) {
        const double d = (proportion - reference) / reference;
        if (proportion <= 0) return reference;
        if (std::abs(d) < 1e-3)
            return reference * d * d * (1.0 / 2 - d * (1.0 / 6 - d * (1.0 / 12 - d / 20)));
        return reference * ((1 + d) * std::log1p(d) - d);
    }
};

struct GiniMeasure {
    static double improvement(double proportion, double reference) {
        return (proportion - reference) * (proportion - reference);
    }
};

using Entropy = ClassLoss<EntropyMeasure>;
using Gini = ClassLoss<GiniMeasure>;

/// The cross-entropy of a side, multiplied once more by the weight of the side: see
/// `GrowthParameters::as_in_paper_runs`.
class EntropyTimesRows : public Entropy {
  public:
    using Entropy::Entropy;

    void set_reference(const double* side) {
        Entropy::set_reference(side);
        before_ = loss(side, reference_.data());
    }
    double gain(const double* left, const double* right, const double* staying) const {
        const double after = loss(left, nullptr) + loss(right, nullptr);
        return before_ - after - (staying == nullptr ? 0 : loss(staying, reference_.data()));
    }
    /// No score orders the categories optimally for this loss.
    static bool scores_order_categories(int) { return false; }

  private:
    /// Return the loss of rows under these proportions, or under their own.
    double loss(const double* side, const double* proportions) const {
        const double total = weight(side);
        double sum = 0;
        for (int k = 0; k < n_classes_; ++k)
            if (side[k] > 0)
                sum -= side[k] * std::log(proportions != nullptr ? proportions[k] : side[k] / total);
        return total * sum;
    }

    double before_ = 0;
};

}  // namespace tritree
