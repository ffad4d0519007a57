#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "split/histogram.hpp"

namespace tritree {

/// Maximum number of categories for which all partitions into two sets are tried, if no order is known to
/// contain the best one.
inline constexpr std::size_t kMaxExhaustiveCategories = 10;

/// Score by which categories are ordered, and a bound on its rounding error.
struct Score {
    double value = 0, rounding_error = 0;
};

/// Return 0 ... n - 1 in the order of ascending scores. Scores that differ by no more than rounding errors
/// are ties, which stay in ascending order.
std::vector<std::uint32_t> order_by_score(const std::vector<Score>& scores);

/// Return the projections of weighted points in `dim` dimensions onto their first principal component, whose
/// entry of largest magnitude is positive.
std::vector<Score> principal_scores(const std::vector<double>& points, const std::vector<double>& weights,
                                    std::size_t dim);

/// Return the cells in the order in which categories are split: by mean target, by the proportion of the
/// second of two classes (that of the first if `first_class`, which reverses the order except for ties), or
/// along the first principal component of the class proportions. A category without weight counts as average.
template <class Criterion>
std::vector<std::uint32_t> order_categories(const Criterion& criterion, const CellReader& cells,
                                            const CellLayout& layout, bool first_class) {
    const auto dim = static_cast<std::size_t>(criterion.dim());
    const bool by_score = Criterion::scores_order_categories(layout.n_classes);
    std::vector<double> side(dim), proportions, weights;
    std::vector<Score> scores;
    std::vector<std::int64_t> cell(static_cast<std::size_t>(layout.width));
    for (std::size_t i = 0; i < cells.size(); ++i) {
        std::fill(cell.begin(), cell.end(), 0);
        cells.add_to(i, cell.data());
        criterion.load(cell.data(), side.data());
        if (by_score) {
            scores.push_back(criterion.score(side.data(), cell[0]));
            if (first_class) scores.back().value *= -1;
            continue;
        }
        weights.push_back(criterion.weight(side.data()));
        for (std::size_t k = 0; k < dim; ++k)
            proportions.push_back(weights.back() > 0 ? side[k] / weights.back() : criterion.reference(k));
    }
    return order_by_score(by_score ? scores : principal_scores(proportions, weights, dim));
}

}  // namespace tritree
