#include "data/binning_in_parts.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "common/parallel.hpp"
#include "common/require.hpp"

namespace tritree {
namespace {

std::uint32_t as_max_bins(std::uint32_t max_bins) { return std::clamp(max_bins, 2u, kMaxBins); }

/// Return how many different values of a column are counted, so that wide tables do not fill the memory.
std::size_t max_keys_of(std::size_t n_columns) {
    constexpr std::size_t kMaxInAll = std::size_t{1} << 21;
    return std::clamp<std::size_t>(kMaxInAll / std::max<std::size_t>(n_columns, 1), std::size_t{1} << 12,
                                   std::size_t{1} << 16);
}

/// Return the bytes of the bins of each column, and of a row-major copy of all.
std::vector<std::size_t> table_sizes(std::size_t n_rows,
                                     const std::vector<std::vector<std::uint64_t>>& bounds,
                                     const std::vector<std::int64_t>& n_categories, bool also_rows) {
    std::vector<std::size_t> sizes;
    bool rows_fit_uint8 = true;
    for (std::size_t j = 0; j < bounds.size(); ++j) {
        const bool is_categorical = n_categories[j] >= 0;
        const auto n_bins = is_categorical ? static_cast<std::size_t>(n_categories[j]) : bounds[j].size();
        sizes.push_back(n_rows * (n_bins <= 255 ? 1 : 2));
        rows_fit_uint8 &= n_bins + is_categorical <= 255;  // rows have a bin for unseen categories
    }
    if (also_rows) sizes.push_back(n_rows * bounds.size() * (rows_fit_uint8 ? 1 : 2));
    return sizes;
}

}  // namespace

TableCounts::TableCounts(std::size_t n_columns) : columns_(n_columns, ValueCounts(max_keys_of(n_columns))) {}

void TableCounts::add(const TableView& part, int n_threads) {
    require(part.columns.size() == columns_.size(), "wrong number of columns");
    parallel_for(columns_.size(), n_threads, [&](std::size_t j) {
        if (part.columns[j].type == ColumnView::Type::Absent) return;
        std::vector<std::uint64_t> keys(part.n_rows);
        read_keys(part.columns[j], j, keys);
        columns_[j].add(keys);
    });
}

std::vector<ValueCounts::State> TableCounts::state() const {
    std::vector<ValueCounts::State> counted;
    for (const ValueCounts& column : columns_) counted.push_back(column.state());
    return counted;
}

void TableCounts::add(const std::vector<ValueCounts::State>& counted) {
    require(counted.size() == columns_.size(), "wrong number of columns");
    for (std::size_t j = 0; j < counted.size(); ++j) columns_[j].add(counted[j]);
}

std::optional<std::vector<std::uint64_t>> TableCounts::bounds(std::size_t column, std::size_t n_rows,
                                                              std::uint32_t max_bins) const {
    require(column < columns_.size(), "column out of range");
    return columns_[column].bounds(n_rows, as_max_bins(max_bins));
}

TableBinner::TableBinner(std::size_t n_rows, const std::vector<std::vector<std::uint64_t>>& bounds,
                         const std::vector<std::int64_t>& n_categories,
                         const std::shared_ptr<Scratch>& scratch, bool also_rows)
    : n_rows_(n_rows), numeric_(bounds.size()), categorical_(bounds.size()) {
    if (n_rows >= std::size_t{1} << 31) throw std::length_error("more than 2,147,483,647 rows");
    require(bounds.size() == n_categories.size(), "wrong number of columns");
    for (std::size_t j = 0; j < bounds.size(); ++j)
        require(bounds[j].size() <= kMaxBins && n_categories[j] <= kMaxBins, "too many bins");
    if (scratch != nullptr) scratch->reserve(table_sizes(n_rows, bounds, n_categories, also_rows));
    for (std::size_t j = 0; j < bounds.size(); ++j) {
        if (n_categories[j] < 0) {
            require(std::is_sorted(bounds[j].begin(), bounds[j].end()), "bounds out of order");
            numeric_[j].emplace(bounds[j], n_rows, scratch);
        } else {
            categorical_[j].categorical = true;
            categorical_[j].n_bins = static_cast<std::uint32_t>(n_categories[j]);
            allocate_bins(categorical_[j], n_rows, scratch);
        }
    }
}

void TableBinner::append(const TableView& part, int n_threads) {
    require(part.columns.size() == numeric_.size(), "wrong number of columns");
    require(part.n_rows <= n_rows_ - n_binned_, "more rows than were counted");
    parallel_for(numeric_.size(), n_threads, [&](std::size_t j) {
        const ColumnView& view = part.columns[j];
        const bool is_category = view.type == ColumnView::Type::Category;
        require(view.type != ColumnView::Type::Absent && is_category != numeric_[j].has_value(),
                "a column of the wrong type");
        if (is_category) return write_categories(view, part.n_rows, categorical_[j], n_binned_);
        std::vector<std::uint64_t> keys(part.n_rows);
        read_keys(view, j, keys);
        numeric_[j]->write(keys, n_binned_);
    });
    n_binned_ += part.n_rows;
}

BinnedColumns TableBinner::finish(bool every_bin_occurs) && {
    require(n_binned_ == n_rows_, "fewer rows than were counted");
    BinnedColumns binned{n_rows_, std::move(categorical_)};
    for (std::size_t j = 0; j < numeric_.size(); ++j)
        if (numeric_[j]) binned.columns[j] = std::move(*numeric_[j]).finish(every_bin_occurs);
    return binned;
}

}  // namespace tritree
