#include "both_ways.hpp"

#include <algorithm>
#include <numeric>

namespace tritree::boosting {
namespace {

constexpr std::size_t kMostVisits = std::size_t{1} << 17;  // at once, if not of a single row

}  // namespace

/// Call `f(begin, end)` for stretches of rows that are short enough to be led together, whatever is missing.
template <class F>
void BothWays::each_stretch(const BoostedTree& tree, std::size_t begin, std::size_t end, F&& f) {
    const std::size_t most = std::max<std::size_t>(kMostVisits / tree.size(), 1);
    for (; begin < end; begin += most) f(begin, std::min(begin + most, end));
}

/// Lead rows down, all of them to where they part, then what has parted, and so on.
void BothWays::lead(const BoostedTree& tree, const CodeRows& codes, std::size_t begin, std::size_t end) {
    row_.resize(end - begin);
    std::iota(row_.begin(), row_.end(), static_cast<std::uint32_t>(begin));
    node_.assign(end - begin, 0);
    below_.clear();
    while (below_.size() < row_.size()) {
        const std::size_t from = below_.size(), to = row_.size();
        tree.lead(codes, std::span<const std::uint32_t>(row_).subspan(from), node_.data() + from);
        below_.resize(to, 0);
        for (std::size_t i = from; i < to; ++i) {
            const Step& step = tree.steps[static_cast<std::size_t>(node_[i])];
            if (step.is_leaf()) continue;
            below_[i] = static_cast<std::uint32_t>(row_.size());
            row_.insert(row_.end(), 2, row_[i]);
            node_.insert(node_.end(), {step.next[0], step.next[1]});
        }
    }
}

/// Find how much of its row each visit is.
void BothWays::share_out(const BoostedTree& tree) {
    share_.assign(row_.size(), 1);
    for (std::size_t i = 0; i < row_.size(); ++i) {
        if (below_[i] == 0) continue;
        const double left = tree.shares[static_cast<std::size_t>(node_[i])];
        share_[below_[i]] = share_[i] * left;
        share_[below_[i] + 1] = share_[i] * (1 - left);
    }
}

void BothWays::answer(const BoostedTree& tree, const CodeRows& codes, std::size_t begin, std::size_t end,
                      double* answers) {
    each_stretch(tree, begin, end, [&](std::size_t first, std::size_t last) {
        lead(tree, codes, first, last);
        answer_.resize(row_.size());
        for (std::size_t i = row_.size(); i-- > 0;) {
            const auto node = static_cast<std::size_t>(node_[i]);
            const std::size_t below = below_[i];
            answer_[i] = below == 0 ? tree.values[node]
                                    : tree.shares[node] * answer_[below] +
                                          (1 - tree.shares[node]) * answer_[below + 1];
        }
        std::copy_n(answer_.begin(), last - first, answers + (first - begin));
    });
}

void BothWays::apply(const BoostedTree& tree, const CodeRows& codes, std::size_t begin, std::size_t end,
                     std::int32_t* nodes) {
    each_stretch(tree, begin, end, [&](std::size_t first, std::size_t last) {
        lead(tree, codes, first, last);
        share_out(tree);
        for (std::size_t i = row_.size(); i-- > 0;) {
            const std::size_t below = below_[i];
            if (below == 0) continue;
            const std::size_t better = below + (share_[below + 1] > share_[below]);
            share_[i] = share_[better];  // that of the leaf, from here on
            node_[i] = node_[better];
        }
        std::copy_n(node_.begin(), last - first, nodes + (first - begin));
    });
}

void BothWays::add_ends(const BoostedTree& tree, const CodeRows& codes, std::size_t begin, std::size_t end,
                        std::vector<End>& ends) {
    each_stretch(tree, begin, end, [&](std::size_t first, std::size_t last) {
        lead(tree, codes, first, last);
        share_out(tree);
        for (std::size_t i = 0; i < row_.size(); ++i)
            if (below_[i] == 0) ends.push_back({row_[i], node_[i], share_[i]});
    });
}

}  // namespace tritree::boosting
