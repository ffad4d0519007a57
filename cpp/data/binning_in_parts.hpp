#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/bin_search.hpp"
#include "data/binned_columns.hpp"
#include "data/binning.hpp"
#include "data/value_counts.hpp"

namespace tritree {

// A table that does not fit into memory is read twice, part by part: to count its values, from which bins
// follow, and to bin its rows. The result is that of `bin_columns` for the table as a whole.

/// Counts the values of the numeric columns of a table.
class TableCounts {
  public:
    explicit TableCounts(std::size_t n_columns);

    /// Count the values of a part of the rows; columns that are absent are skipped.
    void add(const TableView& part, int n_threads);
    /// Return what was counted, by column, and add what was counted elsewhere.
    std::vector<ValueCounts::State> state() const;
    void add(const std::vector<ValueCounts::State>& counted);
    /// Return the largest key of each bin of a column; nothing if its values were not counted finely enough.
    /// `n_rows` is the number of rows of the whole table.
    std::optional<std::vector<std::uint64_t>> bounds(std::size_t column, std::size_t n_rows,
                                                     std::uint32_t max_bins) const;

  private:
    std::vector<ValueCounts> columns_;
};

/// Bins the rows of a table whose bins are known.
class TableBinner {
  public:
    /// `bounds[j]` has the largest key of each bin of a numeric column, `n_categories[j]` is -1 then. If
    /// there is a scratch disk, it holds the bins, and `also_rows` reserves room on it for a row-major copy.
    TableBinner(std::size_t n_rows, const std::vector<std::vector<std::uint64_t>>& bounds,
                const std::vector<std::int64_t>& n_categories,
                const std::shared_ptr<Scratch>& scratch = nullptr, bool also_rows = false);

    /// Bin the next rows.
    void append(const TableView& part, int n_threads);
    /// Return the table when all rows have been binned; `every_bin_occurs` unless it is a part of one.
    BinnedColumns finish(bool every_bin_occurs) &&;

  private:
    std::size_t n_rows_, n_binned_ = 0;
    std::vector<std::optional<SearchBinner>> numeric_;
    std::vector<BinnedColumn> categorical_;  ///< of the columns that are not numeric
};

}  // namespace tritree
