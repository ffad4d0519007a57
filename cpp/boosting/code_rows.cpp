#include "code_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/parallel.hpp"

namespace tritree::boosting {
namespace {

constexpr std::size_t kBlock = 512;  // rows that are turned together, so that they stay in the cache

constexpr std::size_t kLanes = 8;  // values that are looked for at once

/// Code numbers: each is the number of edges that are not above the value. Halving the edges has no branch to
/// guess wrong, but every step waits for the one before; several values at once hide that.
template <class Value, class Code>
void encode_numbers(const ColumnView& view, const ColumnBins& bins, std::size_t begin, std::size_t end,
                    std::size_t width, Code* into) {
    const double* const edges = bins.padded.data();
    const std::size_t half = (bins.padded.size() + 1) / 2;
    for (std::size_t first = begin; first < end; first += kLanes) {
        const std::size_t n = std::min(kLanes, end - first);
        std::array<double, kLanes> value{};
        std::array<std::size_t, kLanes> code{};
        for (std::size_t k = 0; k < n; ++k) value[k] = view.at<Value>(first + k);
        for (std::size_t step = half; step > 0; step /= 2)
            for (std::size_t k = 0; k < kLanes; ++k)
                code[k] += edges[code[k] + step - 1] <= value[k] ? step : 0;
        for (std::size_t k = 0; k < n; ++k)
            into[(first + k) * width] =
                static_cast<Code>(std::isnan(value[k]) ? std::size_t{bins.missing()} : code[k]);
    }
}

template <class Code>
void encode_categories(const ColumnView& view, const ColumnBins& bins, std::size_t begin, std::size_t end,
                       std::size_t width, Code* into) {
    for (std::size_t row = begin; row < end; ++row) {
        const auto category = view.at<std::int32_t>(row);
        const bool known = category >= 0 && category < static_cast<std::int64_t>(bins.n_codes);
        into[row * width] = static_cast<Code>(known ? static_cast<std::uint32_t>(category)
                                              : category == kMissingCategory ? bins.missing()
                                                                             : bins.unseen());
    }
}

template <class Code>
void encode_column(const ColumnView& view, const ColumnBins& bins, std::size_t begin, std::size_t end,
                   std::size_t width, Code* into) {
    switch (view.type) {
        case ColumnView::Type::Float64:
            return encode_numbers<double>(view, bins, begin, end, width, into);
        case ColumnView::Type::Float32:
            return encode_numbers<float>(view, bins, begin, end, width, into);
        case ColumnView::Type::Category:
            return encode_categories(view, bins, begin, end, width, into);
        case ColumnView::Type::Absent:
            for (std::size_t row = begin; row < end; ++row)
                into[row * width] = static_cast<Code>(bins.missing());
    }
}

}  // namespace

Bins::Bins(const Codes& codes) {
    for (const CodedColumn& column : codes.columns) {
        ColumnBins bins{column.categorical, column.n_codes, {}, {}};
        if (!column.categorical)
            for (std::uint32_t code = 0; code + 1 < column.n_codes; ++code)
                bins.edges.push_back(column.threshold(code, code + 1));
        columns.push_back(std::move(bins));
    }
    lay_out();
}

Bins::Bins(std::vector<ColumnBins> columns_) : columns(std::move(columns_)) { lay_out(); }

void Bins::lay_out() {
    offsets.assign(1, 0);
    for (ColumnBins& column : columns) {
        offsets.push_back(offsets.back() + column.n_codes + 1);
        column.padded = column.edges;
        column.padded.resize(std::bit_ceil(column.edges.size() + 1) - 1,
                             std::numeric_limits<double>::infinity());
    }
}

bool Bins::is_narrow() const {
    return std::all_of(columns.begin(), columns.end(), [](const ColumnBins& column) {
        return (column.categorical ? column.unseen() : column.missing()) <= 255;
    });
}

std::string Bins::validate() const {
    for (const ColumnBins& column : columns) {
        if (column.n_codes > kMaxCodes) return "more codes than a column may have";
        if (column.categorical ? !column.edges.empty()
                               : column.edges.size() + 1 != std::max(column.n_codes, 1u))
            return "edges of another number of codes";
        for (std::size_t i = 0; i < column.edges.size(); ++i)
            if (!std::isfinite(column.edges[i]) || (i > 0 && !(column.edges[i - 1] < column.edges[i])))
                return "edges out of order";
    }
    return {};
}

CodeRows::CodeRows(std::size_t n_rows, const Bins& bins)
    : n_rows_(n_rows), width_(bins.n_columns()), narrow_codes_(bins.is_narrow()) {
    if (narrow_codes_)
        narrow_.resize(n_rows_ * width_);
    else
        wide_.resize(n_rows_ * width_);
}

void CodeRows::forget_unseen(const Bins& bins) {
    visit([&](auto* codes) {
        for (std::size_t i = 0; i < n_rows_ * width_; ++i) {
            const std::uint32_t missing = bins.columns[i % width_].missing();
            if (codes[i] > missing)
                codes[i] = static_cast<std::remove_reference_t<decltype(*codes)>>(missing);
        }
    });
}

CodeRows rows_of(const Codes& codes, const Bins& bins, const std::vector<std::uint32_t>* order,
                 int n_threads) {
    CodeRows rows(order == nullptr ? codes.n_rows : order->size(), bins);
    const std::size_t width = rows.width();
    rows.visit([&](auto* into) {
        parallel_blocks(rows.n_rows(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
            for (std::size_t j = 0; j < width; ++j)
                codes.columns[j].visit([&](const auto* from) {
                    for (std::size_t i = begin; i < end; ++i)
                        into[i * width + j] = static_cast<std::remove_reference_t<decltype(*into)>>(
                            from[order == nullptr ? i : (*order)[i]]);
                });
        });
    });
    return rows;
}

CodeRows encode_rows(const RowsToPredict& table, const Bins& bins, int n_threads) {
    CodeRows rows(table.n_rows, bins);
    const std::size_t width = rows.width();
    rows.visit([&](auto* into) {
        parallel_blocks(table.n_rows, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
            check_finite(table, begin, end);
            for (std::size_t j = 0; j < width; ++j)
                encode_column(table.columns[j], bins.columns[j], begin, end, width, into + j);
        });
    });
    return rows;
}

}  // namespace tritree::boosting
