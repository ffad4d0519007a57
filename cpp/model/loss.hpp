#pragma once

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
    /// Return the quantile of y - raw over some rows, weighted by `fractions` unless that is empty.
    double residual_quantile(std::span<const double> raw, std::span<const std::uint32_t> rows,
                             std::span<const double> fractions = {}) const;
};

}  // namespace tritree
