#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "histogram.hpp"

namespace tritree {

/// Up to this many categories every way of parting them is tried, where no order is known to hold the best
/// one.
inline constexpr std::size_t kMaxPartitioned = 10;

/// Return the first principal component of `n` weighted points in `dim` dimensions, its largest entry
/// positive.
std::vector<double> principal_component(const std::vector<double>& points, const std::vector<double>& weights,
                                        int dim);

/// Return 0 ... n - 1 by ascending score. Scores that differ by rounding only are equal, and equal ones stay
/// in order.
std::vector<std::uint32_t> order_by_score(const std::vector<double>& score);

/// Return the cells in the order in which categories are cut: by mean response, by the share of the second of
/// two classes, or along the first principal component of the class shares. Ties stay in the order of
/// category numbers.
template <class Loss>
std::vector<std::uint32_t> order_categories(const Loss& loss, const Cells& cells, const Layout& layout) {
    const std::size_t n = cells.size(), dim = static_cast<std::size_t>(loss.dim());
    const bool by_score = Loss::scores_order_categories(layout.n_classes);
    std::vector<double> score(n), side(dim), shares, weights;
    std::vector<std::int64_t> cell(layout.width);
    for (std::size_t i = 0; i < n; ++i) {
        std::fill(cell.begin(), cell.end(), 0);
        cells.add_to(i, cell.data());
        loss.load(cell.data(), side.data());
        score[i] = by_score ? loss.score(side.data()) : 0;
        if (by_score) continue;
        weights.push_back(loss.weight(side.data()));
        for (const double w : side)
            shares.push_back(weights.back() > 0 ? w / weights.back() : 1.0 / double(dim));
    }
    if (!by_score) {
        const auto axis = principal_component(shares, weights, static_cast<int>(dim));
        for (std::size_t i = 0; i < n; ++i)
            score[i] = std::inner_product(axis.begin(), axis.end(), &shares[i * dim], 0.0);
    }
    return order_by_score(score);
}

}  // namespace tritree
