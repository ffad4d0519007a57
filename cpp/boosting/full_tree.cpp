#include "full_tree.hpp"

#include <algorithm>
#include <array>

namespace tritree::boosting {
namespace {

constexpr int kDeepest = 8;
constexpr std::size_t kLanes = 8;  // rows on their way at once, so that none waits for its own memory

}  // namespace

FullTree::FullTree(const BoostedTree& tree) {
    if (tree.has_categories) return;
    std::vector<int> depth(static_cast<std::size_t>(tree.n_fitted));  // a daughter comes after its parent
    for (std::size_t node = 0; node < depth.size(); ++node) {
        const Step& step = tree.steps[node];
        if (step.is_leaf()) continue;
        for (const int side : {0, 1}) depth[static_cast<std::size_t>(step.next[side])] = depth[node] + 1;
        depth_ = std::max(depth_, depth[node] + 1);
    }
    if (depth_ > kDeepest) return;
    asks_.resize(std::size_t{1} << depth_);
    ends_.resize(std::size_t{1} << depth_);
    fill(tree, 0, 1);
}

void FullTree::fill(const BoostedTree& tree, std::int32_t node, std::size_t place) {
    const Step& step = tree.steps[static_cast<std::size_t>(node)];
    if (step.is_leaf()) {
        while (place < asks_.size()) place *= 2;  // no code is below 0: all ways lead right
        ends_[place - asks_.size()] = node;
        return;
    }
    asks_[place] = {step.column, step.begin};
    fill(tree, step.next[0], 2 * place + 1);
    fill(tree, step.next[1], 2 * place);
}

void FullTree::lead(const CodeRows& codes, std::size_t begin, std::size_t end, std::int32_t* at) const {
    const std::size_t width = codes.width();
    const Ask* const asks = asks_.data();
    const std::int32_t* const ends = ends_.data();
    const std::uint64_t first_end = ends_.size();
    codes.visit([&](const auto* first) {
        std::array<const std::remove_reference_t<decltype(*first)>*, kLanes> row;
        std::array<std::uint64_t, kLanes> place;
        for (std::size_t i = begin; i < end; i += kLanes) {
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                row[lane] = first + std::min(i + lane, end - 1) * width;
                place[lane] = 1;
            }
            for (int level = 0; level < depth_; ++level)
                for (std::size_t lane = 0; lane < kLanes; ++lane) {
                    const Ask ask = asks[place[lane]];
                    const std::uint32_t code = row[lane][ask.column], begin_right = ask.begin;
                    place[lane] +=
                        place[lane] + (code < begin_right);  // two instructions, compared like this
                }
            for (std::size_t lane = 0; lane < std::min(kLanes, end - i); ++lane)
                at[i - begin + lane] = ends[place[lane] - first_end];
        }
    });
}

FullTrees::FullTrees(std::span<const BoostedTree> trees, const Bins& bins) {
    std::vector<bool> is_asked(bins.n_columns());
    for (const BoostedTree& tree : trees) {
        trees_.emplace_back(tree);
        for (std::int32_t node = 0; node < tree.n_fitted; ++node)
            if (const Step& step = tree.steps[static_cast<std::size_t>(node)]; !step.is_leaf())
                is_asked[step.column] = true;
    }
    for (std::size_t j = 0; j < is_asked.size(); ++j)
        if (is_asked[j]) asked_.push_back({j, bins.columns[j].missing()});
}

std::vector<std::uint32_t> FullTrees::rows_with_holes(const CodeRows& codes, std::size_t begin,
                                                      std::size_t end) const {
    std::vector<std::uint32_t> found;
    codes.visit([&](const auto* first) {
        for (std::size_t row = begin; row < end; ++row) {
            bool has = false;
            for (const auto& [column, missing] : asked_)
                has |= first[row * codes.width() + column] == missing;
            if (has) found.push_back(static_cast<std::uint32_t>(row));
        }
    });
    return found;
}

}  // namespace tritree::boosting
