#include "histogram.hpp"

#include <algorithm>

namespace tritree {
namespace {

// A kernel adds item i of the node to the cell at `cell`. One per layout, so that the loop over rows has no
// branches.

struct AddSum {  // regression, every row weighs 1
    const std::int64_t* sum;
    void operator()(std::size_t i, std::int64_t* cell) const {
        ++cell[0];
        cell[1] += sum[i];
    }
};

struct AddWeightedSum {
    const std::int64_t *sum, *weight, *member;
    void operator()(std::size_t i, std::int64_t* cell) const {
        ++cell[0];
        cell[1] += sum[i];
        cell[2] += weight[i];
        if (member != nullptr) cell[3] += member[i];
    }
};

struct AddClass {
    const std::int32_t* label;
    void operator()(std::size_t i, std::int64_t* cell) const {
        ++cell[0];
        ++cell[1 + label[i]];
    }
};

struct AddWeightedClass {
    const std::int32_t* label;
    const std::int64_t *weight, *member;
    int member_at;
    void operator()(std::size_t i, std::int64_t* cell) const {
        ++cell[0];
        cell[1 + label[i]] += weight[i];
        if (member != nullptr) cell[member_at] += member[i];
    }
};

/// Call `f` with the node's kernel.
template <class F>
void with_kernel(const NodeRows& node, const Layout& layout, F&& f) {
    const std::int64_t* member = node.member.empty() ? nullptr : node.member.data();
    if (layout.n_classes > 0) {
        if (node.weight.empty())
            f(AddClass{node.label.data()});
        else
            f(AddWeightedClass{node.label.data(), node.weight.data(), member, layout.member});
    } else if (node.weight.empty()) {
        f(AddSum{node.sum.data()});
    } else {
        f(AddWeightedSum{node.sum.data(), node.weight.data(), member});
    }
}

}  // namespace

void count_rows(const CodedColumn& column, const NodeRows& node, const Layout& layout, Histogram& histogram) {
    const std::size_t width = layout.width;
    column.visit([&](const auto* codes) {
        with_kernel(node, layout, [&](const auto& add) {
            for (std::size_t i = 0; i < node.size(); ++i) add(i, &histogram[codes[node.rows[i]] * width]);
        });
    });
}

void subtract(Histogram& histogram, const Histogram& other) {
    for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] -= other[i];
}

void Cells::read(const CodedColumn& column, const NodeRows& node, const Layout& layout,
                 Histogram& histogram) {
    if (!histogram_pays(node.size(), column.n_codes, layout)) return from_sorting(column, node, layout);
    histogram.assign((std::size_t{column.n_codes} + 1) * layout.width, 0);
    count_rows(column, node, layout, histogram);
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
    with_kernel(*node_, *layout_, [&](const auto& add) { add(i, sum); });
}

void Cells::add_to(std::size_t cell, std::int64_t* sum) const {
    if (histogram_ != nullptr) {
        const std::int64_t* from = &(*histogram_)[codes_[cell] * std::size_t(width_)];
        for (int k = 0; k < width_; ++k) sum[k] += from[k];
    } else {
        for (std::uint32_t item = begin_[cell]; item < begin_[cell + 1]; ++item) add_item(item, sum);
    }
}

}  // namespace tritree
