#include "grow/boosted_grower.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace tritree {

RowRange RowPartitioner::root() {
    ranges.assign(1, {0, rows_.size()});
    totals.assign(1, total(ranges[0]));
    return ranges[0];
}

GradientCell RowPartitioner::total(const RowRange& range) const {
    return sum_gradients(rows_.subspan(range.begin, range.size()), gradients_, n_threads_);
}

void RowPartitioner::build(const RowRange& range, GradientHistogram& histogram) const {
    build_histogram(data_.rows, mapper_, rows_.subspan(range.begin, range.size()), gradients_, histogram,
                    n_threads_);
}

RowPartitioner::Children RowPartitioner::partition(const RowRange& parent, const GradientSplit& split) {
    const auto rows = rows_.subspan(parent.begin, parent.size());
    const std::uint32_t missing_bin = mapper_.columns[static_cast<std::size_t>(split.column)].missing_bin();
    const auto [n_left, n_right] = partition_rows(rows, data_, split, missing_bin, n_threads_);
    const std::size_t right = parent.begin + n_left, third = right + n_right;
    Children children;
    children.rows = {RowRange{parent.begin, right}, RowRange{right, third}};
    children.totals = {split.left, split.right};
    children.third = {third, parent.end};
    for (const RowRange& range : children.rows) ranges.push_back(range);
    for (const GradientCell& total : children.totals) totals.push_back(total);
    return children;
}

FractionalSamples FractionalRowPartitioner::root() const {
    FractionalSamples samples;
    samples.reserve(rows_.size());
    for (const std::uint32_t row : rows_) samples.push_back({row, scale_.whole()});
    return samples;
}

FractionalCell FractionalRowPartitioner::total(const FractionalSamples& samples) const {
    FractionalCell total;
    for (const FractionalSample& sample : samples) total += scale_.cell(sample);
    return total;
}

void FractionalRowPartitioner::build(const FractionalSamples& samples, FractionalHistogram& histogram) const {
    build_histogram(data_.rows, mapper_, samples, scale_, histogram, n_threads_);
}

/// The right child gets the remainder of a sample that goes both ways, so that the fractions of a row in all
/// leaves add up to the row.
FractionalRowPartitioner::Children FractionalRowPartitioner::partition(const FractionalSamples& parent,
                                                                       const GradientSplit& split) const {
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
                children.rows[side].push_back(sample);
                children.totals[side] += scale_.cell(sample);
            }
        });
    });
    children.are_disjoint = children.rows[0].size() + children.rows[1].size() == parent.size();
    return children;
}

void FractionalRowPartitioner::keep_leaf(std::int32_t node, FractionalSamples&& samples) {
    if (!keeps_leaves_) return;
    leaves.resize(std::max(leaves.size(), static_cast<std::size_t>(node) + 1));
    leaves[static_cast<std::size_t>(node)] = std::move(samples);
}

namespace {

/// Third branches are many and small: they share the memory of their histograms.
template <class Cell>
HistogramPool<Cell>& histogram_pool() {
    static thread_local HistogramPool<Cell> pool;
    return pool;
}

}  // namespace

template <class Partitioner>
ColumnsHistogram<typename BoostedGrower<Partitioner>::Cell> BoostedGrower<Partitioner>::build_histogram_of(
    const NodeRows& rows) const {
    ColumnsHistogram<Cell> histogram = histogram_pool<Cell>().take();
    partitioner_.build(rows, histogram);
    return histogram;
}

template <class Partitioner>
void BoostedGrower<Partitioner>::grow(BinnedTree& tree, std::span<const std::int32_t> columns,
                                      int max_depth) {
    Entry root;
    root.node = static_cast<std::int32_t>(tree.size()) - 1;
    root.rows = partitioner_.root();
    root.total = partitioner_.total(root.rows);
    add_total(tree, root.node, root.total);
    tree.arrays.value[static_cast<std::size_t>(root.node)] =
        node_value(partitioner_.scale().to_float(root.total), params_, tree.bounds(root.node));
    if (may_split(tree, root, max_depth) && !columns.empty()) root.histogram = build_histogram_of(root.rows);

    ExpandQueue<Entry> queue(params_.max_leaf_nodes > 0);
    const auto push = [&](std::span<Entry> entries) {
        for (Entry& entry : entries) {
            if (entry.split) {
                queue.push(std::move(entry));
                continue;
            }
            histogram_pool<Cell>().give_back(std::move(entry.histogram));
            partitioner_.keep_leaf(entry.node, std::move(entry.rows));
        }
    };
    find_splits(tree, {&root, 1}, columns);
    push({&root, 1});
    for (std::int64_t n_leaves = 1;
         !queue.empty() && (params_.max_leaf_nodes == 0 || n_leaves < params_.max_leaf_nodes); ++n_leaves) {
        Entry entry = queue.pop();
        auto parts = partitioner_.partition(entry.rows, *entry.split);
        Children children = apply_split(tree, entry, parts);
        for (std::size_t side = 0; side < 2; ++side) children[side].rows = std::move(parts.rows[side]);
        build_histograms(tree, entry, children, parts.third, parts.are_disjoint, max_depth);
        find_splits(tree, children, columns);
        push(children);
    }
    while (!queue.empty()) {
        Entry entry = queue.pop();
        histogram_pool<Cell>().give_back(std::move(entry.histogram));
        partitioner_.keep_leaf(entry.node, std::move(entry.rows));
    }
}

template <class Partitioner>
bool BoostedGrower<Partitioner>::may_split(const BinnedTree& tree, const Entry& entry, int max_depth) const {
    return tree.arrays.depth[static_cast<std::size_t>(entry.node)] < max_depth &&
           partitioner_.has_enough_rows(entry.rows, entry.total);
}

/// Set the number of rows of a node, and the sum of their fractions.
template <class Partitioner>
void BoostedGrower<Partitioner>::add_total(BinnedTree& tree, std::int32_t node, const Cell& total) const {
    tree.arrays.rows[static_cast<std::size_t>(node)] = partitioner_.n_rows(total);
    if constexpr (Partitioner::kFractional) {
        tree.arrays.left_fraction.resize(tree.size(), 0);
        tree.arrays.weight.resize(tree.size(), 0);
        tree.arrays.weight[static_cast<std::size_t>(node)] = partitioner_.scale().memberships(total);
    }
}

/// Turn the node of an entry into a split, which has the values of its children; return these.
template <class Partitioner>
typename BoostedGrower<Partitioner>::Children BoostedGrower<Partitioner>::apply_split(
    BinnedTree& tree, const Entry& entry, const typename Partitioner::Children& parts) {
    tree.split(entry.node, *entry.split, mapper_, params_);
    Children children;
    children[0].node = tree.arrays.left[entry.node];
    children[1].node = tree.arrays.right[entry.node];
    for (std::size_t side = 0; side < 2; ++side) {
        children[side].total = parts.totals[side];
        add_total(tree, children[side].node, parts.totals[side]);
    }
    if constexpr (Partitioner::kFractional)
        tree.arrays.left_fraction[static_cast<std::size_t>(entry.node)] = entry.split->left_fraction;
    return children;
}

/// Build the histograms of the children that may split. That of the larger child is the parent's minus those
/// of the smaller child and of the rows that go third, where that is cheaper.
template <class Partitioner>
void BoostedGrower<Partitioner>::build_histograms(const BinnedTree& tree, Entry& parent, Children& children,
                                                  const NodeRows& third, bool are_disjoint,
                                                  int max_depth) const {
    const bool left_is_smaller = children[0].rows.size() <= children[1].rows.size();
    Entry& smaller = children[left_is_smaller ? 0 : 1];
    Entry& larger = children[left_is_smaller ? 1 : 0];
    const bool smaller_splits = may_split(tree, smaller, max_depth);
    const bool larger_splits = may_split(tree, larger, max_depth);
    const bool subtracts = larger_splits && are_disjoint && third.size() < larger.rows.size() &&
                           (smaller_splits || smaller.rows.size() + third.size() < larger.rows.size());
    HistogramPool<Cell>& pool = histogram_pool<Cell>();
    if (smaller_splits || subtracts) smaller.histogram = build_histogram_of(smaller.rows);
    if (subtracts) {
        larger.histogram = std::move(parent.histogram);
        subtract(larger.histogram, smaller.histogram);
        if (third.size() > 0) {
            ColumnsHistogram<Cell> third_histogram = build_histogram_of(third);
            subtract(larger.histogram, third_histogram);
            pool.give_back(std::move(third_histogram));
        }
    } else if (larger_splits) {
        pool.give_back(std::move(parent.histogram));
        larger.histogram = build_histogram_of(larger.rows);
    }
    if (!smaller_splits) pool.give_back(std::exchange(smaller.histogram, {}));
}

template <class Partitioner>
void BoostedGrower<Partitioner>::find_splits(const BinnedTree& tree, std::span<Entry> entries,
                                             std::span<const std::int32_t> columns) const {
    parallel_for(entries.size(), n_threads_, [&](std::size_t i) {
        Entry& entry = entries[i];
        if (entry.histogram.empty()) return;
        std::vector<std::int32_t> sampled;
        if (params_.max_features < 1)
            sampled = sample_columns(columns, params_.max_features,
                                     hash_seed(tree.path[static_cast<std::size_t>(entry.node)], 3));
        entry.split = best_split(entry.histogram, mapper_, params_.max_features < 1 ? sampled : columns,
                                 entry.total, tree.bounds(entry.node), partitioner_.scale(), params_);
    });
}

template class BoostedGrower<RowPartitioner>;
template class BoostedGrower<FractionalRowPartitioner>;

}  // namespace tritree
