#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/binned_columns.hpp"
#include "data/binning.hpp"

namespace tritree {

/// The bins of one column. Bin `n_bins` is for missing values; in a categorical column the next one is for
/// categories not seen in training.
struct ColumnBins {
    bool categorical = false;
    std::uint32_t n_bins = 0;
    std::vector<double> edges;         ///< numeric: the bin of a value is the number of edges <= value
    std::vector<double> padded_edges;  ///< the edges, padded with infinity to length 2^k - 1

    std::uint32_t missing_bin() const { return n_bins; }
    std::uint32_t unseen_bin() const { return n_bins + 1; }
};

/// Maps the values of a table to bins, and bins to cells of a histogram over all columns.
struct BinMapper {
    std::vector<ColumnBins> columns;
    std::vector<std::uint32_t> offsets;  ///< first cell of each column; n_columns() + 1 entries

    BinMapper() = default;
    explicit BinMapper(const BinnedColumns& binned);
    explicit BinMapper(std::vector<ColumnBins> columns_);

    std::size_t n_columns() const { return columns.size(); }
    std::size_t n_cells() const { return offsets.back(); }
    bool fits_uint8() const;
    /// Return whether a binned table has these bins.
    bool matches(const BinnedColumns& binned) const;
    /// Return the threshold of a numeric split: values below it have bins below `first_right_bin`.
    double threshold(std::size_t column, std::uint32_t first_right_bin) const;
    /// Return an error message if bins read from a file are invalid, else an empty string.
    std::string validate() const;

  private:
    void set_offsets();
};

/// A binned table, row-major.
class BinnedRows {
  public:
    BinnedRows() = default;
    BinnedRows(std::size_t n_rows, const BinMapper& mapper,
               const std::shared_ptr<Scratch>& scratch = nullptr);

    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_columns() const { return n_columns_; }
    /// Call `f` with a pointer to the bins of the first row, which may be of either type.
    template <class F>
    decltype(auto) visit(F&& f) const {
        return fits_uint8_ ? f(bins8_.data()) : f(bins16_.data());
    }
    template <class F>
    decltype(auto) visit(F&& f) {
        return fits_uint8_ ? f(bins8_.data()) : f(bins16_.data());
    }
    std::uint32_t at(std::size_t row, std::size_t column) const {
        return visit([&](const auto* bins) -> std::uint32_t { return bins[row * n_columns_ + column]; });
    }
    /// Replace unseen categories by missing values, so that every bin has a cell in a histogram.
    void unseen_to_missing(const BinMapper& mapper);

  private:
    std::size_t n_rows_ = 0, n_columns_ = 0;
    bool fits_uint8_ = true;
    TableVector<std::uint8_t> bins8_;
    TableVector<std::uint16_t> bins16_;
};

/// Return rows of a column-major table as a row-major one; all rows, on the same scratch disk, if `rows` is
/// null.
BinnedRows to_rows(const BinnedColumns& binned, const BinMapper& mapper,
                   const std::vector<std::uint32_t>* rows, int n_threads);

/// Bin a table for prediction; throws InfiniteValueError.
BinnedRows bin_rows(const TableView& table, const BinMapper& mapper, int n_threads);

}  // namespace tritree
