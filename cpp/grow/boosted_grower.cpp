#include "grow/boosted_grower.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace tritree {

RowRange RowPartitioner::root() {
    ranges.assign(1, {0, rows_.size()});
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
    return children;
}

void RowPartitioner::keep_leaf(std::int32_t node, RowRange&&, const GradientCell& total) {
    leaf_totals.resize(ranges.size());
    leaf_totals[static_cast<std::size_t>(node)] = total;
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
    return children;
}

void FractionalRowPartitioner::keep_leaf(std::int32_t node, FractionalSamples&& samples,
                                         const FractionalCell&) {
    if (!keeps_leaves_) return;
    leaves.resize(std::max(leaves.size(), static_cast<std::size_t>(node) + 1));
    leaves[static_cast<std::size_t>(node)] = std::move(samples);
}

namespace {

/// Replace cells by their sums over the parts of a table.
template <class Cell>
void sum_cells(const TablePart& part, std::span<Cell* const> cells, std::size_t n_cells) {
    constexpr std::size_t kNumbers = sizeof(Cell) / sizeof(std::int64_t);
    static_assert(std::is_trivially_copyable_v<Cell> && sizeof(Cell) == kNumbers * sizeof(std::int64_t));
    std::vector<std::int64_t> numbers(cells.size() * n_cells * kNumbers);
    for (std::size_t i = 0; i < cells.size(); ++i)
        std::memcpy(&numbers[i * n_cells * kNumbers], cells[i], n_cells * sizeof(Cell));
    part.sum(numbers);
    for (std::size_t i = 0; i < cells.size(); ++i)
        std::memcpy(static_cast<void*>(cells[i]), &numbers[i * n_cells * kNumbers], n_cells * sizeof(Cell));
}

/// Third branches are many and small: they share the memory of their histograms.
template <class Cell>
HistogramPool<Cell>& histogram_pool() {
    static thread_local HistogramPool<Cell> pool;
    return pool;
}

}  // namespace

template <class Partitioner>
void BoostedGrower<Partitioner>::grow(BinnedTree& tree, std::span<const std::int32_t> columns,
                                      int max_depth) {
    ExpandQueue<Entry> queue(params_.max_leaf_nodes > 0);
    const auto push = [&](Entry& entry) {
        if (entry.split)
            queue.push(std::move(entry));
        else
            keep_leaf(entry);
    };
    Entry root;
    start(tree, root, columns.empty() ? 0 : max_depth);
    find_splits(tree, std::array{&root}, columns);
    push(root);
    const std::size_t n_at_once = max_expansions();
    std::int64_t n_leaves = 1;
    while (!queue.empty() && (params_.max_leaf_nodes == 0 || n_leaves < params_.max_leaf_nodes)) {
        std::vector<Entry> parents;
        while (!queue.empty() && parents.size() < n_at_once) parents.push_back(queue.pop());
        std::vector<Expansion> expansions = expand(tree, std::move(parents));
        build_histograms(tree, expansions, max_depth);
        std::vector<Entry*> children;
        for (Expansion& expansion : expansions)
            for (Entry& child : expansion.children) children.push_back(&child);
        find_splits(tree, children, columns);
        for (Entry* child : children) push(*child);
        n_leaves += static_cast<std::int64_t>(expansions.size());
    }
    while (!queue.empty()) {
        Entry entry = queue.pop();
        keep_leaf(entry);
    }
}

/// Keep a node as a leaf.
template <class Partitioner>
void BoostedGrower<Partitioner>::keep_leaf(Entry& entry) {
    histogram_pool<Cell>().give_back(std::move(entry.histogram));
    partitioner_.keep_leaf(entry.node, std::move(entry.rows), entry.total);
}

/// Return how many nodes are split at once. The order of nodes does not depend on it. Parts of a table
/// exchange the histograms of as many as fit into some memory; in one place, few histograms stay in the
/// cache.
template <class Partitioner>
std::size_t BoostedGrower<Partitioner>::max_expansions() const {
    constexpr std::size_t kMaxBytes = std::size_t{1} << 26;
    if (part_.is_whole() || params_.max_leaf_nodes > 0) return 1;
    return std::max<std::size_t>(kMaxBytes / (3 * mapper_.n_cells() * sizeof(Cell)), 1);
}

/// Set the root to the newest node of a tree.
template <class Partitioner>
void BoostedGrower<Partitioner>::start(BinnedTree& tree, Entry& root, int max_depth) {
    root.node = static_cast<std::int32_t>(tree.size()) - 1;
    root.rows = partitioner_.root();
    root.total = partitioner_.total(root.rows);
    if (!part_.is_whole()) sum_cells<Cell>(part_, std::array{&root.total}, 1);
    add_total(tree, root.node, root.total);
    tree.arrays.value[static_cast<std::size_t>(root.node)] =
        node_value(partitioner_.scale().to_float(root.total), params_, tree.bounds(root.node));
    if (may_split(tree, root, max_depth)) build(std::array{HistogramRequest{&root.rows, &root.histogram}});
}

/// Split nodes.
template <class Partitioner>
std::vector<typename BoostedGrower<Partitioner>::Expansion> BoostedGrower<Partitioner>::expand(
    BinnedTree& tree, std::vector<Entry> parents) {
    std::vector<Expansion> expansions(parents.size());
    std::vector<Cell*> totals;
    for (std::size_t i = 0; i < parents.size(); ++i) {
        Expansion& expansion = expansions[i];
        expansion.parent = std::move(parents[i]);
        typename Partitioner::Children parts =
            partitioner_.partition(expansion.parent.rows, *expansion.parent.split);
        expansion.third = std::move(parts.third);
        for (std::size_t side = 0; side < 2; ++side) {
            Entry& child = expansion.children[side];
            child.rows = std::move(parts.rows[side]);
            child.total = parts.totals[side];
            totals.push_back(&child.total);
        }
    }
    if (Partitioner::kFractional && !part_.is_whole()) sum_cells<Cell>(part_, totals, 1);
    for (auto& [parent, children, third, third_histogram, smaller, subtracts] : expansions) {
        tree.split(parent.node, *parent.split, mapper_, params_);
        children[0].node = tree.arrays.left[parent.node];
        children[1].node = tree.arrays.right[parent.node];
        for (const Entry& child : children) add_total(tree, child.node, child.total);
        if constexpr (Partitioner::kFractional)
            tree.arrays.left_fraction[static_cast<std::size_t>(parent.node)] = parent.split->left_fraction;
    }
    return expansions;
}

/// Build the histograms of the children that may split.
template <class Partitioner>
void BoostedGrower<Partitioner>::build_histograms(const BinnedTree& tree, std::vector<Expansion>& expansions,
                                                  int max_depth) const {
    std::vector<HistogramRequest> requests;
    for (Expansion& expansion : expansions) request_histograms(tree, expansion, max_depth, requests);
    build(requests);
    for (Expansion& expansion : expansions) {
        subtract_histograms(expansion);
        if (Entry& smaller = expansion.children[static_cast<std::size_t>(expansion.smaller)];
            !may_split(tree, smaller, max_depth))
            histogram_pool<Cell>().give_back(std::exchange(smaller.histogram, {}));
    }
}

/// Request the histograms of children. That of the larger child is the parent's minus those of the smaller
/// child and of the rows that go third, where that is cheaper.
template <class Partitioner>
void BoostedGrower<Partitioner>::request_histograms(const BinnedTree& tree, Expansion& expansion,
                                                    int max_depth,
                                                    std::vector<HistogramRequest>& requests) const {
    auto& [parent, children, third, third_histogram, number_of_smaller, subtracts] = expansion;
    const auto n_rows = [&](const Entry& entry) { return partitioner_.n_rows(entry.total); };
    number_of_smaller = n_rows(children[0]) <= n_rows(children[1]) ? 0 : 1;
    Entry& smaller = children[static_cast<std::size_t>(number_of_smaller)];
    Entry& larger = children[static_cast<std::size_t>(1 - number_of_smaller)];
    const bool smaller_splits = may_split(tree, smaller, max_depth);
    const bool larger_splits = may_split(tree, larger, max_depth);
    // negative if rows are in both children
    const std::int64_t n_third = n_rows(parent) - n_rows(smaller) - n_rows(larger);
    subtracts = larger_splits && n_third >= 0 && n_third < n_rows(larger) &&
                (smaller_splits || n_rows(smaller) + n_third < n_rows(larger));
    if (smaller_splits || subtracts) requests.push_back({&smaller.rows, &smaller.histogram});
    if (subtracts && n_third > 0) requests.push_back({&third, &third_histogram});
    if (subtracts || !larger_splits) return;
    histogram_pool<Cell>().give_back(std::exchange(parent.histogram, {}));
    requests.push_back({&larger.rows, &larger.histogram});
}

template <class Partitioner>
void BoostedGrower<Partitioner>::subtract_histograms(Expansion& expansion) const {
    if (!expansion.subtracts) return;
    const auto smaller = static_cast<std::size_t>(expansion.smaller);
    Histogram& larger = expansion.children[1 - smaller].histogram;
    larger = std::move(expansion.parent.histogram);
    subtract(larger, expansion.children[smaller].histogram);
    if (expansion.third_histogram.empty()) return;
    subtract(larger, expansion.third_histogram);
    histogram_pool<Cell>().give_back(std::move(expansion.third_histogram));
}

template <class Partitioner>
void BoostedGrower<Partitioner>::build(std::span<const HistogramRequest> requests) const {
    std::vector<Cell*> cells;
    for (const auto& [rows, histogram] : requests) {
        *histogram = histogram_pool<Cell>().take();
        partitioner_.build(*rows, *histogram);
        cells.push_back(histogram->data());
    }
    if (!part_.is_whole() && !cells.empty()) sum_cells<Cell>(part_, cells, requests[0].histogram->size());
}

template <class Partitioner>
bool BoostedGrower<Partitioner>::may_split(const BinnedTree& tree, const Entry& entry, int max_depth) const {
    return tree.arrays.depth[static_cast<std::size_t>(entry.node)] < max_depth &&
           partitioner_.n_samples(entry.total) >= 2 * static_cast<double>(params_.min_samples_leaf);
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

template <class Partitioner>
void BoostedGrower<Partitioner>::find_splits(const BinnedTree& tree, std::span<Entry* const> entries,
                                             std::span<const std::int32_t> columns) const {
    parallel_for(entries.size(), n_threads_, [&](std::size_t i) {
        Entry& entry = *entries[i];
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
