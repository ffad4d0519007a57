#include "split/category_order.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace tritree {

std::vector<std::uint32_t> order_by_score(const std::vector<Score>& scores) {
    std::vector<std::uint32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return scores[a].value < scores[b].value; });
    auto tied = [&](const Score& a, const Score& b) {
        return b.value - a.value <= a.rounding_error + b.rounding_error;
    };
    for (auto begin = order.begin(); begin != order.end();) {
        auto end = std::next(begin);
        while (end != order.end() && tied(scores[*std::prev(end)], scores[*end])) ++end;
        std::sort(begin, end);
        begin = end;
    }
    return order;
}

std::vector<Score> principal_scores(const std::vector<double>& points, const std::vector<double>& weights,
                                    std::size_t dim) {
    const std::size_t n = weights.size();
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<double> mean(dim), covariance(dim * dim);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < dim; ++k) mean[k] += weights[i] * points[i * dim + k] / total;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < dim; ++k)
            for (std::size_t l = 0; l < dim; ++l)
                covariance[k * dim + l] +=
                    weights[i] * (points[i * dim + k] - mean[k]) * (points[i * dim + l] - mean[l]) / total;

    // Power iteration. The start vector is irregular, so that no symmetry of the classes makes it orthogonal
    // to the component.
    std::vector<double> axis(dim), next(dim);
    for (std::size_t k = 0; k < dim; ++k) axis[k] = std::cos(1.0 + static_cast<double>(k * k));
    for (int step = 0; step < 2000; ++step) {
        for (std::size_t k = 0; k < dim; ++k)
            next[k] = std::inner_product(axis.begin(), axis.end(), &covariance[k * dim], 0.0);
        const double length = std::sqrt(std::inner_product(next.begin(), next.end(), next.begin(), 0.0));
        if (!(length > 0)) break;
        double change = 0;
        for (std::size_t k = 0; k < dim; ++k) {
            change = std::max(change, std::abs(next[k] / length - axis[k]));
            axis[k] = next[k] / length;
        }
        if (change < 1e-15) break;
    }
    const auto largest = std::max_element(axis.begin(), axis.end(),
                                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    const double sign = *largest < 0 ? -1 : 1;
    constexpr double kRounding = 1e-11;  // of the proportions and of the component
    std::vector<Score> scores(n);
    for (std::size_t i = 0; i < n; ++i)
        scores[i] = {sign * std::inner_product(axis.begin(), axis.end(), &points[i * dim], 0.0), kRounding};
    return scores;
}

}  // namespace tritree
