#include "fractional.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"
#include "fractional_cut.hpp"
#include "sprouts.hpp"

namespace tritree::boosting {

bool FractionalGrower::may_split(const BoostedTree& tree, const Sprout& sprout) const {
    return tree.infos[static_cast<std::size_t>(sprout.node)].depth < plan_.max_depth &&
           unit_.members(sprout.total) >= 2 * static_cast<double>(plan_.min_samples_leaf) - kMembershipSlack;
}

void FractionalGrower::count(Sprout& sprout) const {
    count_parts(codes_, bins_, sprout.parts, unit_, sprout.histogram, n_threads_);
}

void FractionalGrower::look_for_cut(const BoostedTree& tree, Sprout& sprout,
                                    std::span<const std::int32_t> columns) const {
    const Info& info = tree.infos[static_cast<std::size_t>(sprout.node)];
    std::vector<std::int32_t> some;
    if (plan_.max_features < 1) {
        some = draw_columns(columns, plan_.max_features, mixed(info.path, 3));
        columns = some;
    }
    sprout.cut = best_shared_cut(sprout.histogram, bins_, columns, sprout.total, info.bounds, unit_, plan_);
}

/// Give daughters their parts of a node's rows, each in the order it had. What goes right of a part is what
/// the left has not: so the parts of a row in all leaves add up to the row.
void FractionalGrower::deal(const Sprout& sprout, std::array<Sprout, 2>& daughters) const {
    const Cut& cut = *sprout.cut;
    const auto column = static_cast<std::size_t>(cut.column);
    const std::uint32_t missing = bins_.columns[column].missing();
    std::vector<Branch> branch_of(missing + 1);
    for (std::uint32_t code = 0; code <= missing; ++code) branch_of[code] = cut.branch(code, missing);
    const double share = cut.share();
    const std::size_t width = codes_.width();
    parallel_for(2, threads_for(10 * sprout.parts.size(), n_threads_), [&](std::size_t side) {
        Sprout& daughter = daughters[side];
        const auto own = static_cast<Branch>(side);
        codes_.visit([&](const auto* codes) {
            for (Part part : sprout.parts) {
                const Branch branch = branch_of[codes[part.row * width + column]];
                if (branch == Branch::Both) {
                    const std::int64_t left = std::llrint(static_cast<double>(part.member) * share);
                    part.member = own == Branch::Left ? left : part.member - left;
                    if (part.member == 0) continue;  // too little to be told from nothing
                } else if (branch != own) {
                    continue;
                }
                daughter.parts.push_back(part);
                daughter.total += unit_.cell(part);
            }
        });
    });
}

std::array<FractionalGrower::Sprout, 2> FractionalGrower::split(BoostedTree& tree, Sprout& sprout) const {
    const auto node = static_cast<std::size_t>(sprout.node);
    tree.split(sprout.node, *sprout.cut, bins_, plan_);
    tree.shares.resize(tree.size(), 0);
    tree.weights.resize(tree.size(), 0);
    tree.shares[node] = sprout.cut->share();
    std::array<Sprout, 2> daughters;
    deal(sprout, daughters);
    for (std::size_t side = 0; side < 2; ++side) {
        Sprout& daughter = daughters[side];
        daughter.node = tree.steps[node].next[side];
        tree.infos[static_cast<std::size_t>(daughter.node)].rows = daughter.total.rows;
        tree.weights[static_cast<std::size_t>(daughter.node)] = unit_.members(daughter.total);
    }
    const bool left_is_smaller = daughters[0].parts.size() <= daughters[1].parts.size();
    Sprout& smaller = daughters[left_is_smaller ? 0 : 1];
    Sprout& larger = daughters[left_is_smaller ? 1 : 0];
    const bool smaller_may = may_split(tree, smaller), larger_may = may_split(tree, larger);
    const bool apart =
        smaller.parts.size() + larger.parts.size() == sprout.parts.size();  // no row is in both
    if (smaller_may || (larger_may && apart)) count(smaller);
    if (larger_may && apart) {
        larger.histogram = std::move(sprout.histogram);
        for (std::size_t i = 0; i < larger.histogram.size(); ++i) larger.histogram[i] -= smaller.histogram[i];
    } else if (larger_may) {
        count(larger);
    }
    if (!smaller_may) smaller.histogram = {};
    return daughters;
}

void FractionalGrower::grow(BoostedTree& tree, std::span<const std::uint32_t> rows,
                            std::span<const std::int32_t> columns) {
    Sprout root;
    root.parts.reserve(rows.size());
    for (const std::uint32_t row : rows) {
        root.parts.push_back({row, unit_.whole()});
        root.total += unit_.cell(root.parts.back());
    }
    tree.infos[0].rows = root.total.rows;
    tree.values[0] = best_value(unit_.read(root.total), plan_, tree.infos[0].bounds);
    tree.shares.assign(1, 0);
    tree.weights.assign(1, unit_.members(root.total));
    Sprouts<Sprout> sprouts(plan_.max_leaf_nodes > 0);
    leaves.clear();
    const auto keep = [&](Sprout sprout) {
        if (!keeps_leaves_) return;
        leaves.resize(tree.size());
        leaves[static_cast<std::size_t>(sprout.node)] = std::move(sprout.parts);
    };
    const auto add = [&](Sprout sprout) {
        if (!sprout.histogram.empty()) look_for_cut(tree, sprout, columns);
        sprout.cut ? sprouts.add(std::move(sprout)) : keep(std::move(sprout));
    };
    if (may_split(tree, root) && !columns.empty()) count(root);
    add(std::move(root));
    std::int64_t n_leaves = 1;
    for (; !sprouts.empty() && (plan_.max_leaf_nodes == 0 || n_leaves < plan_.max_leaf_nodes); ++n_leaves) {
        Sprout sprout = sprouts.take();
        for (Sprout& daughter : split(tree, sprout)) add(std::move(daughter));
    }
    while (!sprouts.empty()) keep(sprouts.take());  // there are as many leaves as there may be
    if (keeps_leaves_) leaves.resize(tree.size());
}

}  // namespace tritree::boosting
