#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace tritree {

/// The most values a column may tell apart: two of the 65,536 codes are kept back (missing, and one never
/// used).
inline constexpr std::uint32_t kMaxCodes = 65534;

/// The category number of a missing cell; other negative ones are categories never seen.
inline constexpr std::int32_t kMissingCategory = -1;

/// A column of the user's table, as it lies in memory. `Absent` is missing in every row.
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

/// An infinite value in a numeric column.
struct BadValue : std::runtime_error {
    BadValue(std::size_t column_, std::size_t row_, double value_)
        : std::runtime_error("infinite value"), column(column_), row(row_), value(value_) {}
    std::size_t column, row;
    double value;
};

/// A column as codes 0 ... n_codes - 1 in the order of its values, and n_codes for missing.
struct CodedColumn {
    bool categorical = false;
    std::uint32_t n_codes = 0;
    std::vector<std::uint8_t> narrow;  ///< the codes, if n_codes <= 255
    std::vector<std::uint16_t> wide;   ///< the codes otherwise
    std::vector<double> smallest,
        largest;  ///< numeric: the values behind each code (one value each if exact)

    std::uint32_t missing() const { return n_codes; }
    bool is_narrow() const { return n_codes <= 255; }

    /// Call `f` with a pointer to the codes, of whichever width they have.
    template <class F>
    decltype(auto) visit(F&& f) const {
        return is_narrow() ? f(narrow.data()) : f(wide.data());
    }
    /// Return the threshold that parts codes `low` and `high`, neighbours in a node.
    double threshold(std::uint32_t low, std::uint32_t high) const;
};

/// A table as small integers, one narrow array per column.
struct Codes {
    std::size_t n_rows = 0;
    std::vector<CodedColumn> columns;
};

/// Return the codes of a table. `n_categories[j]` is -1 where column j is numeric. Numeric columns with more
/// than `max_bins` distinct values are binned by their quantiles; the result does not depend on the order of
/// the rows.
Codes encode(const std::vector<ColumnView>& columns, const std::vector<std::int64_t>& n_categories,
             std::size_t n_rows, std::uint32_t max_bins, int n_threads);

}  // namespace tritree
