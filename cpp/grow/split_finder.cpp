#include "grow/split_finder.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace tritree {
namespace {

constexpr std::size_t kBatch = 4;  // columns that are accumulated in one pass
// Maximum size of a histogram buffer that a thread reuses, in integers: enough for a column with kMaxBins
// bins.
constexpr std::size_t kMaxReused = std::size_t{1} << 18;

bool is_searched(const ExpandEntry* entry) { return entry != nullptr && !entry->is_leaf; }

bool is_searched(const ExpandEntry* entry, std::int32_t column) {
    return is_searched(entry) && (!entry->ladder.first_split_only ||
                                  std::binary_search(entry->columns.begin(), entry->columns.end(), column));
}

void clear_buffer(Histogram& histogram) {
    if (histogram.capacity() > kMaxReused)
        histogram = Histogram();
    else
        histogram.clear();
}

}  // namespace

NodeSamples BufferPool::acquire() {
    const std::lock_guard lock(mutex_);
    if (buffers_.empty()) return {};
    NodeSamples buffers = std::move(buffers_.back());
    buffers_.pop_back();
    return buffers;
}

void BufferPool::release(NodeSamples buffers) {
    buffers.rows = {};
    buffers.membership = {};
    const bool is_small = std::max(buffers.sum.capacity(), buffers.label.capacity()) <= kMaxRows;
    const std::lock_guard lock(mutex_);
    if (is_small && buffers_.size() < kMaxBuffers) buffers_.push_back(std::move(buffers));
}

void BufferPool::clear() {
    const std::lock_guard lock(mutex_);
    buffers_.clear();
}

/// One column of a pair, while its splits are searched.
struct SplitFinder::ColumnTask {
    std::int32_t number = 0;
    const BinnedColumn* column = nullptr;
    bool subtracts = false;  // the larger child is the parent minus the others
    Histogram smaller_histogram, larger_histogram, rest_histogram;
};

bool SplitFinder::is_leaf(const NodeStats& stats, std::int32_t depth) const {
    return depth >= params_.max_depth || stats.pure ||
           stats.memberships <= static_cast<double>(params_.min_samples_leaf) + kMembershipTolerance;
}

std::vector<std::int32_t> SplitFinder::usable_columns(const std::vector<std::int32_t>& used_columns) const {
    std::vector<std::int32_t> columns;
    columns.reserve(binned_.columns.size());
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(binned_.columns.size()); ++j)
        if (std::find(used_columns.begin(), used_columns.end(), j) == used_columns.end())
            columns.push_back(j);
    return columns;
}

std::size_t SplitFinder::max_cached_size(std::size_t n_rows) const {
    std::size_t n_integers = 0;
    for (const BinnedColumn& column : binned_.columns)
        if (const std::size_t size = histogram_size(column, stats_builder_.layout());
            keeps_histogram(size, n_rows))
            n_integers += size;
    return n_integers;
}

void SplitFinder::find_splits(std::vector<ExpandEntry>& entries, std::vector<SiblingPair>& pairs,
                              int n_threads) const {
    const std::size_t n_columns = binned_.columns.size();
    std::size_t n_rows = 0;
    for (const ExpandEntry& entry : entries) n_rows += entry.ladder.rows.size();
    n_threads = threads_for(n_rows * n_columns, n_threads);
    // Many pairs: one thread per pair, whose rows stay in the cache. Few pairs: threads share their columns.
    if (n_threads == 1 || pairs.size() >= 4 * static_cast<std::size_t>(n_threads))
        return parallel_for(pairs.size(), n_threads, [&](std::size_t i) { find_pair_splits(pairs[i]); });
    for (SiblingPair& pair : pairs)
        if (pair.larger != nullptr) pair.larger->is_derived = derives_larger(pair);
    parallel_for(entries.size(), n_threads, [&](std::size_t i) { prepare_entry(entries[i], false); });
    parallel_for(pairs.size(), n_threads, [&](std::size_t i) { prepare_pair(pairs[i], false); });

    struct Task {
        SiblingPair* pair;
        std::span<const std::int32_t> columns;
    };
    std::vector<Task> tasks;
    const bool many_tasks = pairs.size() * n_columns >= 16 * static_cast<std::size_t>(n_threads);
    const std::size_t batch = many_tasks ? kBatch : 2;
    for (SiblingPair& pair : pairs) {
        const std::span<const std::int32_t> columns = pair.columns;
        for (std::size_t begin = 0; begin < columns.size(); begin += batch)
            tasks.push_back({&pair, columns.subspan(begin, std::min(batch, columns.size() - begin))});
    }
    parallel_for(tasks.size(), n_threads,
                 [&](std::size_t t) { find_column_splits(*tasks[t].pair, tasks[t].columns); });
    parallel_for(entries.size(), n_threads, [&](std::size_t i) { finish(entries[i]); });
    for (SiblingPair& pair : pairs) finish_pair(pair);
}

void SplitFinder::find_pair_splits(SiblingPair& pair) const {
    if (pair.larger != nullptr) pair.larger->is_derived = derives_larger(pair);
    for (ExpandEntry* entry : pair.children())
        if (entry != nullptr) prepare_entry(*entry, true);
    prepare_pair(pair, true);
    const std::span<const std::int32_t> columns = pair.columns;
    for (std::size_t begin = 0; begin < columns.size(); begin += kBatch)
        find_column_splits(pair, columns.subspan(begin, std::min(kBatch, columns.size() - begin)));
    for (ExpandEntry* entry : pair.children())
        if (entry != nullptr) finish(*entry);
    finish_pair(pair);
}

/// Free the memory of a pair here, where several threads do.
void SplitFinder::finish_pair(SiblingPair& pair) const {
    if (pair.rest.size() > 0) {
        buffers_.release(std::move(pair.rest));
        pair.rest = NodeSamples();
    }
    pair.rest_rows = std::vector<std::uint32_t>();
    pair.columns = std::vector<std::int32_t>();
}

/// Return whether the larger child of a pair need not be read: the search needs its histograms, all of which
/// come from subtraction, but no samples. Reading takes as long as accumulating three columns, which is a
/// third of the time in a table of five.
bool SplitFinder::derives_larger(const SiblingPair& pair) const {
    if (pair.parent_histograms == nullptr || stats_builder_.weighted() || params_.max_features < 1 ||
        params_.missing == Strategy::Surrogate)
        return false;
    const auto& used_columns = pair.larger->ladder.used_columns;
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(binned_.columns.size()); ++j)
        if (!subtraction_pays(pair, j, pair.rest.rows.size()) &&
            std::find(used_columns.begin(), used_columns.end(), j) == used_columns.end())
            return false;
    return true;
}

/// Compute the statistics and samples of an entry, unless they are derived, and prepare its search: of one
/// column after the other, or by several threads.
void SplitFinder::prepare_entry(ExpandEntry& entry, bool column_by_column) const {
    if (entry.is_derived) return;
    entry.data = buffers_.acquire();
    if (params_.missing == Strategy::Fractional) entry.data.membership = entry.fractional.membership;
    entry.data.rows = entry.ladder.rows;
    entry.stats = stats_builder_.read(entry.data, entry.parent_scale);
    prepare_search(entry, column_by_column);
}

/// Find the columns of an entry to be searched, given its statistics.
void SplitFinder::prepare_search(ExpandEntry& entry, bool column_by_column) const {
    entry.ladder.scale = entry.data.scale;
    entry.is_leaf = is_leaf(entry.stats, entry.depth);
    if (!entry.is_leaf) {
        entry.columns = usable_columns(entry.ladder.used_columns);
        entry.ladder.first_split_only = params_.keep_best_split_only;
        if (params_.max_features < 1)
            entry.columns =
                sample_columns(entry.columns, params_.max_features, hash_seed(entry.ladder.path, 0));
    }
    entry.best_per_column.resize(
        entry.is_leaf || (column_by_column && entry.ladder.first_split_only) ? 0 : binned_.columns.size());
    if (!entry.keeps_histograms || entry.is_leaf) return;
    entry.histograms.columns.resize(binned_.columns.size());
    entry.histograms.total = entry.stats.total;
}

/// Find the columns of a pair to be searched, and whether histograms can be subtracted.
void SplitFinder::prepare_pair(SiblingPair& pair, bool column_by_column) const {
    pair.can_subtract = pair.parent_histograms != nullptr;
    const auto has_scale_of_parent = [](const ExpandEntry* entry) {
        return entry == nullptr || entry->is_derived || entry->data.scale == *entry->parent_scale;
    };
    pair.can_subtract =
        pair.can_subtract && has_scale_of_parent(pair.smaller) && has_scale_of_parent(pair.larger);
    if (pair.larger != nullptr && pair.larger->is_derived) {
        derive_larger(pair, column_by_column);
        pair.can_subtract = pair.can_subtract && has_scale_of_parent(pair.larger);
    }
    for (const ExpandEntry* entry : pair.children()) {
        if (!is_searched(entry) || entry->columns == pair.columns) continue;
        if (pair.columns.empty()) {
            pair.columns = entry->columns;
            continue;
        }
        std::vector<std::int32_t> merged;
        merged.reserve(pair.columns.size() + entry->columns.size());
        std::set_union(pair.columns.begin(), pair.columns.end(), entry->columns.begin(), entry->columns.end(),
                       std::back_inserter(merged));
        pair.columns = std::move(merged);
    }
    pair.can_subtract = pair.can_subtract && is_searched(pair.larger);
    if (!pair.can_subtract) pair.rest.rows = {};
    if (!is_searched(pair.larger)) return;
    if (!pair.larger->is_derived) {
        if (!pair.rest.rows.empty()) read_rest(pair);
    } else if (!std::ranges::all_of(pair.larger->columns, [&](auto j) { return subtracts(pair, j); })) {
        stats_builder_.read_in_scale(pair.larger->data);
    }
}

/// Compute the statistics of the larger child from those of the parent, the smaller child and the rest. If
/// these are not in the same scale, or not precise enough, read its rows.
void SplitFinder::derive_larger(SiblingPair& pair, bool column_by_column) const {
    ExpandEntry& larger = *pair.larger;
    std::optional<NodeStats> stats;
    CellSums total = pair.parent_histograms->total;
    if (pair.can_subtract) {
        if (pair.smaller != nullptr) subtract(total, pair.smaller->stats.total);
        if (!pair.rest.rows.empty()) subtract(total, read_rest(pair));
        stats = stats_builder_.stats_of_cell(total, *larger.parent_scale);
    }
    larger.is_derived = stats.has_value();
    if (!stats) return prepare_entry(larger, column_by_column);
    larger.stats = *std::move(stats);
    larger.stats.total = std::move(total);
    larger.data.rows = larger.ladder.rows;
    larger.data.scale = *larger.parent_scale;
    prepare_search(larger, column_by_column);
}

/// Read the samples of the rows that are in neither child, in the scale of the parent; return their cell.
CellSums SplitFinder::read_rest(SiblingPair& pair) const {
    const std::span<const std::uint32_t> rows = pair.rest.rows;
    pair.rest = buffers_.acquire();
    pair.rest.rows = rows;
    pair.rest.scale = *pair.larger->parent_scale;
    return stats_builder_.read_in_scale(pair.rest);
}

/// Compare the cost of subtracting (accumulating more rows, a pass over the cells) with that of accumulating
/// the larger child.
bool SplitFinder::subtraction_pays(const SiblingPair& pair, std::int32_t column,
                                   std::size_t extra_rows) const {
    return !pair.parent_histograms->columns[column].empty() &&
           extra_rows + histogram_size(binned_.columns[column], stats_builder_.layout()) / 4 <
               pair.larger->ladder.rows.size();
}

/// Return whether the histogram of the larger child on a column is that of the parent minus the others.
bool SplitFinder::subtracts(const SiblingPair& pair, std::int32_t column) const {
    if (!pair.can_subtract || !is_searched(pair.larger, column)) return false;
    const bool has_smaller = pair.smaller == nullptr || is_searched(pair.smaller);
    return subtraction_pays(pair, column, pair.rest.size() + (has_smaller ? 0 : pair.smaller->data.size()));
}

/// Find the best splits of a pair on a few columns.
void SplitFinder::find_column_splits(SiblingPair& pair, std::span<const std::int32_t> columns) const {
    thread_local std::array<ColumnTask, kBatch> buffers;
    const std::span<ColumnTask> tasks = std::span(buffers).first(columns.size());
    for (std::size_t k = 0; k < columns.size(); ++k) {
        tasks[k].number = columns[k];
        tasks[k].column = &binned_.columns[columns[k]];
        for (Histogram* histogram :
             {&tasks[k].smaller_histogram, &tasks[k].larger_histogram, &tasks[k].rest_histogram})
            clear_buffer(*histogram);
    }
    build_column_histograms(pair, tasks);
    for (ColumnTask& task : tasks) {
        if (task.subtracts) {
            task.larger_histogram = pair.parent_histograms->columns[task.number];
            if (!task.smaller_histogram.empty()) subtract(task.larger_histogram, task.smaller_histogram);
            if (!task.rest_histogram.empty()) subtract(task.larger_histogram, task.rest_histogram);
        }
        if (is_searched(pair.smaller, task.number))
            find_best_split(*pair.smaller, task, task.smaller_histogram);
        if (is_searched(pair.larger, task.number)) find_best_split(*pair.larger, task, task.larger_histogram);
    }
}

/// Build the histograms that the search or a subtraction needs.
void SplitFinder::build_column_histograms(SiblingPair& pair, std::span<ColumnTask> tasks) const {
    const CellLayout& layout = stats_builder_.layout();
    const ExpandEntry *smaller = pair.smaller, *larger = pair.larger;
    std::array<ColumnHistogram, kBatch> smaller_histogram, larger_histogram, rest_histogram;
    std::size_t n_smaller = 0, n_larger = 0, n_rest = 0;
    for (ColumnTask& task : tasks) {
        auto pays = [&](const ExpandEntry* entry) {
            return is_searched(entry, task.number) &&
                   histogram_pays(entry->data.size(), task.column->n_bins, layout);
        };
        task.subtracts = subtracts(pair, task.number);
        if (pays(smaller) || (task.subtracts && smaller != nullptr))
            smaller_histogram[n_smaller++] = {task.column, &task.smaller_histogram};
        if (!task.subtracts && pays(larger))
            larger_histogram[n_larger++] = {task.column, &task.larger_histogram};
        if (task.subtracts && pair.rest.size() > 0)
            rest_histogram[n_rest++] = {task.column, &task.rest_histogram};
    }
    if (n_smaller > 0) build_histograms({smaller_histogram.data(), n_smaller}, smaller->data, layout);
    if (n_larger > 0) build_histograms({larger_histogram.data(), n_larger}, larger->data, layout);
    if (n_rest > 0) build_histograms({rest_histogram.data(), n_rest}, pair.rest, layout);
}

/// Find the best split of an entry on one column, from its histogram, or from its rows if that is empty.
void SplitFinder::find_best_split(ExpandEntry& entry, const ColumnTask& task,
                                  const Histogram& histogram) const {
    thread_local CellReader cells;
    const CellLayout& layout = stats_builder_.layout();
    if (histogram.empty())
        cells.from_rows(*task.column, entry.data, layout);
    else
        cells.from_histogram(histogram, task.column->n_bins, layout);
    auto split = best_split(params_, *task.column, task.number, cells, entry.data, layout, entry.stats);
    if (!entry.best_per_column.empty())
        entry.best_per_column[task.number] = std::move(split);
    else if (split)
        keep_if_best(entry.splits, std::move(*split), entry.stats.scaled_loss);
    cells.trim(kMaxReused);
    if (entry.keeps_histograms && keeps_histogram(histogram.size(), entry.data.size()))
        entry.histograms.columns[task.number] = histogram;
}

/// Keep a split that may be the best, and drop those that cannot be any more: `splits` are ties then.
void SplitFinder::keep_if_best(std::vector<SplitInfo>& splits, SplitInfo split, double node_loss) {
    const double negligible = kNegligible * node_loss;
    double best_gain = 0;
    for (const SplitInfo& other : splits) best_gain = std::max(best_gain, other.gain);
    if (!splits.empty() && split.gain < best_gain - negligible) return;
    if (split.gain > best_gain + negligible) splits.clear();
    splits.push_back(std::move(split));
}

/// Sort the splits into a ladder; of a ladder grown by fit, partition the rows by the first.
void SplitFinder::finish(ExpandEntry& entry) const {
    auto& splits = entry.splits;
    if (params_.has_third() && !entry.ladder.first_split_only) splits.reserve(entry.best_per_column.size());
    for (auto& split : entry.best_per_column)
        if (split) splits.push_back(std::move(*split));
    entry.best_per_column = std::vector<std::optional<SplitInfo>>();  // freed here, by several threads
    entry.columns = std::vector<std::int32_t>();
    sort_ladder(splits, params_, entry.stats.scaled_loss);
    if ((!params_.has_third() || entry.ladder.first_split_only) && splits.size() > 1) splits.resize(1);
    splits.shrink_to_fit();
    if (splits.empty() && !entry.is_leaf && params_.max_features < 1)
        sample_more_columns(splits, entry.data, entry.stats, entry.ladder.path, entry.ladder.used_columns);
    if (!splits.empty()) entry.surrogates = surrogates_of(splits[0], entry.data, entry.ladder.path);
    buffers_.release(std::move(entry.data));  // before partitioning allocates memory
    const bool grown_by_fit = entry.ladder.own_rows.empty();
    if (splits.empty() || !grown_by_fit || params_.missing == Strategy::Fractional) return;
    entry.ladder.sizes = partition(entry.ladder.rows, splits[0], entry.surrogates);
}

PartitionSizes SplitFinder::partition(std::span<std::uint32_t> rows, SplitInfo& split,
                                      const std::vector<Surrogate>& surrogates) const {
    const PartitionSizes sizes = partition_rows(rows, binned_, split, surrogates);
    // in prediction, rows that surrogates placed in training count, too
    if (params_.missing == Strategy::Surrogate)
        split.larger_side = larger_side(static_cast<std::int64_t>(sizes.left),
                                        static_cast<std::int64_t>(sizes.right), Branch::None);
    return sizes;
}

/// If no sampled column splits a node, sample more until one does, as scikit-learn does.
void SplitFinder::sample_more_columns(std::vector<SplitInfo>& splits, const NodeSamples& data,
                                      const NodeStats& stats, std::uint64_t path,
                                      const std::vector<std::int32_t>& used_columns) const {
    std::vector<std::int32_t> columns = usable_columns(used_columns);
    partial_shuffle(columns, columns.size(), hash_seed(path, 0));
    for (std::size_t i = n_sampled_columns(columns.size(), params_.max_features);
         i < columns.size() && splits.empty(); ++i)
        if (auto split = best_split_on(columns[i], data, stats)) splits.push_back(std::move(*split));
}

std::vector<SplitInfo> SplitFinder::first_split(const NodeSamples& data, const NodeStats& stats,
                                                std::int32_t depth, std::uint64_t path) const {
    std::vector<SplitInfo> splits;
    if (is_leaf(stats, depth)) return splits;
    thread_local std::vector<std::int32_t> columns;
    columns.resize(binned_.columns.size());
    std::iota(columns.begin(), columns.end(), 0);
    for (const std::int32_t number :
         sample_columns_in_place(columns, params_.max_features, hash_seed(path, 0))) {
        if (auto split = best_split_on(number, data, stats))
            keep_if_best(splits, std::move(*split), stats.scaled_loss);
        // two rows can be split in one way only: splits on later columns would be ties
        if (!splits.empty() && data.size() == 2) break;
    }
    sort_ladder(splits, params_, stats.scaled_loss);
    if (splits.size() > 1) splits.resize(1);
    if (splits.empty() && params_.max_features < 1) sample_more_columns(splits, data, stats, path, {});
    splits.shrink_to_fit();
    return splits;
}

/// Return the best split of a node on one column.
std::optional<SplitInfo> SplitFinder::best_split_on(std::int32_t number, const NodeSamples& data,
                                                    const NodeStats& stats) const {
    thread_local CellReader cells;
    thread_local Histogram histogram;
    const CellLayout& layout = stats_builder_.layout();
    const BinnedColumn& column = binned_.columns[number];
    if (histogram_pays(data.size(), column.n_bins, layout)) {
        clear_buffer(histogram);
        const ColumnHistogram task{&column, &histogram};
        build_histograms({&task, 1}, data, layout);
        cells.from_histogram(histogram, column.n_bins, layout);
    } else {
        cells.from_rows(column, data, layout);
    }
    auto split = best_split(params_, column, number, cells, data, layout, stats);
    cells.trim(kMaxReused);
    return split;
}

std::vector<SplitInfo> SplitFinder::remaining_splits(const Ladder& ladder,
                                                     const FixedPointScale* parent_scale) const {
    NodeSamples data = buffers_.acquire();
    data.rows = ladder.rows;
    const NodeStats stats = stats_builder_.read(data, parent_scale);
    std::vector<SplitInfo> splits;
    for (const std::int32_t number : usable_columns(ladder.used_columns)) {
        if (number == ladder.splits[0].column) continue;
        if (auto split = best_split_on(number, data, stats)) splits.push_back(std::move(*split));
    }
    buffers_.release(std::move(data));
    sort_ladder(splits, params_, stats.scaled_loss);
    return splits;
}

std::vector<Histograms> SplitFinder::build_histograms_of(std::span<const Ladder* const> ladders,
                                                         int n_threads) const {
    const CellLayout& layout = stats_builder_.layout();
    std::vector<Histograms> histograms(ladders.size());
    std::vector<NodeSamples> data(ladders.size());
    parallel_for(ladders.size(), n_threads, [&](std::size_t i) {
        data[i].rows = ladders[i]->rows;
        data[i].scale = ladders[i]->scale;
        histograms[i].total = stats_builder_.read_in_scale(data[i]);
        histograms[i].columns.resize(binned_.columns.size());
    });
    struct Task {
        std::size_t ladder;
        std::vector<ColumnHistogram> columns;
    };
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < ladders.size(); ++i) {
        bool open = false;  // whether the last task has room for more columns
        for (const std::int32_t j : usable_columns(ladders[i]->used_columns)) {
            const BinnedColumn& column = binned_.columns[j];
            if (!keeps_histogram(histogram_size(column, layout), data[i].size())) continue;
            if (!open) tasks.push_back({i, {}});
            tasks.back().columns.push_back({&column, &histograms[i].columns[j]});
            open = tasks.back().columns.size() < kBatch;
        }
    }
    parallel_for(tasks.size(), n_threads,
                 [&](std::size_t t) { build_histograms(tasks[t].columns, data[tasks[t].ladder], layout); });
    return histograms;
}

}  // namespace tritree
