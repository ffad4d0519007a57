#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "split/histogram.hpp"

namespace tritree {

/// Up to this many categories every way of parting them is tried, where no order is known to hold the best
/// one.
inline constexpr std::size_t kMaxExhaustiveCategories = 10;

/// A number that categories are ordered by, and how far rounding may have moved it.
struct Score {
    double value = 0, rounding = 0;
};

/// Return 0 ... n - 1 by ascending score. Scores that may differ by rounding only are equal; equal ones stay
/// in order.
std::vector<std::uint32_t> order_by_score(const std::vector<Score>& scores);

/// Return the scores of weighted points in `dim` dimensions along their first principal component, whose
/// largest entry is positive.
std::vector<Score> principal_scores(const std::vector<double>& points, const std::vector<double>& weights,
                                    std::size_t dim);

/// Return the cells in the order in which categories are cut: by mean response, by the share of the second of
/// two classes, or along the first principal component of the class shares. A category without weight counts
/// as average.
template <class Criterion>
std::vector<std::uint32_t> order_categories(const Criterion& criterion, const CellReader& cells, const CellLayout& layout) {
    const auto dim = static_cast<std::size_t>(criterion.dim());
    const bool by_score = Criterion::scores_order_categories(layout.n_classes);
    std::vector<double> side(dim), shares, weights;
    std::vector<Score> scores;
    std::vector<std::int64_t> cell(static_cast<std::size_t>(layout.width));
    for (std::size_t i = 0; i < cells.size(); ++i) {
        std::fill(cell.begin(), cell.end(), 0);
        cells.add_to(i, cell.data());
        criterion.load(cell.data(), side.data());
        if (by_score) {
            scores.push_back(criterion.score(side.data(), cell[0]));
            continue;
        }
        weights.push_back(criterion.weight(side.data()));
        for (std::size_t k = 0; k < dim; ++k)
            shares.push_back(weights.back() > 0 ? side[k] / weights.back() : criterion.reference(k));
    }
    return order_by_score(by_score ? scores : principal_scores(shares, weights, dim));
}

}  // namespace tritree
