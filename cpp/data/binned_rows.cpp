#include "data/binned_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/parallel.hpp"
#include "common/require.hpp"

namespace tritree {
namespace {

constexpr std::size_t kBlock = 512;  // rows transposed at a time, so that they stay in the cache

constexpr std::uint32_t kMaxCells = std::uint32_t{1} << 31;  // of a histogram over all columns

constexpr std::size_t kLanes = 8;  // values searched at once

/// Bin numbers by binary search: the bin is the number of edges <= value. The search has no branches to
/// mispredict; interleaving several values hides the latency of its steps.
template <class Value, class Bin>
void bin_numbers(const ColumnView& view, const ColumnBins& bins, std::size_t begin, std::size_t end,
                 std::size_t n_columns, Bin* into) {
    const double* const edges = bins.padded_edges.data();
    const std::size_t half = (bins.padded_edges.size() + 1) / 2;
    for (std::size_t first = begin; first < end; first += kLanes) {
        const std::size_t n = std::min(kLanes, end - first);
        std::array<double, kLanes> value{};
        std::array<std::size_t, kLanes> bin{};
        for (std::size_t k = 0; k < n; ++k) value[k] = view.at<Value>(first + k);
        for (std::size_t step = half; step > 0; step /= 2)
            for (std::size_t k = 0; k < kLanes; ++k)
                bin[k] += edges[bin[k] + step - 1] <= value[k] ? step : 0;
        for (std::size_t k = 0; k < n; ++k)
            into[(first + k) * n_columns] =
                static_cast<Bin>(std::isnan(value[k]) ? std::size_t{bins.missing_bin()} : bin[k]);
    }
}

template <class Bin>
void bin_categories(const ColumnView& view, const ColumnBins& bins, std::size_t begin, std::size_t end,
                    std::size_t n_columns, Bin* into) {
    for (std::size_t row = begin; row < end; ++row) {
        const auto category = view.at<std::int32_t>(row);
        const bool seen = category >= 0 && category < static_cast<std::int64_t>(bins.n_bins);
        into[row * n_columns] = static_cast<Bin>(seen ? static_cast<std::uint32_t>(category)
                                                 : category == kMissingCategory ? bins.missing_bin()
                                                                                : bins.unseen_bin());
    }
}

template <class Bin>
void bin_column(const ColumnView& view, const ColumnBins& bins, std::size_t begin, std::size_t end,
                std::size_t n_columns, Bin* into) {
    switch (view.type) {
        case ColumnView::Type::Float64:
            return bin_numbers<double>(view, bins, begin, end, n_columns, into);
        case ColumnView::Type::Float32:
            return bin_numbers<float>(view, bins, begin, end, n_columns, into);
        case ColumnView::Type::Category:
            return bin_categories(view, bins, begin, end, n_columns, into);
        case ColumnView::Type::Absent:
            for (std::size_t row = begin; row < end; ++row)
                into[row * n_columns] = static_cast<Bin>(bins.missing_bin());
    }
}

}  // namespace

BinMapper::BinMapper(const BinnedColumns& binned) {
    for (const BinnedColumn& column : binned.columns) {
        ColumnBins bins{column.categorical, column.n_bins, {}, {}};
        if (!column.categorical)
            for (std::uint32_t bin = 0; bin + 1 < column.n_bins; ++bin)
                bins.edges.push_back(column.threshold(bin, bin + 1));
        columns.push_back(std::move(bins));
    }
    set_offsets();
}

BinMapper::BinMapper(std::vector<ColumnBins> columns_) : columns(std::move(columns_)) { set_offsets(); }

/// Columns of 255 bins and a cell for missing values would be 4,096 bytes apart in a histogram. In a row with
/// several missing values, a processor takes the addresses of their cells for the same one, because the lower
/// 12 bits are equal, and waits for each addition: up to nine times as long. So columns are an odd number of
/// cells apart.
void BinMapper::set_offsets() {
    offsets.assign(1, 0);
    for (ColumnBins& column : columns) {
        require(column.n_bins <= kMaxBins && offsets.back() <= kMaxCells, "too many bins in all columns");
        offsets.push_back(offsets.back() + ((column.n_bins + 1) | 1));
        column.padded_edges = column.edges;
        column.padded_edges.resize(std::bit_ceil(column.edges.size() + 1) - 1,
                                   std::numeric_limits<double>::infinity());
    }
}

bool BinMapper::matches(const BinnedColumns& binned) const {
    return std::equal(columns.begin(), columns.end(), binned.columns.begin(), binned.columns.end(),
                      [](const ColumnBins& bins, const BinnedColumn& column) {
                          return bins.categorical == column.categorical && bins.n_bins == column.n_bins;
                      });
}

bool BinMapper::fits_uint8() const {
    return std::all_of(columns.begin(), columns.end(), [](const ColumnBins& column) {
        return (column.categorical ? column.unseen_bin() : column.missing_bin()) <= 255;
    });
}

double BinMapper::threshold(std::size_t column, std::uint32_t first_right_bin) const {
    // first_right_bin 0: missing against observed, no observed value goes left
    return first_right_bin == 0 ? -std::numeric_limits<double>::infinity()
                                : columns[column].edges[first_right_bin - 1];
}

std::string BinMapper::validate() const {
    for (const ColumnBins& column : columns) {
        if (column.n_bins > kMaxBins) return "too many bins in a column";
        if (column.categorical ? !column.edges.empty()
                               : column.edges.size() + 1 != std::max(column.n_bins, 1u))
            return "bin edges do not match the number of bins";
        for (std::size_t i = 0; i < column.edges.size(); ++i)
            if (!std::isfinite(column.edges[i]) || (i > 0 && !(column.edges[i - 1] < column.edges[i])))
                return "bin edges out of order";
    }
    return {};
}

BinnedRows::BinnedRows(std::size_t n_rows, const BinMapper& mapper, const std::shared_ptr<Scratch>& scratch)
    : n_rows_(n_rows),
      n_columns_(mapper.n_columns()),
      fits_uint8_(mapper.fits_uint8()),
      bins8_(scratch),
      bins16_(scratch) {
    if (fits_uint8_)
        bins8_.resize(n_rows_ * n_columns_);
    else
        bins16_.resize(n_rows_ * n_columns_);
}

void BinnedRows::unseen_to_missing(const BinMapper& mapper) {
    visit([&](auto* bins) {
        for (std::size_t i = 0; i < n_rows_ * n_columns_; ++i) {
            const std::uint32_t missing = mapper.columns[i % n_columns_].missing_bin();
            if (bins[i] > missing) bins[i] = static_cast<std::remove_reference_t<decltype(*bins)>>(missing);
        }
    });
}

BinnedRows to_rows(const BinnedColumns& binned, const BinMapper& mapper,
                   const std::vector<std::uint32_t>* rows, int n_threads) {
    BinnedRows result = rows == nullptr ? BinnedRows(binned.n_rows, mapper, binned.scratch())
                                        : BinnedRows(rows->size(), mapper);
    const std::size_t n_columns = result.n_columns();
    result.visit([&](auto* into) {
        parallel_blocks(result.n_rows(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
            for (std::size_t j = 0; j < n_columns; ++j)
                binned.columns[j].visit([&](const auto* from) {
                    for (std::size_t i = begin; i < end; ++i)
                        into[i * n_columns + j] = static_cast<std::remove_reference_t<decltype(*into)>>(
                            from[rows == nullptr ? i : (*rows)[i]]);
                });
        });
    });
    return result;
}

BinnedRows bin_rows(const TableView& table, const BinMapper& mapper, int n_threads) {
    BinnedRows rows(table.n_rows, mapper);
    const std::size_t n_columns = rows.n_columns();
    rows.visit([&](auto* into) {
        parallel_blocks(table.n_rows, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
            check_finite(table, begin, end);
            for (std::size_t j = 0; j < n_columns; ++j)
                bin_column(table.columns[j], mapper.columns[j], begin, end, n_columns, into + j);
        });
    });
    return rows;
}

}  // namespace tritree
