#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "data/binned_columns.hpp"

namespace tritree {

/// Integer of a missing category; other negative integers are categories that training has not seen.
inline constexpr std::int32_t kMissingCategory = -1;

/// A column of the user's table in the user's memory. `Absent`: missing in every row.
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

/// The user's table, column by column.
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

/// Return a table as bins. `n_categories[j]` is -1 where column j is numeric. Numeric columns with more than
/// `max_bins` distinct values are binned by quantiles of all rows, in whatever order they are.
BinnedColumns bin_columns(const TableView& table, const std::vector<std::int64_t>& n_categories,
                          std::uint32_t max_bins, int n_threads);

}  // namespace tritree
