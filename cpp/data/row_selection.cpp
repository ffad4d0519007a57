#include "data/row_selection.hpp"

#include <algorithm>
#include <cstddef>

#include "common/require.hpp"

namespace tritree {
namespace {

void append(BinnedColumn& column, const BinnedColumn& more) {
    require(column.categorical == more.categorical && column.n_bins == more.n_bins &&
                column.bin_min.size() == more.bin_min.size(),
            "parts with different bins");
    column.bins8.insert(column.bins8.end(), more.bins8.begin(), more.bins8.end());
    column.bins16.insert(column.bins16.end(), more.bins16.begin(), more.bins16.end());
    for (std::size_t bin = 0; bin < column.bin_min.size(); ++bin) {
        column.bin_min[bin] = std::min(column.bin_min[bin], more.bin_min[bin]);
        column.bin_max[bin] = std::max(column.bin_max[bin], more.bin_max[bin]);
    }
}

}  // namespace

BinnedColumns join_rows(const std::vector<std::shared_ptr<const BinnedColumns>>& parts) {
    require(!parts.empty(), "no parts");
    BinnedColumns all;
    for (const auto& part : parts) {
        require(part->columns.size() == parts[0]->columns.size(), "parts with different columns");
        all.n_rows += part->n_rows;
    }
    // column by column: no more than the result and one growing column
    for (std::size_t j = 0; j < parts[0]->columns.size(); ++j) {
        BinnedColumn column = parts[0]->columns[j];
        column.fits_uint8() ? column.bins8.reserve(all.n_rows) : column.bins16.reserve(all.n_rows);
        for (std::size_t i = 1; i < parts.size(); ++i) append(column, parts[i]->columns[j]);
        all.columns.push_back(std::move(column));
    }
    return all;
}

BinnedColumns take_rows(const BinnedColumns& binned, std::span<const std::int64_t> rows) {
    for (const std::int64_t row : rows)
        require(row >= 0 && static_cast<std::size_t>(row) < binned.n_rows, "row out of range");
    BinnedColumns taken;
    taken.n_rows = rows.size();
    for (const BinnedColumn& column : binned.columns) {
        BinnedColumn& own = taken.columns.emplace_back();
        own.categorical = column.categorical;
        own.n_bins = column.n_bins;
        own.bin_min = column.bin_min;
        own.bin_max = column.bin_max;
        for (const std::int64_t row : rows) {
            const auto i = static_cast<std::size_t>(row);
            column.fits_uint8() ? own.bins8.push_back(column.bins8[i])
                                : own.bins16.push_back(column.bins16[i]);
        }
    }
    return taken;
}

}  // namespace tritree
