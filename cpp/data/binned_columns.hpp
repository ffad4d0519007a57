#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/scratch.hpp"

namespace tritree {

/// Maximum number of bins of a column: 16-bit bins also need a value for missing values and one for unseen
/// categories.
inline constexpr std::uint32_t kMaxBins = 65534;

/// A binned column: bins 0 ... n_bins - 1 in ascending order of the values, and n_bins for missing values. In
/// a categorical column a bin is a category code.
struct BinnedColumn {
    bool categorical = false;
    std::uint32_t n_bins = 0;
    TableVector<std::uint8_t> bins8;       ///< the bins, if n_bins <= 255
    TableVector<std::uint16_t> bins16;     ///< the bins otherwise
    std::vector<double> bin_min, bin_max;  ///< numeric: smallest and largest training value of each bin

    std::uint32_t missing_bin() const { return n_bins; }
    bool fits_uint8() const { return n_bins <= 255; }

    std::uint32_t bin(std::size_t row) const { return fits_uint8() ? bins8[row] : bins16[row]; }
    /// Call `f` with a pointer to the bins, which may be of either type.
    template <class F>
    decltype(auto) visit(F&& f) const {
        return fits_uint8() ? f(bins8.data()) : f(bins16.data());
    }
    /// Return the threshold between two bins that are neighbours in a node: the midpoint of the values on
    /// either side, or the upper value if the midpoint rounds down to the lower one.
    double threshold(std::uint32_t lower, std::uint32_t upper) const;
    bool operator==(const BinnedColumn&) const = default;
};

/// A binned training table, column-major.
struct BinnedColumns {
    std::size_t n_rows = 0;
    std::vector<BinnedColumn> columns;

    /// Return the scratch disk that holds the bins; null if they are in memory.
    std::shared_ptr<Scratch> scratch() const {
        return columns.empty() ? nullptr : columns.front().bins8.get_allocator().scratch();
    }
    bool operator==(const BinnedColumns&) const = default;
};

}  // namespace tritree
