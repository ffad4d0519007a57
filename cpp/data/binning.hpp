#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "data/binned_columns.hpp"

namespace tritree {

/// Category code of a missing value; other negative codes are categories not seen in training.
inline constexpr std::int32_t kMissingCategory = -1;

/// View of a column of the user's table. An `Absent` column is missing in every row.
struct ColumnView {
    enum class Type : std::uint8_t { Float64, Float32, Category, Absent };

    const char* data = nullptr;
    std::ptrdiff_t stride = 0;  ///< in bytes
    Type type = Type::Absent;

    template <class T>
    T at(std::size_t row) const {
        return *reinterpret_cast<const T*>(data + static_cast<std::ptrdiff_t>(row) * stride);
    }
};

/// Views of the columns of the user's table.
struct TableView {
    std::vector<ColumnView> columns;
    std::size_t n_rows = 0;
};

/// An infinite value in a numeric column.
struct InfiniteValueError : std::runtime_error {
    InfiniteValueError(std::size_t column_, std::size_t row_, double value_)
        : std::runtime_error("infinite value"), column(column_), row(row_), value(value_) {}
    std::size_t column, row;
    double value;
};

/// Throw InfiniteValueError if a number in rows `begin` to `end` is infinite.
void check_finite(const TableView& table, std::size_t begin, std::size_t end);

/// Return the keys of a numeric column, missing ones as kMissingKey; throws InfiniteValueError.
void read_keys(const ColumnView& view, std::size_t column, std::span<std::uint64_t> keys);

/// Write the bins of a categorical column from `first_row` on.
void write_categories(const ColumnView& view, std::size_t n_rows, BinnedColumn& column,
                      std::size_t first_row);

/// Return the largest key of each bin of a numeric column, by sorting its values.
std::vector<std::uint64_t> sorted_bounds(const ColumnView& view, std::size_t n_rows, std::uint32_t max_bins);

/// Bin a training table. `n_categories[j]` is -1 if column j is numeric. Numeric columns with more than
/// `max_bins` distinct values are binned by quantiles over all rows, so the order of the rows does not
/// matter.
BinnedColumns bin_columns(const TableView& table, const std::vector<std::int64_t>& n_categories,
                          std::uint32_t max_bins, int n_threads);

}  // namespace tritree
