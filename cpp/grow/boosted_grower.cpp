#include "grow/boosted_grower.hpp"

#include <algorithm>
#include <cmath>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace tritree {

RowRange RowSamples::root() {
    ranges.assign(1, {0, rows_.size()});
    return ranges[0];
}

GradientCell RowSamples::total(const RowRange& range) const {
    return sum_gradients(rows_.subspan(range.begin, range.size()), gradients_, n_threads_);
}

void RowSamples::build(const RowRange& range, GradientHistogram& histogram) const {
    build_histogram(data_.rows, mapper_, rows_.subspan(range.begin, range.size()), gradients_, histogram,
                    n_threads_);
}

RowSamples::Children RowSamples::partition(RowRange& parent, const GradientSplit& split, BinnedTree&,
                                           std::int32_t) {
    const auto rows = rows_.subspan(parent.begin, parent.size());
    const std::uint32_t missing_bin = mapper_.columns[static_cast<std::size_t>(split.column)].missing_bin();
    const auto [n_left, n_right] = partition_rows(rows, data_, split, missing_bin, n_threads_);
    const std::size_t right = parent.begin + n_left, rest = right + n_right;
    Children children;
    children.nodes = {RowRange{parent.begin, right}, RowRange{right, rest}};
    children.totals = {split.left, split.right};
    children.rest = {rest, parent.end};
    for (const RowRange& range : children.nodes) ranges.push_back(range);
    return children;
}

FractionalSamples FractionalRowSamples::root() const {
    FractionalSamples samples;
    samples.reserve(rows_.size());
    for (const std::uint32_t row : rows_) samples.push_back({row, scale_.whole()});
    return samples;
}

FractionalCell FractionalRowSamples::total(const FractionalSamples& samples) const {
    FractionalCell total;
    for (const FractionalSample& sample : samples) total += scale_.cell(sample);
    return total;
}

void FractionalRowSamples::build(const FractionalSamples& samples, FractionalHistogram& histogram) const {
    build_histogram(data_.rows, mapper_, samples, scale_, histogram, n_threads_);
}

/// The right child gets the remainder of a sample that goes both ways, so that the fractions of a row in all
/// leaves add up to the row.
FractionalRowSamples::Children FractionalRowSamples::partition(FractionalSamples& parent,
                                                               const GradientSplit& split, BinnedTree& tree,
                                                               std::int32_t node) {
    const auto column = static_cast<std::size_t>(split.column);
    const std::uint32_t missing_bin = mapper_.columns[column].missing_bin();
    std::vector<Branch> branch_of(missing_bin + 1);
    for (std::uint32_t bin = 0; bin <= missing_bin; ++bin) branch_of[bin] = split.branch(bin, missing_bin);
    const std::size_t n_columns = data_.rows.n_columns();
    Children children;
    parallel_for(2, threads_for(10 * parent.size(), n_threads_), [&](std::size_t side) {
        const auto own = static_cast<Branch>(side);
        data_.rows.visit([&](const auto* bins) {
            for (FractionalSample sample : parent) {
                const Branch branch = branch_of[bins[sample.row * n_columns + column]];
                if (branch == Branch::Both) {
                    const std::int64_t left =
                        std::llrint(static_cast<double>(sample.membership) * split.left_fraction);
                    sample.membership = own == Branch::Left ? left : sample.membership - left;
                    if (sample.membership == 0) continue;  // rounded away
                } else if (branch != own) {
                    continue;
                }
                children.nodes[side].push_back(sample);
                children.totals[side] += scale_.cell(sample);
            }
        });
    });
    children.disjoint = children.nodes[0].size() + children.nodes[1].size() == parent.size();
    Tree& arrays = tree.tree;
    arrays.left_fraction.resize(tree.size(), 0);
    arrays.weight.resize(tree.size(), 0);
    arrays.left_fraction[static_cast<std::size_t>(node)] = split.left_fraction;
    arrays.weight[static_cast<std::size_t>(arrays.left[node])] = scale_.memberships(children.totals[0]);
    arrays.weight[static_cast<std::size_t>(arrays.right[node])] = scale_.memberships(children.totals[1]);
    return children;
}

void FractionalRowSamples::init_root(BinnedTree& tree, const FractionalCell& total) const {
    tree.tree.left_fraction.assign(1, 0);
    tree.tree.weight.assign(1, scale_.memberships(total));
}

void FractionalRowSamples::keep_leaf(std::int32_t node, FractionalSamples&& samples) {
    if (!keeps_leaves_) return;
    leaves.resize(std::max(leaves.size(), static_cast<std::size_t>(node) + 1));
    leaves[static_cast<std::size_t>(node)] = std::move(samples);
}

template <class Samples>
void BoostedGrower<Samples>::grow(BinnedTree& tree, std::span<const std::int32_t> columns, int max_depth) {
    Entry root;
    root.node = static_cast<std::int32_t>(tree.size()) - 1;
    root.samples = samples_.root();
    root.total = samples_.total(root.samples);
    samples_.init_root(tree, root.total);
    const auto node = static_cast<std::size_t>(root.node);
    tree.tree.rows[node] = samples_.n_rows(root.total);
    tree.tree.value[node] = leaf_value(samples_.scale().read(root.total), params_, tree.bounds(root.node));
    if (may_split(tree, root, max_depth) && !columns.empty()) samples_.build(root.samples, root.histogram);

    ExpandQueue<Entry> queue(params_.max_leaf_nodes > 0);
    const auto push = [&](std::span<Entry> entries) {
        for (Entry& entry : entries)
            entry.split ? queue.push(std::move(entry))
                        : samples_.keep_leaf(entry.node, std::move(entry.samples));
    };
    find_splits(tree, {&root, 1}, columns);
    push({&root, 1});
    for (std::int64_t n_leaves = 1;
         !queue.empty() && (params_.max_leaf_nodes == 0 || n_leaves < params_.max_leaf_nodes); ++n_leaves) {
        Entry entry = queue.pop();
        typename Samples::Node rest;
        bool disjoint = true;
        Children children = apply_split(tree, entry, rest, disjoint);
        build_histograms(tree, entry, children, rest, disjoint, max_depth);
        find_splits(tree, children, columns);
        push(children);
    }
    while (!queue.empty()) {
        Entry entry = queue.pop();
        samples_.keep_leaf(entry.node, std::move(entry.samples));
    }
}

template <class Samples>
bool BoostedGrower<Samples>::may_split(const BinnedTree& tree, const Entry& entry, int max_depth) const {
    return tree.tree.depth[static_cast<std::size_t>(entry.node)] < max_depth &&
           samples_.has_enough_rows(entry.samples, entry.total);
}

/// Turn the node of an entry into a split; return its children with their samples.
template <class Samples>
typename BoostedGrower<Samples>::Children BoostedGrower<Samples>::apply_split(BinnedTree& tree, Entry& entry,
                                                                              typename Samples::Node& rest,
                                                                              bool& disjoint) {
    tree.split(entry.node, *entry.split, mapper_, params_);
    auto partition_result = samples_.partition(entry.samples, *entry.split, tree, entry.node);
    rest = std::move(partition_result.rest);
    disjoint = partition_result.disjoint;
    const std::array<std::int32_t, 2> nodes{tree.tree.left[entry.node], tree.tree.right[entry.node]};
    Children children;
    for (std::size_t side = 0; side < 2; ++side) {
        children[side].node = nodes[side];
        children[side].samples = std::move(partition_result.nodes[side]);
        children[side].total = partition_result.totals[side];
        tree.tree.rows[static_cast<std::size_t>(nodes[side])] =
            samples_.n_rows(partition_result.totals[side]);
    }
    return children;
}

/// Build the histograms of the children that may split. That of the larger child is the parent's minus those
/// of the smaller child and of the rest, where that is cheaper.
template <class Samples>
void BoostedGrower<Samples>::build_histograms(const BinnedTree& tree, Entry& parent, Children& children,
                                              const typename Samples::Node& rest, bool disjoint,
                                              int max_depth) const {
    const bool left_is_smaller = children[0].samples.size() <= children[1].samples.size();
    Entry& smaller = children[left_is_smaller ? 0 : 1];
    Entry& larger = children[left_is_smaller ? 1 : 0];
    const bool smaller_splits = may_split(tree, smaller, max_depth);
    const bool larger_splits = may_split(tree, larger, max_depth);
    const bool subtracts = larger_splits && disjoint && rest.size() < larger.samples.size() &&
                           (smaller_splits || smaller.samples.size() + rest.size() < larger.samples.size());
    if (smaller_splits || subtracts) samples_.build(smaller.samples, smaller.histogram);
    if (subtracts) {
        larger.histogram = std::move(parent.histogram);
        subtract(larger.histogram, smaller.histogram);
        if (rest.size() > 0) {
            ColumnsHistogram<Cell> rest_histogram;
            samples_.build(rest, rest_histogram);
            subtract(larger.histogram, rest_histogram);
        }
    } else if (larger_splits) {
        samples_.build(larger.samples, larger.histogram);
    }
    if (!smaller_splits) smaller.histogram = {};
}

template <class Samples>
void BoostedGrower<Samples>::find_splits(const BinnedTree& tree, std::span<Entry> entries,
                                         std::span<const std::int32_t> columns) const {
    parallel_for(entries.size(), n_threads_, [&](std::size_t i) {
        Entry& entry = entries[i];
        if (entry.histogram.empty()) return;
        std::vector<std::int32_t> sampled;
        if (params_.max_features < 1)
            sampled = sample_columns(columns, params_.max_features,
                                     hash_seed(tree.path[static_cast<std::size_t>(entry.node)], 3));
        entry.split = best_split(entry.histogram, mapper_, params_.max_features < 1 ? sampled : columns,
                                 entry.total, tree.bounds(entry.node), samples_.scale(), params_);
    });
}

template class BoostedGrower<RowSamples>;
template class BoostedGrower<FractionalRowSamples>;

}  // namespace tritree
