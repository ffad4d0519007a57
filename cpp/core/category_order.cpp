#include "category_order.hpp"

#include <cmath>

namespace tritree {

std::vector<std::uint32_t> order_by_score(const std::vector<double>& score) {
    std::vector<std::uint32_t> order(score.size());
    std::iota(order.begin(), order.end(), 0u);
    if (order.empty()) return order;
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return score[a] < score[b]; });
    const double rounding = 1e-9 * (score[order.back()] - score[order.front()]);
    for (auto begin = order.begin(); begin != order.end();) {
        auto end = std::next(begin);
        while (end != order.end() && score[*end] - score[*std::prev(end)] <= rounding) ++end;
        std::sort(begin, end);
        begin = end;
    }
    return order;
}

std::vector<double> principal_component(const std::vector<double>& points, const std::vector<double>& weights,
                                        int dim) {
    const std::size_t d = static_cast<std::size_t>(dim), n = weights.size();
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<double> mean(d), covariance(d * d);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < d; ++k) mean[k] += weights[i] * points[i * d + k] / total;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < d; ++k)
            for (std::size_t l = 0; l < d; ++l)
                covariance[k * d + l] +=
                    weights[i] * (points[i * d + k] - mean[k]) * (points[i * d + l] - mean[l]);

    // Power iteration, started from the column of the largest variance, which is not orthogonal to the
    // answer.
    std::size_t start = 0;
    for (std::size_t k = 1; k < d; ++k)
        if (covariance[k * d + k] > covariance[start * d + start]) start = k;
    std::vector<double> axis(&covariance[start * d], &covariance[start * d] + d);
    std::vector<double> next(d);
    for (int step = 0; step < 1000; ++step) {
        double norm = 0, moved = 0;
        for (const double a : axis) norm += a * a;
        if (!(norm > 0)) return std::vector<double>(d, 0.0);
        for (double& a : axis) a /= std::sqrt(norm);
        for (std::size_t k = 0; k < d; ++k)
            next[k] = std::inner_product(axis.begin(), axis.end(), &covariance[k * d], 0.0);
        const double length = std::sqrt(std::inner_product(next.begin(), next.end(), next.begin(), 0.0));
        if (!(length > 0)) break;
        for (std::size_t k = 0; k < d; ++k) moved = std::max(moved, std::abs(next[k] / length - axis[k]));
        axis = next;
        if (moved < 1e-14) break;
    }
    const auto largest = std::max_element(axis.begin(), axis.end(),
                                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*largest < 0)
        for (double& a : axis) a = -a;
    return axis;
}

}  // namespace tritree
