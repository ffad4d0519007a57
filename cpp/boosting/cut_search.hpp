#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "code_rows.hpp"
#include "cut.hpp"

namespace tritree::boosting {

// What searches for a cut have in common, whatever they sum over rows.

inline constexpr double kLeastSecond = 1e-3;  // of a side, where second derivatives may vanish
inline constexpr double kNegligible = 1e-12;  // a gain of this share of what it is made of is rounding
inline constexpr double kSmoothingRows = 10;  // by which the means of rare categories are drawn to zero

/// Return twice what the loss falls by when rows get a value.
inline double fall(const Sums& sums, double value, double l2) {
    return -(2 * sums.first * value + (sums.second + l2) * value * value);
}

template <class Search, class Cell>
void search_numbers(Search& search, const Cell* cells, const ColumnBins& bins) {
    Cell left;
    for (std::uint32_t code = 0; code + 1 < bins.n_codes; ++code) {
        if (cells[code].is_empty()) continue;
        left += cells[code];
        if (search.cut(left)) {
            search.best().categorical = false;
            search.best().begin = code + 1;
        }
    }
    if (search.cut_missing_off()) {
        search.best().categorical = false;
        search.best().begin = 0;
    }
}

/// Cut the categories in the order of the values they would get.
template <class Search, class Cell>
void search_categories(Search& search, const Cell* cells, const ColumnBins& bins) {
    struct Category {
        std::uint32_t code;
        double value;
    };
    static thread_local std::vector<Category> seen;
    seen.clear();
    const double smoothing = search.smoothing();
    for (std::uint32_t code = 0; code < bins.n_codes; ++code) {
        if (cells[code].is_empty()) continue;
        const Sums sums = search.unit().read(cells[code]);
        seen.push_back({code, -sums.first / (sums.second + smoothing)});
    }
    std::sort(seen.begin(), seen.end(), [](const Category& a, const Category& b) {
        return a.value != b.value ? a.value < b.value : a.code < b.code;
    });
    Cell left;
    std::size_t n_left = 0;
    bool found = false;
    for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
        left += cells[seen[i].code];
        if (search.cut(left)) {
            n_left = i + 1;
            found = true;
        }
    }
    if (search.cut_missing_off()) {
        n_left = 0;
        found = true;
    }
    if (!found) return;
    search.best().categorical = true;
    search.best().sets = CategorySets(bins.n_codes);
    for (std::size_t i = 0; i < seen.size(); ++i)
        search.best().sets.put(i < n_left ? Branch::Left : Branch::Right, seen[i].code);
}

/// Have a search look at some columns, one after the other.
template <class Search, class Cell>
void search_columns(Search& search, const std::vector<Cell>& histogram, const Bins& bins,
                    std::span<const std::int32_t> columns) {
    for (const std::int32_t column : columns) {
        const ColumnBins& of = bins.columns[static_cast<std::size_t>(column)];
        const Cell* const cells = histogram.data() + bins.offsets[static_cast<std::size_t>(column)];
        search.begin_column(column, cells[of.n_codes]);
        if (of.categorical)
            search_categories(search, cells, of);
        else
            search_numbers(search, cells, of);
    }
}

}  // namespace tritree::boosting
