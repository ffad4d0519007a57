#include "tree/perfect_tree.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace tritree {
namespace {

constexpr int kMaxPerfectDepth = 8;
constexpr std::size_t kLanes = 8;  // rows traversed at once, to hide memory latency

}  // namespace

PerfectTree::PerfectTree(const BinnedTree& tree) {
    if (tree.has_categories) return;
    for (std::int32_t node = 0; node < tree.arrays.n_fitted; ++node)
        depth_ = std::max(depth_, static_cast<int>(tree.arrays.depth[static_cast<std::size_t>(node)]));
    if (depth_ > kMaxPerfectDepth) return;
    splits_.resize(std::size_t{1} << depth_);
    leaves_.resize(std::size_t{1} << depth_);
    fill(tree, 0, 1);
}

void PerfectTree::fill(const BinnedTree& tree, std::int32_t node, std::size_t position) {
    if (tree.is_leaf(node)) {
        while (position < splits_.size()) position *= 2;  // no bin is below 0: all rows go right
        leaves_[position - splits_.size()] = node;
        return;
    }
    const PackedNode& packed = tree.nodes[static_cast<std::size_t>(node)];
    splits_[position] = {packed.column, packed.first_right_bin};
    fill(tree, packed.next[0], 2 * position + 1);
    fill(tree, packed.next[1], 2 * position);
}

void PerfectTree::traverse(const BinnedRows& binned, std::size_t begin, std::size_t end,
                           std::int32_t* nodes) const {
    const std::size_t n_columns = binned.n_columns();
    const Split* const splits = splits_.data();
    const std::int32_t* const leaves = leaves_.data();
    const std::uint64_t first_leaf = leaves_.size();
    binned.visit([&](const auto* first) {
        std::array<const std::remove_reference_t<decltype(*first)>*, kLanes> row;
        std::array<std::uint64_t, kLanes> position;
        for (std::size_t i = begin; i < end; i += kLanes) {
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                row[lane] = first + std::min(i + lane, end - 1) * n_columns;
                position[lane] = 1;
            }
            for (int level = 0; level < depth_; ++level)
                for (std::size_t lane = 0; lane < kLanes; ++lane) {
                    const Split split = splits[position[lane]];
                    const std::uint32_t bin = row[lane][split.column],
                                        first_right_bin = split.first_right_bin;
                    position[lane] +=
                        position[lane] + (bin < first_right_bin);  // compiles to two instructions
                }
            for (std::size_t lane = 0; lane < std::min(kLanes, end - i); ++lane)
                nodes[i - begin + lane] = leaves[position[lane] - first_leaf];
        }
    });
}

PerfectTrees::PerfectTrees(std::span<const BinnedTree* const> trees, const BinMapper& mapper) {
    std::vector<bool> is_used(mapper.n_columns());
    for (const BinnedTree* tree : trees) {
        trees_.emplace_back(*tree);
        for (std::int32_t node = 0; node < tree->arrays.n_fitted; ++node)
            if (!tree->is_leaf(node)) is_used[tree->nodes[static_cast<std::size_t>(node)].column] = true;
    }
    for (std::size_t j = 0; j < is_used.size(); ++j)
        if (is_used[j]) used_columns_.push_back({j, mapper.columns[j].missing_bin()});
}

std::vector<std::uint32_t> PerfectTrees::incomplete_rows(const BinnedRows& binned, std::size_t begin,
                                                         std::size_t end) const {
    std::vector<std::uint32_t> rows;
    binned.visit([&](const auto* first) {
        for (std::size_t row = begin; row < end; ++row) {
            bool incomplete = false;
            for (const auto& [column, missing_bin] : used_columns_)
                incomplete |= first[row * binned.n_columns() + column] == missing_bin;
            if (incomplete) rows.push_back(static_cast<std::uint32_t>(row));
        }
    });
    return rows;
}

}  // namespace tritree
