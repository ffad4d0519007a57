#include "tree_grower.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "core/parallel.hpp"
#include "sprouts.hpp"

namespace tritree::boosting {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 12;  // rows that are parted together: they stay in the cache

}  // namespace

std::pair<std::size_t, std::size_t> part_rows(const CodedRows& data, std::span<std::uint32_t> rows,
                                              const Cut& cut, std::uint32_t missing, int n_threads) {
    const std::size_t n = rows.size(), n_blocks = (n + kBlock - 1) / kBlock;
    std::vector<std::uint8_t> side_of(missing + 2);
    for (std::uint32_t code = 0; code < side_of.size(); ++code)
        side_of[code] = static_cast<std::uint8_t>(cut.branch(code, missing));
    static thread_local Items<std::uint8_t> own_sides;
    static thread_local Items<std::uint32_t> own_parted;
    Items<std::uint8_t>& sides = own_sides;  // threads below are to use those of this one
    Items<std::uint32_t>& parted = own_parted;
    sides.resize(n);
    parted.resize(n);
    std::vector<std::array<std::size_t, 3>> counts(n_blocks);
    const auto column = static_cast<std::size_t>(cut.column);
    const auto find_sides = [&](const auto* codes, std::size_t stride) {
        parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
            std::size_t n_right = 0,
                        n_third = 0;  // counted by adding, not by where: that would wait for memory
            for (std::size_t i = begin; i < end; ++i) {
                const std::uint8_t side = side_of[codes[rows[i] * stride]];
                sides[i] = side;
                n_right += side == 1;
                n_third += side == 2;
            }
            counts[begin / kBlock] = {end - begin - n_right - n_third, n_right, n_third};
        });
    };
    if (data.columns != nullptr)
        data.columns->columns[column].visit([&](const auto* codes) { find_sides(codes, 1); });
    else
        data.rows.visit([&](const auto* codes) { find_sides(codes + column, data.rows.width()); });
    std::array<std::size_t, 3> place{}, total{};
    for (const auto& count : counts)
        for (int side = 0; side < 3; ++side) total[side] += count[side];
    place = {0, total[0], total[0] + total[1]};
    for (auto& count : counts)
        for (int side = 0; side < 3; ++side) place[side] += std::exchange(count[side], place[side]);
    parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        // each row is written to all parts and kept in one, so that there is no branch to guess wrong
        const auto [left_at, right_at, third_at] = counts[begin / kBlock];
        // on the stack: compilers look up where thread_local memory is again for each row
        std::array<std::uint32_t, kBlock + 1> left, right, third;
        const std::uint32_t* const row = rows.data();
        const std::uint8_t* const side = sides.data();
        std::size_t n_left = 0, n_right = 0, n_third = 0;
        for (std::size_t i = begin; i < end; ++i) {
            left[n_left] = right[n_right] = third[n_third] = row[i];
            n_left += side[i] == 0;
            n_right += side[i] == 1;
            n_third += side[i] == 2;
        }
        std::copy_n(left.begin(), n_left, parted.data() + left_at);
        std::copy_n(right.begin(), n_right, parted.data() + right_at);
        std::copy_n(third.begin(), n_third, parted.data() + third_at);
    });
    parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::copy(parted.begin() + begin, parted.begin() + end, rows.begin() + begin);
    });
    return {total[0], total[0] + total[1]};
}

bool TreeGrower::may_split(const BoostedTree& tree, const Sprout& sprout, int max_depth) const {
    return tree.infos[static_cast<std::size_t>(sprout.node)].depth < max_depth &&
           static_cast<std::int64_t>(sprout.range.size()) >= 2 * plan_.min_samples_leaf;
}

void TreeGrower::count(Sprout& sprout, std::span<const std::uint32_t> rows) const {
    count_rows(data_.rows, bins_, rows.subspan(sprout.range.begin, sprout.range.size()), gradients_,
               sprout.histogram, n_threads_);
}

void TreeGrower::look_for_cut(const BoostedTree& tree, Sprout& sprout,
                              std::span<const std::int32_t> columns) const {
    const Info& info = tree.infos[static_cast<std::size_t>(sprout.node)];
    const NodeSums node{sprout.total, info.bounds};
    if (plan_.max_features < 1) {
        const auto some = draw_columns(columns, plan_.max_features, mixed(info.path, 3));
        sprout.cut = best_cut(sprout.histogram, bins_, some, node, gradients_.unit, plan_);
    } else {
        sprout.cut = best_cut(sprout.histogram, bins_, columns, node, gradients_.unit, plan_);
    }
}

std::array<TreeGrower::Sprout, 2> TreeGrower::split(BoostedTree& tree, Sprout& sprout,
                                                    std::span<std::uint32_t> rows, int max_depth) {
    const Cut& cut = *sprout.cut;
    const auto own = rows.subspan(sprout.range.begin, sprout.range.size());
    const auto [right_at, third_at] =
        part_rows(data_, own, cut, bins_.columns[static_cast<std::size_t>(cut.column)].missing(), n_threads_);
    tree.split(sprout.node, cut, bins_, plan_);
    const Step& step = tree.steps[static_cast<std::size_t>(sprout.node)];
    const std::size_t begin = sprout.range.begin;
    std::array<Sprout, 2> daughters;
    daughters[0] = {step.next[0], {begin, begin + right_at}, cut.left, {}, {}};
    daughters[1] = {step.next[1], {begin + right_at, begin + third_at}, cut.right, {}, {}};
    for (const Sprout& daughter : daughters) {
        tree.infos[static_cast<std::size_t>(daughter.node)].rows =
            static_cast<std::int64_t>(daughter.range.size());
        ranges.push_back(daughter.range);
    }
    const bool left_is_smaller = daughters[0].range.size() <= daughters[1].range.size();
    Sprout& smaller = daughters[left_is_smaller ? 0 : 1];
    Sprout& larger = daughters[left_is_smaller ? 1 : 0];
    const bool smaller_may = may_split(tree, smaller, max_depth);
    if (!may_split(tree, larger, max_depth)) return daughters;  // then the smaller may not either
    const Range third{begin + third_at, sprout.range.end};
    if (smaller_may || smaller.range.size() + third.size() < larger.range.size()) count(smaller, rows);
    if (!smaller.histogram.empty() && third.size() < larger.range.size()) {
        larger.histogram = std::move(sprout.histogram);
        subtract(larger.histogram, smaller.histogram);
        if (third.size() > 0) {
            Sprout others{0, third, {}, {}, {}};
            count(others, rows);
            subtract(larger.histogram, others.histogram);
        }
    } else {
        count(larger, rows);
    }
    if (!smaller_may) smaller.histogram = {};
    return daughters;
}

void TreeGrower::grow(BoostedTree& tree, std::span<std::uint32_t> rows, std::span<const std::int32_t> columns,
                      int max_depth, std::int64_t max_leaf_nodes) {
    const auto root = static_cast<std::int32_t>(tree.size()) - 1;
    ranges.assign(1, {0, rows.size()});
    Sprout first{root, {0, rows.size()}, {}, {}, {}};
    first.total = sum_rows(rows, gradients_, n_threads_);
    Info& info = tree.infos[static_cast<std::size_t>(root)];
    info.rows = static_cast<std::int64_t>(rows.size());
    tree.values[static_cast<std::size_t>(root)] =
        best_value(gradients_.unit.read(first.total), plan_, info.bounds);
    Sprouts<Sprout> sprouts(max_leaf_nodes > 0);
    const auto add = [&](std::span<Sprout> some) {
        parallel_for(some.size(), n_threads_, [&](std::size_t i) {
            if (!some[i].histogram.empty()) look_for_cut(tree, some[i], columns);
        });
        for (Sprout& sprout : some)
            if (sprout.cut) sprouts.add(std::move(sprout));
    };
    if (may_split(tree, first, max_depth) && !columns.empty()) {
        count(first, rows);
        add({&first, 1});
    }
    std::int64_t n_leaves = 1;
    for (; !sprouts.empty() && (max_leaf_nodes == 0 || n_leaves < max_leaf_nodes); ++n_leaves) {
        Sprout sprout = sprouts.take();
        std::array<Sprout, 2> daughters = split(tree, sprout, rows, max_depth);
        add(daughters);
    }
}

}  // namespace tritree::boosting
