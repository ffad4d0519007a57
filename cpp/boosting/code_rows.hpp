#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/codes.hpp"
#include "core/predict.hpp"

namespace tritree::boosting {

/// What the codes of a column stand for. Code `n_codes` is missing; of a categorical column, the one after it
/// is a category that training has not seen.
struct ColumnBins {
    bool categorical = false;
    std::uint32_t n_codes = 0;
    std::vector<double> edges;   ///< numeric: code c is the number of edges that are not above the value
    std::vector<double> padded;  ///< the edges, and infinities up to a power of two less one

    std::uint32_t missing() const { return n_codes; }
    std::uint32_t unseen() const { return n_codes + 1; }
};

/// The bins of a table's columns, and where their cells begin in a histogram.
struct Bins {
    std::vector<ColumnBins> columns;
    std::vector<std::uint32_t> offsets;  ///< one more than there are columns

    Bins() = default;
    explicit Bins(const Codes& codes);
    explicit Bins(std::vector<ColumnBins> columns_);

    std::size_t n_columns() const { return columns.size(); }
    std::size_t n_cells() const { return offsets.back(); }
    /// Say whether every code fits into a byte.
    bool is_narrow() const;
    /// Return what is wrong with bins that came from a file, or nothing.
    std::string validate() const;

  private:
    void lay_out();
};

/// Rows of codes, one row after the other.
class CodeRows {
  public:
    CodeRows() = default;
    CodeRows(std::size_t n_rows, const Bins& bins);

    std::size_t n_rows() const { return n_rows_; }
    std::size_t width() const { return width_; }
    bool is_narrow() const { return narrow_codes_; }
    /// Call `f` with a pointer to the first code, of whichever type they are.
    template <class F>
    decltype(auto) visit(F&& f) const {
        return narrow_codes_ ? f(narrow_.data()) : f(wide_.data());
    }
    template <class F>
    decltype(auto) visit(F&& f) {
        return narrow_codes_ ? f(narrow_.data()) : f(wide_.data());
    }
    std::uint32_t at(std::size_t row, std::size_t column) const {
        return visit([&](const auto* codes) -> std::uint32_t { return codes[row * width_ + column]; });
    }
    /// Take categories that were never seen as missing, so that every code has a cell.
    void forget_unseen(const Bins& bins);

  private:
    std::size_t n_rows_ = 0, width_ = 0;
    bool narrow_codes_ = true;
    std::vector<std::uint8_t> narrow_;
    std::vector<std::uint16_t> wide_;
};

/// Return rows of coded columns, in the given order; all of them if no order is given.
CodeRows rows_of(const Codes& codes, const Bins& bins, const std::vector<std::uint32_t>* order,
                 int n_threads);

/// Return the codes of rows to be predicted.
CodeRows encode_rows(const RowsToPredict& table, const Bins& bins, int n_threads);

}  // namespace tritree::boosting
