#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tritree {

/// Losses for boosting. Raw predictions are sums over trees: the logarithm of the mean for Poisson and Gamma,
/// the log-odds of the second class for LogLoss, the logarithm of each class probability, up to a constant,
/// for Softmax.
enum class LossKind : std::uint8_t {
    SquaredError,
    AbsoluteError,
    Quantile,
    Poisson,
    Gamma,
    LogLoss,
    Softmax
};

/// A loss with the targets of the training rows.
struct Loss {
    LossKind kind = LossKind::SquaredError;
    double quantile = 0.5;
    int n_outputs = 1;
    std::vector<double> y;       ///< numbers; classes as 0, 1, ...
    std::vector<double> weight;  ///< empty if all rows have weight 1

    std::size_t n_rows() const { return y.size(); }
    /// Return an error message, or null if the targets and weights are valid for the loss.
    const char* validate() const;
    /// Return whether leaf values are quantiles of residuals instead of Newton steps.
    bool has_quantile_leaves() const { return kind == LossKind::AbsoluteError || kind == LossKind::Quantile; }
    /// Return whether the hessian is 1 everywhere.
    bool has_constant_hessian() const {
        return (kind == LossKind::SquaredError || has_quantile_leaves()) && weight.empty();
    }
    /// Compute gradients and hessians with respect to one output, given the raw predictions of all outputs
    /// (one after the other). Hessians are skipped if the span is empty.
    void derivatives(std::span<const double> raw, int output, std::span<double> gradients,
                     std::span<double> hessians, int n_threads) const;
    /// Return by how much the loss of a row changes if `step` is added to its raw prediction; not for
    /// softmax.
    double increase(std::size_t row, double raw, double step) const;
    /// The same for softmax: `steps(k)` is added to output k.
    template <class Raw, class Steps>
    double softmax_increase(std::size_t row, Raw&& raw, Steps&& steps) const;
    /// Return the largest step, after shrinking by the learning rate, whose Newton step cannot raise the loss
    /// of the rows that it was computed for, whatever they are.
    double max_safe_step(double learning_rate) const;
    /// Return the quantile of y - raw over some rows, weighted by `fractions` unless that is empty.
    double residual_quantile(std::span<const double> raw, std::span<const std::uint32_t> rows,
                             std::span<const double> fractions = {}) const;
};

template <class Raw, class Steps>
double Loss::softmax_increase(std::size_t row, Raw&& raw, Steps&& steps) const {
    double max_before = raw(0), max_after = raw(0) + steps(0);
    for (int k = 1; k < n_outputs; ++k) {
        max_before = std::max(max_before, raw(k));
        max_after = std::max(max_after, raw(k) + steps(k));
    }
    double before = 0, after = 0;
    for (int k = 0; k < n_outputs; ++k) {
        before += std::exp(raw(k) - max_before);
        after += std::exp(raw(k) + steps(k) - max_after);
    }
    const double w = weight.empty() ? 1 : weight[row];
    return w * (max_after - max_before + std::log(after / before) - steps(static_cast<int>(y[row])));
}

}  // namespace tritree
