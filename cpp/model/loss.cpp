#include "model/loss.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>

#include "common/parallel.hpp"
#include "split/node_stats.hpp"

namespace tritree {

const char* Loss::validate() const {
    const auto all = [this](auto&& holds) { return std::all_of(y.begin(), y.end(), holds); };
    if (y.empty()) return "no rows";
    if (!weight.empty() && weight.size() != y.size())
        return "columns, target and weights of different lengths";
    if (kind == LossKind::Softmax ? n_outputs < 2 : n_outputs != 1)
        return "the loss does not match the outputs";
    if (kind == LossKind::Quantile && !(quantile >= 0 && quantile <= 1)) return "quantile out of range";
    if (!all([](double value) { return std::isfinite(value); })) return "target is not finite";
    const int n_classes = kind == LossKind::LogLoss ? 2 : kind == LossKind::Softmax ? n_outputs : 0;
    if (n_classes > 0 && !all([&](double k) { return k >= 0 && k < n_classes && k == std::floor(k); }))
        return "class out of range";
    if (kind == LossKind::Poisson && !all([](double value) { return value >= 0; })) return "negative target";
    if (kind == LossKind::Gamma && !all([](double value) { return value > 0; }))
        return "target is not positive";
    return weight.empty() ? nullptr : validate_weights(weight);
}

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 13;

struct Derivatives {
    double gradient, hessian;
};

double sigmoid(double x) {
    if (x >= 0) return 1 / (1 + std::exp(-x));
    const double e = std::exp(x);
    return e / (1 + e);
}

/// Fill in the derivatives of all rows, `derivatives_of(i)` times the weight of row i.
template <class F>
void fill_derivatives(const Loss& loss, std::span<double> gradients, std::span<double> hessians,
                      int n_threads, F&& derivatives_of) {
    parallel_blocks(loss.n_rows(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const Derivatives d = derivatives_of(i);
            const double weight = loss.weight.empty() ? 1 : loss.weight[i];
            gradients[i] = weight * d.gradient;
            if (!hessians.empty()) hessians[i] = weight * d.hessian;
        }
    });
}

}  // namespace

void Loss::derivatives(std::span<const double> raw, int output, std::span<double> gradients,
                       std::span<double> hessians, int n_threads) const {
    const std::size_t n = n_rows();
    switch (kind) {
        case LossKind::SquaredError:
            return fill_derivatives(*this, gradients, hessians, n_threads,
                                    [&](std::size_t i) { return Derivatives{raw[i] - y[i], 1}; });
        case LossKind::AbsoluteError:
            return fill_derivatives(*this, gradients, hessians, n_threads, [&](std::size_t i) {
                return Derivatives{raw[i] < y[i] ? -1.0 : 1.0, 1};
            });
        case LossKind::Quantile:
            return fill_derivatives(*this, gradients, hessians, n_threads, [&](std::size_t i) {
                return Derivatives{raw[i] < y[i] ? -quantile : 1 - quantile, 1};
            });
        case LossKind::Poisson:
            return fill_derivatives(*this, gradients, hessians, n_threads, [&](std::size_t i) {
                const double mean = std::exp(raw[i]);
                return Derivatives{mean - y[i], mean};
            });
        case LossKind::Gamma:
            return fill_derivatives(*this, gradients, hessians, n_threads, [&](std::size_t i) {
                const double p = y[i] * std::exp(-raw[i]);
                return Derivatives{1 - p, p};
            });
        case LossKind::LogLoss:
            return fill_derivatives(*this, gradients, hessians, n_threads, [&](std::size_t i) {
                const double p = sigmoid(raw[i]);
                return Derivatives{p - y[i], p * (1 - p)};
            });
        case LossKind::Softmax:
            return fill_derivatives(*this, gradients, hessians, n_threads, [&](std::size_t i) {
                double max_raw = raw[i], total = 0;
                for (int k = 1; k < n_outputs; ++k)
                    max_raw = std::max(max_raw, raw[i + static_cast<std::size_t>(k) * n]);
                for (int k = 0; k < n_outputs; ++k)
                    total += std::exp(raw[i + static_cast<std::size_t>(k) * n] - max_raw);
                const double p = std::exp(raw[i + static_cast<std::size_t>(output) * n] - max_raw) / total;
                return Derivatives{p - (y[i] == output ? 1 : 0), p * (1 - p)};
            });
    }
}

double Loss::increase(std::size_t row, double raw, double step) const {
    const double target = y[row], w = weight.empty() ? 1 : weight[row];
    const auto pinball = [&](double residual) {
        const double q = kind == LossKind::AbsoluteError ? 0.5 : quantile;
        return residual > 0 ? q * residual : (q - 1) * residual;
    };
    switch (kind) {
        case LossKind::SquaredError:
            return w * step * (step / 2 + raw - target);
        case LossKind::AbsoluteError:
        case LossKind::Quantile:
            return w * (pinball(target - raw - step) - pinball(target - raw));
        case LossKind::Poisson:
            return w * (std::exp(raw) * std::expm1(step) - target * step);
        case LossKind::Gamma:
            return w * (target * std::exp(-raw) * std::expm1(-step) + step);
        case LossKind::LogLoss:
            return w * (std::log1p(sigmoid(raw) * std::expm1(step)) - target * step);
        case LossKind::Softmax:
            break;
    }
    throw std::logic_error("softmax has several outputs");
}

double Loss::max_safe_step(double learning_rate) const {
    if (has_quantile_leaves()) return 0;  // an interpolated quantile may be worse than none
    if (kind == LossKind::SquaredError)
        return learning_rate <= 1 ? std::numeric_limits<double>::infinity() : 0;
    // Second derivatives change by at most the factor e^|s| over a step s, so the loss changes by at most
    // -s^2 h / learning_rate + h (e^|s| - |s| - 1), h being their sum. Those of several outputs interact:
    // twice their sum bounds the curvature, and e^2|s| its change. A margin covers the rounding of
    // derivatives.
    constexpr double kMargin = 0.95;
    const auto is_safe = [&](double s) {
        return kind == LossKind::Softmax ? std::exp(2 * s) * learning_rate <= kMargin
                                         : std::expm1(s) - s <= kMargin * s * s / learning_rate;
    };
    double low = 0, high = 64;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (is_safe(middle) ? low : high) = middle;
    }
    return low;
}

double Loss::residual_quantile(std::span<const double> raw, std::span<const std::uint32_t> rows,
                               std::span<const double> fractions) const {
    const double q = kind == LossKind::AbsoluteError ? 0.5 : quantile;
    std::vector<std::pair<double, double>> residuals;
    residuals.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint32_t row = rows[i];
        const double w = (weight.empty() ? 1 : weight[row]) * (fractions.empty() ? 1 : fractions[i]);
        residuals.emplace_back(y[row] - raw[row], w);
    }
    if (residuals.empty()) return 0;
    std::sort(residuals.begin(), residuals.end());
    if (weight.empty() && fractions.empty()) {  // linear interpolation, as in NumPy
        const double position = q * static_cast<double>(residuals.size() - 1);
        const auto below = static_cast<std::size_t>(position);
        const std::size_t above = std::min(below + 1, residuals.size() - 1);
        return std::lerp(residuals[below].first, residuals[above].first,
                         position - static_cast<double>(below));
    }
    double sum = 0, total = 0;  // in the order of the residuals, whatever that of the rows
    for (const auto& [value, w] : residuals) total += w;
    for (const auto& [value, w] : residuals)
        if ((sum += w) >= q * total) return value;
    return residuals.back().first;
}

}  // namespace tritree
