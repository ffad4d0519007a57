#include "histogram.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace tritree {
namespace {

template <class Code>
const Code* codes_of(const CodedColumn& column) {
    if constexpr (std::is_same_v<Code, std::uint8_t>)
        return column.narrow.data();
    else
        return column.wide.data();
}

// A kernel reads item i of the node and adds it to a cell. One per layout, so that the loop over rows has no
// branches.

struct AddSum {  // regression, every row weighs 1
    const std::int64_t* sum;
    static constexpr std::size_t width = 2;
    std::int64_t item(std::size_t i) const { return sum[i]; }
    void add(std::int64_t item, std::int64_t* cell) const {
        ++cell[0];
        cell[1] += item;
    }
};

struct AddWeightedSum {
    const std::int64_t *sum, *weight, *member;
    std::size_t width;
    std::size_t item(std::size_t i) const { return i; }
    void add(std::size_t i, std::int64_t* cell) const {
        ++cell[0];
        cell[1] += sum[i];
        cell[2] += weight[i];
        if (member != nullptr) cell[3] += member[i];
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
    const std::int64_t *weight, *member;
    int member_at;
    std::size_t width;
    std::size_t item(std::size_t i) const { return i; }
    void add(std::size_t i, std::int64_t* cell) const {
        ++cell[0];
        cell[1 + label[i]] += weight[i];
        if (member != nullptr) cell[member_at] += member[i];
    }
};

/// Call `f` with the node's kernel.
template <class F>
void with_kernel(const NodeRows& node, const Layout& layout, F&& f) {
    const std::int64_t* member = node.member.empty() ? nullptr : node.member.data();
    const auto width = static_cast<std::size_t>(layout.width);
    if (layout.n_classes > 0) {
        if (node.weight.empty())
            f(AddClass{node.label.data(), width});
        else
            f(AddWeightedClass{node.label.data(), node.weight.data(), member, layout.member, width});
    } else if (node.weight.empty()) {
        f(AddSum{node.sum.data()});
    } else {
        f(AddWeightedSum{node.sum.data(), node.weight.data(), member, width});
    }
}

/// Count N columns in one pass over the rows: the additions do not wait for one another, and a row's number
/// and its item are read once for all of them. Four columns take 0.6 of the time of four passes.
template <std::size_t N, class Code, class Kernel>
void count_together(const Counting* countings, const NodeRows& node, const Kernel& kernel) {
    std::array<const Code*, N> codes;
    std::array<std::int64_t*, N> cells;
    for (std::size_t k = 0; k < N; ++k) {
        codes[k] = codes_of<Code>(*countings[k].column);
        cells[k] = countings[k].histogram->data();
    }
    const std::uint32_t* rows = node.rows.data();
    for (std::size_t i = 0, n = node.size(); i < n; ++i) {
        const std::uint32_t row = rows[i];
        const auto item = kernel.item(i);
        for (std::size_t k = 0; k < N; ++k) kernel.add(item, cells[k] + codes[k][row] * kernel.width);
    }
}

template <class Code, class Kernel>
void count_alike(std::span<const Counting> countings, const NodeRows& node, const Kernel& kernel) {
    std::size_t k = 0;
    for (; k + 4 <= countings.size(); k += 4) count_together<4, Code>(&countings[k], node, kernel);
    for (; k + 2 <= countings.size(); k += 2) count_together<2, Code>(&countings[k], node, kernel);
    for (; k < countings.size(); ++k) count_together<1, Code>(&countings[k], node, kernel);
}

}  // namespace

void count_rows(std::span<const Counting> countings, const NodeRows& node, const Layout& layout) {
    for (const auto& [column, histogram] : countings) histogram->assign(histogram_size(*column, layout), 0);
    with_kernel(node, layout, [&](const auto& kernel) {
        for (std::size_t begin = 0, end; begin < countings.size(); begin = end) {
            const bool narrow = countings[begin].column->is_narrow();
            for (end = begin; end < countings.size() && countings[end].column->is_narrow() == narrow;) ++end;
            const auto alike = countings.subspan(begin, end - begin);
            narrow ? count_alike<std::uint8_t>(alike, node, kernel)
                   : count_alike<std::uint16_t>(alike, node, kernel);
        }
    });
}

void subtract(Histogram& histogram, const Histogram& other) {
    for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] -= other[i];
}

void Cells::read(const CodedColumn& column, const NodeRows& node, const Layout& layout,
                 Histogram& histogram) {
    if (!histogram_pays(node.size(), column.n_codes, layout)) return from_sorting(column, node, layout);
    const Counting counting{&column, &histogram};
    count_rows({&counting, 1}, node, layout);
    from_histogram(histogram, column.n_codes, layout);
}

void Cells::from_histogram(const Histogram& histogram, std::uint32_t n_codes, const Layout& layout) {
    width_ = layout.width;
    histogram_ = &histogram;
    codes_.clear();
    for (std::uint32_t code = 0; code < n_codes; ++code)
        if (histogram[std::size_t{code} * width_] > 0) codes_.push_back(code);
    const auto missing = histogram.begin() + static_cast<std::ptrdiff_t>(std::size_t{n_codes} * width_);
    missing_.assign(missing, missing + width_);
}

void Cells::from_sorting(const CodedColumn& column, const NodeRows& node, const Layout& layout) {
    width_ = layout.width;
    histogram_ = nullptr;
    node_ = &node;
    layout_ = &layout;
    items_.resize(node.size());
    column.visit([&](const auto* codes) {
        for (std::size_t i = 0; i < node.size(); ++i)
            items_[i] = std::uint64_t{codes[node.rows[i]]} << 32 | static_cast<std::uint32_t>(i);
    });
    std::sort(items_.begin(), items_.end());
    codes_.clear();
    begin_.clear();
    missing_.assign(width_, 0);
    for (std::uint32_t item = 0; item < items_.size(); ++item) {
        const auto code = static_cast<std::uint32_t>(items_[item] >> 32);
        if (code == column.missing()) {
            for (std::uint32_t rest = item; rest < items_.size(); ++rest) add_item(rest, missing_.data());
            begin_.push_back(item);
            return;
        }
        if (codes_.empty() || codes_.back() != code) {
            codes_.push_back(code);
            begin_.push_back(item);
        }
    }
    begin_.push_back(static_cast<std::uint32_t>(items_.size()));
}

void Cells::add_item(std::uint32_t item, std::int64_t* sum) const {
    const auto i = static_cast<std::uint32_t>(items_[item]);
    with_kernel(*node_, *layout_, [&](const auto& kernel) { kernel.add(kernel.item(i), sum); });
}

void Cells::add_items_to(std::size_t cell, std::int64_t* sum) const {
    for (std::uint32_t item = begin_[cell]; item < begin_[cell + 1]; ++item) add_item(item, sum);
}

}  // namespace tritree
