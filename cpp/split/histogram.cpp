#include "split/histogram.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>
#include <utility>

namespace tritree {
namespace {

template <class Bin>
const Bin* bins_of(const BinnedColumn& column) {
    if constexpr (std::is_same_v<Bin, std::uint8_t>)
        return column.bins8.data();
    else
        return column.bins16.data();
}

// An accumulator reads sample i of a node and adds it to a cell. One per layout, so that the loop over rows
// has no branches.

struct AddSum {  // regression without weights
    const std::int64_t* sum;
    static constexpr std::size_t width = 2;
    std::int64_t item(std::size_t i) const { return sum[i]; }
    void add(std::int64_t item, std::int64_t* cell) const {
        ++cell[0];
        cell[1] += item;
    }
};

struct AddSquare {  // the same with squares
    const std::int64_t *sum, *square;
    static constexpr std::size_t width = 3;
    std::pair<std::int64_t, std::int64_t> item(std::size_t i) const { return {sum[i], square[i]}; }
    void add(std::pair<std::int64_t, std::int64_t> item, std::int64_t* cell) const {
        ++cell[0];
        cell[1] += item.first;
        cell[2] += item.second;
    }
};

struct AddWeightedSum {
    const std::int64_t *sum, *weight, *membership, *square;
    std::size_t width;
    std::size_t item(std::size_t i) const { return i; }
    void add(std::size_t i, std::int64_t* cell) const {
        ++cell[0];
        cell[1] += sum[i];
        cell[2] += weight[i];
        if (membership != nullptr) cell[3] += membership[i];
        if (square != nullptr) cell[width - 1] += square[i];
    }
};

struct AddClass {
    const std::int32_t* label;
    std::size_t width;
    std::int32_t item(std::size_t i) const { return label[i]; }
    void add(std::int32_t item, std::int64_t* cell) const {
        ++cell[0];
        ++cell[1 + item];
    }
};

struct AddWeightedClass {
    const std::int32_t* label;
    const std::int64_t *weight, *membership;
    int membership_at;
    std::size_t width;
    std::size_t item(std::size_t i) const { return i; }
    void add(std::size_t i, std::int64_t* cell) const {
        ++cell[0];
        cell[1 + label[i]] += weight[i];
        if (membership != nullptr) cell[membership_at] += membership[i];
    }
};

/// Call `f` with the accumulator of a node.
template <class F>
void with_accumulator(const NodeSamples& node, const CellLayout& layout, F&& f) {
    const std::int64_t* membership = node.membership_units.empty() ? nullptr : node.membership_units.data();
    const std::int64_t* square = layout.square == 0 ? nullptr : node.square.data();
    const auto width = static_cast<std::size_t>(layout.width);
    if (layout.n_classes > 0) {
        if (node.weight.empty())
            f(AddClass{node.label.data(), width});
        else
            f(AddWeightedClass{node.label.data(), node.weight.data(), membership, layout.membership, width});
    } else if (!node.weight.empty()) {
        f(AddWeightedSum{node.sum.data(), node.weight.data(), membership, square, width});
    } else if (square != nullptr) {
        f(AddSquare{node.sum.data(), square});
    } else {
        f(AddSum{node.sum.data()});
    }
}

/// Accumulate N columns in one pass over the rows: additions do not wait for one another, and the sample is
/// read once. Four columns take 0.6 of the time of four passes.
template <std::size_t N, class Bin, class Accumulator>
void accumulate_columns(const ColumnHistogram* columns, const NodeSamples& node,
                        const Accumulator& accumulator) {
    std::array<const Bin*, N> binned;
    std::array<std::int64_t*, N> cells;
    for (std::size_t k = 0; k < N; ++k) {
        binned[k] = bins_of<Bin>(*columns[k].column);
        cells[k] = columns[k].histogram->data();
    }
    const std::uint32_t* rows = node.rows.data();
    for (std::size_t i = 0, n = node.size(); i < n; ++i) {
        const std::uint32_t row = rows[i];
        const auto item = accumulator.item(i);
        for (std::size_t k = 0; k < N; ++k)
            accumulator.add(item, cells[k] + binned[k][row] * accumulator.width);
    }
}

template <class Bin, class Accumulator>
void accumulate_same_width(std::span<const ColumnHistogram> columns, const NodeSamples& node,
                           const Accumulator& accumulator) {
    std::size_t k = 0;
    for (; k + 4 <= columns.size(); k += 4) accumulate_columns<4, Bin>(&columns[k], node, accumulator);
    for (; k + 2 <= columns.size(); k += 2) accumulate_columns<2, Bin>(&columns[k], node, accumulator);
    for (; k < columns.size(); ++k) accumulate_columns<1, Bin>(&columns[k], node, accumulator);
}

}  // namespace

void build_histograms(std::span<const ColumnHistogram> columns, const NodeSamples& node,
                      const CellLayout& layout) {
    for (const auto& [column, histogram] : columns) histogram->assign(histogram_size(*column, layout), 0);
    with_accumulator(node, layout, [&](const auto& accumulator) {
        for (std::size_t begin = 0, end; begin < columns.size(); begin = end) {
            const bool bins8 = columns[begin].column->fits_uint8();
            for (end = begin; end < columns.size() && columns[end].column->fits_uint8() == bins8;) ++end;
            const auto alike = columns.subspan(begin, end - begin);
            bins8 ? accumulate_same_width<std::uint8_t>(alike, node, accumulator)
                  : accumulate_same_width<std::uint16_t>(alike, node, accumulator);
        }
    });
}

void subtract(Histogram& histogram, const Histogram& other) {
    for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] -= other[i];
}

void CellReader::from_histogram(const Histogram& histogram, std::uint32_t n_bins, const CellLayout& layout) {
    width_ = layout.width;
    dense_ = false;
    cells_ = histogram.data();
    bins_.resize(n_bins);
    std::size_t n_cells = 0;
    for (std::uint32_t bin = 0; bin < n_bins; ++bin) {
        bins_[n_cells] = bin;  // overwritten unless the cell has rows
        n_cells += histogram[std::size_t{bin} * width_] > 0;
    }
    bins_.resize(n_cells);
    const auto missing = histogram.begin() + static_cast<std::ptrdiff_t>(std::size_t{n_bins} * width_);
    missing_.assign(missing, missing + width_);
}

void CellReader::from_rows(const BinnedColumn& column, const NodeSamples& node, const CellLayout& layout) {
    constexpr std::size_t kMaxSorted = 64;  // sorting fewer rows is cheaper than scanning the bitmap
    constexpr std::size_t kMaxSparse = std::size_t{1} << 18;  // integers of the sparse histogram
    const bool sorting = node.size() < kMaxSorted || histogram_size(column, layout) > kMaxSparse;
    sorting ? from_sorting(column, node, layout) : from_bitmap(column, node, layout);
    width_ = layout.width;
    dense_ = true;
    cells_ = collected_.data();
}

/// Accumulate into a histogram that is never cleared as a whole: a bitmap marks the cells in use. For 1,250
/// rows and 20,000 bins this takes a ninth of the time of std::sort, and 0.6 of that of a radix sort.
void CellReader::from_bitmap(const BinnedColumn& column, const NodeSamples& node, const CellLayout& layout) {
    const auto width = static_cast<std::size_t>(layout.width);
    used_.resize(std::max<std::size_t>(used_.size(), column.missing_bin() / 64 + 1), 0);
    if (sparse_.size() < histogram_size(column, layout)) sparse_.resize(histogram_size(column, layout), 0);
    collected_.clear();
    bins_.clear();
    missing_.assign(width, 0);
    // reserve all memory before the first cell is used: nothing can throw until all cells are zero again
    const std::size_t max_cells = std::min<std::size_t>(node.size(), column.n_bins);
    collected_.reserve(max_cells * width);
    bins_.reserve(max_cells);
    column.visit([&](const auto* binned) {
        with_accumulator(node, layout, [&](const auto& accumulator) {
            for (std::size_t i = 0; i < node.size(); ++i) {
                const std::size_t bin = binned[node.rows[i]];
                used_[bin / 64] |= std::uint64_t{1} << (bin % 64);
                accumulator.add(accumulator.item(i), &sparse_[bin * width]);
            }
        });
    });
    for (std::size_t word = 0; word <= column.missing_bin() / 64; ++word) {
        for (std::uint64_t bits = std::exchange(used_[word], 0); bits != 0; bits &= bits - 1) {
            const auto bin =
                static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
            std::int64_t* cell = &sparse_[bin * width];
            if (bin == column.missing_bin()) {
                missing_.assign(cell, cell + width);
            } else {
                bins_.push_back(bin);
                collected_.insert(collected_.end(), cell, cell + width);
            }
            std::fill_n(cell, width, 0);
        }
    }
}

namespace {

/// Insertion sort for very few keys.
void sort_keys(std::vector<std::uint64_t>& items) {
    constexpr std::size_t kMaxInsertion = 24;
    if (items.size() > kMaxInsertion) return std::sort(items.begin(), items.end());
    std::uint64_t* const all = items.data();
    for (std::size_t i = 1; i < items.size(); ++i) {
        const std::uint64_t item = all[i];
        std::size_t place = i;
        for (; place > 0 && all[place - 1] > item; --place) all[place] = all[place - 1];
        all[place] = item;
    }
}

}  // namespace

void CellReader::from_sorting(const BinnedColumn& column, const NodeSamples& node, const CellLayout& layout) {
    const auto width = static_cast<std::size_t>(layout.width);
    sort_keys_.resize(node.size());
    column.visit([&](const auto* binned) {
        for (std::size_t i = 0; i < node.size(); ++i)
            sort_keys_[i] = std::uint64_t{binned[node.rows[i]]} << 32 | static_cast<std::uint32_t>(i);
    });
    sort_keys(sort_keys_);
    const std::uint64_t missing_from = std::uint64_t{column.missing_bin()} << 32;
    auto end = sort_keys_.end();  // missing values are last
    while (end != sort_keys_.begin() && end[-1] >= missing_from) --end;
    const auto n_observed = static_cast<std::size_t>(end - sort_keys_.begin());
    collected_.assign(n_observed * width, 0);
    bins_.resize(n_observed);
    missing_.assign(width, 0);
    std::size_t n_cells = 0;
    with_accumulator(node, layout, [&](const auto& accumulator) {
        for (std::size_t i = 0; i < n_observed; ++i) {
            const auto bin = static_cast<std::uint32_t>(sort_keys_[i] >> 32);
            n_cells += n_cells == 0 || bins_[n_cells - 1] != bin;
            bins_[n_cells - 1] = bin;
            accumulator.add(accumulator.item(static_cast<std::uint32_t>(sort_keys_[i])),
                            &collected_[(n_cells - 1) * width]);
        }
        for (std::size_t i = n_observed; i < sort_keys_.size(); ++i)
            accumulator.add(accumulator.item(static_cast<std::uint32_t>(sort_keys_[i])), missing_.data());
    });
    bins_.resize(n_cells);
}

}  // namespace tritree
