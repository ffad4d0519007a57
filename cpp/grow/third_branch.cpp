#include "grow/third_branch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/parallel.hpp"

namespace tritree {
namespace {

/// Smallest gain of a split, as a fraction of the sum of squares of the predictions of the fitted tree:
/// splits that matter less are most of all.
constexpr double kMinGain = 0.002;

constexpr std::size_t kMaxCachedRows = std::size_t{1} << 23;  // of branches; dropped ones are recomputed
constexpr std::size_t kBlock = 512;                           // rows of a block stay in the L1 cache
constexpr std::size_t kRowsPerTask = 16 * kBlock;

/// Traverse the rows at some positions until each is at a leaf or at a branch that has not been grown. Keep
/// the positions of the latter, and call `take(node)` for each of them.
template <class F>
void traverse_open(const BinnedTree& tree, const BinnedRows& binned, std::span<const std::uint32_t> rows,
                   std::int32_t* at, std::vector<std::uint32_t>& open, F&& take) {
    std::array<std::uint32_t, kBlock> row;
    std::array<std::int32_t, kBlock> node;
    std::size_t n_open = 0;
    for (std::size_t begin = 0; begin < open.size(); begin += kBlock) {
        const std::size_t n = std::min(kBlock, open.size() - begin);
        for (std::size_t i = 0; i < n; ++i) {
            row[i] = rows[open[begin + i]];
            node[i] = at[open[begin + i]];
        }
        tree.traverse(binned, std::span(row).first(n), node.data());
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t position = open[begin + i];
            at[position] = node[i];
            open[n_open] = position;
            if (tree.is_leaf(node[i])) continue;
            ++n_open;
            take(node[i]);
        }
    }
    open.resize(n_open);
}

}  // namespace

TraversingRows::TraversingRows(const BinnedRows& binned, std::span<const std::uint32_t> rows,
                               std::int32_t* at)
    : binned_(binned), rows_(rows), at_(at), open_((rows.size() + kRowsPerTask - 1) / kRowsPerTask) {
    for (std::size_t task = 0; task < open_.size(); ++task) {
        const std::size_t begin = task * kRowsPerTask;
        open_[task].resize(std::min(kRowsPerTask, rows.size() - begin));
        std::iota(open_[task].begin(), open_[task].end(), static_cast<std::uint32_t>(begin));
    }
}

std::vector<std::int32_t> TraversingRows::advance(const BinnedTree& tree, int n_threads) {
    std::vector<std::atomic<bool>> needed(tree.size());
    parallel_for(open_.size(), n_threads, [&](std::size_t task) {
        traverse_open(tree, binned_, rows_, at_, open_[task], [&](std::int32_t node) {
            std::atomic<bool>& mark = needed[static_cast<std::size_t>(node)];
            if (!mark.load(std::memory_order_relaxed)) mark.store(true, std::memory_order_relaxed);
        });
    });
    std::vector<std::int32_t> nodes;
    for (std::size_t node = 0; node < needed.size(); ++node)
        if (needed[node]) nodes.push_back(static_cast<std::int32_t>(node));
    return nodes;
}

ThirdBranchGrower::ThirdBranchGrower(BinnedTree& tree, const BackgroundRows& background,
                                     const BinMapper& mapper, const GrowthParameters& params, int n_threads,
                                     std::span<const double> previous)
    : tree_(tree),
      background_(background),
      mapper_(mapper),
      params_(params.for_third_branches()),
      n_threads_(n_threads),
      previous_(previous),
      min_gain_(params_.split_penalty > 0 ? kMinGain * sum_of_squares() : 0) {}

void ThirdBranchGrower::traverse(const BinnedRows& binned, std::span<const std::uint32_t> rows,
                                 std::int32_t* at) {
    TraversingRows traversing(binned, rows, at);
    for (;;) {
        const std::vector<std::int32_t> nodes = traversing.advance(tree_, n_threads_);
        if (nodes.empty() || is_full()) return;
        grow_branches(nodes);
    }
}

void ThirdBranchGrower::grow_branches(const std::vector<std::int32_t>& nodes) {
    std::vector<Growth> growths;
    std::vector<std::uint8_t> is_growing(tree_.size(), 0);
    std::size_t n_started = 0;
    const auto add = [&](const std::vector<std::int32_t>& wanted) {
        is_growing.resize(tree_.size(), 0);
        if (n_cached_rows_ > kMaxCachedRows) {
            rows_of_branch_.clear();
            n_cached_rows_ = 0;
        }
        for (const std::int32_t node : wanted) {
            std::uint8_t& flag = is_growing[static_cast<std::size_t>(node)];
            if (flag != 0 || !tree_.needs_third(node)) continue;
            flag = 1;
            find_rows(root_of(node));
            growths.emplace_back().node = node;
        }
    };
    add(nodes);
    while (!growths.empty() && !is_full()) {
        std::vector<std::vector<std::int32_t>> needs(growths.size());
        parallel_for(growths.size(), n_threads_, [&](std::size_t i) {
            if (i >= n_started) start(growths[i]);
            needs[i] = advance(growths[i]);
            if (needs[i].empty()) fit(growths[i]);
        });
        std::vector<Growth> ready, waiting;
        for (std::size_t i = 0; i < growths.size(); ++i)
            (needs[i].empty() ? ready : waiting).push_back(std::move(growths[i]));
        std::sort(ready.begin(), ready.end(),
                  [](const Growth& a, const Growth& b) { return a.node < b.node; });
        std::vector<std::int32_t> grown;
        for (Growth& growth : ready) {
            if (is_full()) break;
            append(growth);
            grown.push_back(growth.fitted.root);
        }
        if (!previous_.empty())
            parallel_for(grown.size(), n_threads_,
                         [&](std::size_t i) { estimate_variance(rows_of_branch_.at(grown[i])); });
        growths = std::move(waiting);
        n_started = growths.size();
        std::vector<std::int32_t> wanted;
        for (const auto& nodes_of_one : needs)
            wanted.insert(wanted.end(), nodes_of_one.begin(), nodes_of_one.end());
        add(wanted);
    }
}

/// Find the rows of a growth: at first, all of them are at its node.
void ThirdBranchGrower::start(Growth& growth) const {
    find_observed_rows(growth.node, growth.fitted);
    const std::vector<std::uint32_t>& rows = growth.fitted.rows;
    growth.at.assign(rows.size(), growth.node);
    growth.open.resize(rows.size());
    std::iota(growth.open.begin(), growth.open.end(), 0u);
}

/// Traverse the rows of a growth; return the nodes whose third branches they need first, in ascending order.
std::vector<std::int32_t> ThirdBranchGrower::advance(Growth& growth) const {
    std::vector<std::int32_t> needed;
    traverse_open(tree_, background_.rows, growth.fitted.rows, growth.at.data(), growth.open,
                  [&](std::int32_t node) { needed.push_back(node); });
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    return needed;
}

/// Put the rows of a node of the fitted tree into the order of the leaves below it, which that of
/// floating-point sums follows: [ left | right | those that go third ] at each node.
void ThirdBranchGrower::sort_by_leaf(Growth& growth) const {
    const auto n_nodes = static_cast<std::size_t>(tree_.arrays.n_fitted);
    std::vector<std::size_t> size(n_nodes, 1),
        rank(n_nodes, n_nodes - 1);  // rank: the number of nodes before it
    const auto children = [&](std::size_t node) {
        return std::array{static_cast<std::size_t>(tree_.arrays.left[node]),
                          static_cast<std::size_t>(tree_.arrays.right[node])};
    };
    for (std::size_t node = n_nodes; node-- > 0;)
        if (!tree_.arrays.is_leaf(node))
            for (const std::size_t child : children(node)) size[node] += size[child];
    for (std::size_t node = 0; node < n_nodes; ++node) {
        if (tree_.arrays.is_leaf(node)) continue;
        const auto [left, right] = children(node);
        rank[right] = rank[node] - 1;
        rank[left] = rank[right] - size[right];
    }
    const std::size_t n = growth.at.size();
    std::vector<std::size_t> rank_of(n), end(n_nodes + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
        std::int32_t node = growth.at[i];  // or, in a third branch, the node above it
        while (node >= tree_.arrays.n_fitted) node = tree_.parent[static_cast<std::size_t>(node)];
        rank_of[i] = rank[static_cast<std::size_t>(node)];
        ++end[rank_of[i] + 1];
    }
    std::partial_sum(end.begin(), end.end(), end.begin());
    std::vector<std::uint32_t> rows(n);
    std::vector<std::int32_t> at(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t to = end[rank_of[i]]++;
        rows[to] = growth.fitted.rows[i];
        at[to] = growth.at[i];
    }
    growth.fitted.rows = std::move(rows);
    growth.at = std::move(at);
}

/// Fit a branch to the predictions of left and right, by squared error.
void ThirdBranchGrower::fit(Growth& growth) const {
    if (growth.node < tree_.arrays.n_fitted) sort_by_leaf(growth);
    BranchRows& fitted = growth.fitted;
    BinnedTree& branch = growth.branch;
    branch = BinnedTree::third_of(tree_, growth.node, params_);
    const std::size_t n = fitted.rows.size();
    fitted.ranges.assign(1, {0, n});
    if (n == 0) return;  // the root keeps the value of its parent
    const std::vector<double>& values = tree_.arrays.value;
    const auto target = [&](std::size_t i) { return values[static_cast<std::size_t>(growth.at[i])]; };
    const auto weight = [&](std::size_t i) { return background_.weight[fitted.rows[i]]; };
    const bool weighted = !background_.weight.empty();
    std::vector<double> gradients(n), hessians;
    double total = 0, weights = 0;
    for (std::size_t i = 0; i < n; ++i) {
        total += weighted ? weight(i) * target(i) : target(i);
        weights += weighted ? weight(i) : 1;
    }
    const double center = weights > 0 ? total / weights : 0;
    for (std::size_t i = 0; i < n; ++i) gradients[i] = (center - target(i)) * (weighted ? weight(i) : 1);
    if (weighted)
        for (std::size_t i = 0; i < n; ++i) hessians.push_back(weight(i));
    const TablePart all = TablePart::whole(n);
    Gradients pairs;
    pairs.fill(gradients, hessians, all, 1);
    const auto shift_bounds = [&](double by) {
        for (auto* bounds : {&branch.arrays.low, &branch.arrays.high})
            for (double& bound : *bounds) bound += by;
    };
    shift_bounds(-center);
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    GrowthParameters params = params_;
    params.min_gain = min_gain_ / fitted.n_rows_per_row;
    const BinMapper& mapper = background_.coarse.mapper;
    const BinnedRows local = background_.gather_coarse(fitted.rows);
    RowPartitioner samples({local}, mapper, pairs, order, 1);
    BoostedGrower<RowPartitioner>(samples, all, mapper, params, 1)
        .grow(branch, usable_columns(growth.node), params.max_depth + params.third_depth_extra);
    to_fine_bins(branch);
    for (double& value : branch.arrays.value) value += center;
    shift_bounds(center);
    branch.average_inner_nodes(0);
    for (std::uint32_t& row : order) row = fitted.rows[row];
    fitted.rows = std::move(order);
    fitted.ranges = std::move(samples.ranges);
}

/// Convert splits by coarse bins to splits by bins.
void ThirdBranchGrower::to_fine_bins(BinnedTree& branch) const {
    for (std::size_t node = 0; node < branch.size(); ++node) {
        PackedNode& packed = branch.nodes[node];
        if (branch.arrays.is_leaf(node)) continue;
        packed.missing_bin = static_cast<std::uint16_t>(mapper_.columns[packed.column].missing_bin());
        if (packed.categorical) continue;
        packed.first_right_bin = background_.coarse.first_fine_bin[packed.column][packed.first_right_bin];
        branch.arrays.first_right_bin[node] = packed.first_right_bin;
    }
    branch.set_thresholds(0, mapper_);
}

void ThirdBranchGrower::append(Growth& growth) {
    BranchRows& fitted = growth.fitted;
    fitted.root = tree_.append_third(growth.node, growth.branch);
    n_cached_rows_ += fitted.rows.size();
    const std::int32_t root = fitted.root;
    rows_of_branch_.insert_or_assign(root, std::move(fitted));
    growth.fitted.root = root;
}

/// Estimate the variance of the prediction that is left in each node of a third branch. The variance of a sum
/// over trees is the sum over trees t of Cov(t, t + 2 * (sum of the trees before t)): each tree contributes
/// one term, estimated on rows whose values are observed.
void ThirdBranchGrower::estimate_variance(const BranchRows& fitted) {
    const std::size_t n = fitted.rows.size();
    std::vector<std::int32_t> at(n, 0);
    tree_.traverse(background_.rows, fitted.rows, at.data());  // needs no branch that has not been grown
    std::vector<double> own(n), both(n), weight(n, 1);
    for (std::size_t i = 0; i < n; ++i) {
        own[i] = tree_.arrays.value[static_cast<std::size_t>(at[i])];
        both[i] = own[i] + 2 * previous_[fitted.rows[i]];
        if (!background_.weight.empty()) weight[i] = background_.weight[fitted.rows[i]];
    }
    for (std::size_t node = 0; node < fitted.ranges.size(); ++node) {
        const RowRange range = fitted.ranges[node];
        double weights = 0, own_sum = 0, both_sum = 0, product = 0;
        for (std::size_t i = range.begin; i < range.end; ++i) {
            weights += weight[i];
            own_sum += weight[i] * own[i];
            both_sum += weight[i] * both[i];
        }
        if (range.size() < 2 || !(weights > 0)) continue;
        for (std::size_t i = range.begin; i < range.end; ++i)
            product += weight[i] * (own[i] - own_sum / weights) * (both[i] - both_sum / weights);
        const auto m = static_cast<double>(range.size());
        tree_.arrays.variance[static_cast<std::size_t>(fitted.root) + node] =
            product / weights * (m / (m - 1));
    }
}

/// Find the background rows that the third branch of a node is fitted to: those of the node that go left or
/// right (a category that fit has not sampled goes to neither side).
void ThirdBranchGrower::find_observed_rows(std::int32_t node, BranchRows& branch) const {
    const std::int32_t root = root_of(node);
    if (root == 0) {
        auto found = background_.rows_observed_at(tree_, node, static_cast<std::size_t>(params_.third_rows));
        branch.rows = std::move(found.rows);
        branch.n_rows_per_row = found.n_rows_per_row;
        return;
    }
    const BranchRows& above = rows_of_branch_.at(root);
    const PackedNode& packed = tree_.nodes[static_cast<std::size_t>(node)];
    const RowRange range = above.ranges[static_cast<std::size_t>(node - root)];
    branch.n_rows_per_row = above.n_rows_per_row;
    branch.rows.reserve(range.size());
    for (std::size_t i = range.begin; i < range.end; ++i) {
        const std::int32_t to = tree_.next(node, background_.rows.at(above.rows[i], packed.column));
        if (to == packed.next[0] || to == packed.next[1]) branch.rows.push_back(above.rows[i]);
    }
}

/// Return the sum of squared deviations of the predictions of the fitted tree from their mean, for as many
/// training rows as there are background rows.
double ThirdBranchGrower::sum_of_squares() const {
    const Tree& tree = tree_.arrays;
    double n = 0, sum = 0, squares = 0;
    for (std::int32_t node = 0; node < tree.n_fitted; ++node) {
        const auto i = static_cast<std::size_t>(node);
        if (!tree.is_leaf(i)) continue;
        n += static_cast<double>(tree.rows[i]);
        sum += static_cast<double>(tree.rows[i]) * tree.value[i];
    }
    if (n == 0) return 0;
    for (std::int32_t node = 0; node < tree.n_fitted; ++node) {
        const auto i = static_cast<std::size_t>(node);
        const double deviation = tree.value[i] - sum / n;
        if (tree.is_leaf(i)) squares += static_cast<double>(tree.rows[i]) * deviation * deviation;
    }
    return squares / n * static_cast<double>(background_.rows.n_rows());
}

/// Make sure that the rows of a third branch are in the cache.
void ThirdBranchGrower::find_rows(std::int32_t root) {
    // up to one that is cached; branches may be nested as deeply as there are columns: no recursion
    std::vector<std::int32_t> missing;
    for (; root != 0 && !rows_of_branch_.contains(root);
         root = root_of(tree_.parent[static_cast<std::size_t>(root)]))
        missing.push_back(root);
    for (; !missing.empty(); missing.pop_back()) {
        BranchRows branch = restore_rows(missing.back());
        n_cached_rows_ += branch.rows.size();
        rows_of_branch_.insert_or_assign(missing.back(), std::move(branch));
    }
}

/// Recompute the rows of a third branch, given that those of the branch above it are cached.
ThirdBranchGrower::BranchRows ThirdBranchGrower::restore_rows(std::int32_t root) const {
    Growth growth;
    growth.node = tree_.parent[static_cast<std::size_t>(root)];
    start(growth);
    if (growth.node < tree_.arrays.n_fitted) {
        advance(growth);  // the branches that this needs have been grown
        sort_by_leaf(growth);
    }
    BranchRows branch = std::move(growth.fitted);
    branch.root = root;
    const std::int32_t end = end_of(root);
    branch.ranges.assign(static_cast<std::size_t>(end - root), {});
    branch.ranges[0] = {0, branch.rows.size()};
    std::array<std::vector<std::uint32_t>, 3> parts;
    for (std::int32_t node = root; node < end; ++node) {
        if (tree_.is_leaf(node)) continue;
        const PackedNode& packed = tree_.nodes[static_cast<std::size_t>(node)];
        const RowRange range = branch.ranges[static_cast<std::size_t>(node - root)];
        for (auto& part : parts) part.clear();
        for (std::size_t i = range.begin; i < range.end; ++i) {
            const std::int32_t to = tree_.next(node, background_.rows.at(branch.rows[i], packed.column));
            parts[to == packed.next[0] ? 0 : to == packed.next[1] ? 1 : 2].push_back(branch.rows[i]);
        }
        std::size_t at = range.begin;
        for (int side = 0; side < 3; ++side) {
            if (side < 2)
                branch.ranges[static_cast<std::size_t>(packed.next[side] - root)] = {at,
                                                                                     at + parts[side].size()};
            at = static_cast<std::size_t>(
                std::copy(parts[side].begin(), parts[side].end(), branch.rows.begin() + at) -
                branch.rows.begin());
        }
    }
    return branch;
}

/// Return the root of the binary subtree that a node is in: the fitted tree, or a third branch.
std::int32_t ThirdBranchGrower::root_of(std::int32_t node) const {
    for (;;) {
        const std::int32_t parent = tree_.parent[static_cast<std::size_t>(node)];
        if (parent < 0) return node;
        const PackedNode& packed = tree_.nodes[static_cast<std::size_t>(parent)];
        if (packed.next[0] != node && packed.next[1] != node) return node;
        node = parent;
    }
}

/// Return the end of the consecutive nodes of a third branch.
std::int32_t ThirdBranchGrower::end_of(std::int32_t root) const {
    auto node = static_cast<std::size_t>(root) + 1;
    for (; node < tree_.size(); ++node) {
        const std::int32_t parent = tree_.parent[node];
        const PackedNode& packed = tree_.nodes[static_cast<std::size_t>(parent)];
        const auto number = static_cast<std::int32_t>(node);
        if (parent < root || (packed.next[0] != number && packed.next[1] != number)) break;
    }
    return static_cast<std::int32_t>(node);
}

/// Return the columns that the third branch of a node may use: not those by whose missing values it is
/// reached.
std::vector<std::int32_t> ThirdBranchGrower::usable_columns(std::int32_t node) const {
    std::vector<bool> used(mapper_.n_columns());
    for (; node >= 0; node = tree_.parent[static_cast<std::size_t>(root_of(node))])
        used[tree_.nodes[static_cast<std::size_t>(node)].column] = true;
    std::vector<std::int32_t> columns;
    columns.reserve(used.size());
    for (std::size_t j = 0; j < used.size(); ++j)
        if (!used[j]) columns.push_back(static_cast<std::int32_t>(j));
    return columns;
}

}  // namespace tritree
