#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tritree::boosting {

/// What boosting lowers. Predictions are sums over trees; poisson and gamma predict the logarithm of the
/// mean, log loss the log-odds of the second of two classes, or the logarithm of each share up to a constant.
enum class LossKind : std::uint8_t {
    SquaredError,
    AbsoluteError,
    Quantile,
    Poisson,
    Gamma,
    LogLoss,
    Softmax
};

/// A loss with the responses that it is about.
struct Loss {
    LossKind kind = LossKind::SquaredError;
    double quantile = 0.5;
    int n_outputs = 1;
    std::vector<double> y;       ///< numbers; classes as 0, 1, ...
    std::vector<double> weight;  ///< empty if every row weighs 1

    std::size_t n_rows() const { return y.size(); }
    /// Say whether the second derivative is 1 everywhere.
    bool has_constant_second() const { return kind <= LossKind::Quantile && weight.empty(); }
    /// Say whether leaves get the quantile of what is left of their rows, and not a step by derivatives.
    bool renews_leaves() const { return kind == LossKind::AbsoluteError || kind == LossKind::Quantile; }
    /// Fill in the derivatives by one output, given the predictions of all (one output after the other).
    void differentiate(std::span<const double> raw, int output, std::span<double> first,
                       std::span<double> second, int n_threads) const;
    /// Return the quantile of y - raw over some rows; `shares` say how much of each there is, if not all.
    double quantile_left(std::span<const double> raw, std::span<const std::uint32_t> rows,
                         std::span<const double> shares = {}) const;
};

}  // namespace tritree::boosting
