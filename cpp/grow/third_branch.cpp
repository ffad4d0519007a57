#include "grow/third_branch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/random.hpp"

namespace tritree {
namespace {

constexpr std::size_t kMaxCachedRows = std::size_t{1} << 23;  // of subtrees; dropped ones are recomputed

}  // namespace

CoarseBins::CoarseBins(const BinMapper& fine) {
    std::vector<ColumnBins> columns;
    for (const ColumnBins& column : fine.columns) {
        const std::uint32_t n = column.n_bins;
        const std::uint32_t n_coarse = column.categorical ? n : std::min(n, kMaxBins);
        std::vector<std::uint16_t> coarse(n + 1), first(n_coarse + 1, static_cast<std::uint16_t>(n));
        for (std::uint32_t bin = n; bin-- > 0;) {
            coarse[bin] = static_cast<std::uint16_t>(std::uint64_t{bin} * n_coarse / n);
            first[coarse[bin]] = static_cast<std::uint16_t>(bin);
        }
        coarse[n] = static_cast<std::uint16_t>(n_coarse);
        columns.push_back({column.categorical, n_coarse, {}, {}});
        coarse_bin.push_back(std::move(coarse));
        first_fine_bin.push_back(std::move(first));
    }
    mapper = BinMapper(std::move(columns));
}

BackgroundRows::BackgroundRows(BinnedRows rows_, std::vector<double> weight_, const BinMapper& mapper)
    : rows(std::move(rows_)),
      weight(std::move(weight_)),
      coarse(mapper),
      coarse_rows(rows.n_rows(), coarse.mapper) {
    const std::size_t n_columns = rows.n_columns();
    coarse_rows.visit([&](auto* into) {
        rows.visit([&](const auto* from) {
            for (std::size_t i = 0; i < rows.n_rows() * n_columns; ++i)
                into[i] = static_cast<std::remove_reference_t<decltype(*into)>>(
                    coarse.coarse_bin[i % n_columns][from[i]]);
        });
    });
}

ThirdBranchGrower::ThirdBranchGrower(BinnedTree& tree, const BackgroundRows& background,
                                     const BinMapper& mapper, const GrowthParameters& params,
                                     std::span<const double> previous)
    : tree_(tree),
      background_(background),
      mapper_(mapper),
      params_(params.for_third_branches()),
      previous_(previous) {}

void ThirdBranchGrower::traverse(const BinnedRows& binned, std::span<const std::uint32_t> rows,
                                 std::int32_t* at) {
    std::vector<std::uint32_t> pending(rows.begin(), rows.end());
    std::vector<std::int32_t> nodes(at, at + rows.size());
    std::vector<std::size_t> position(rows.size());
    std::iota(position.begin(), position.end(), std::size_t{0});
    for (;;) {
        tree_.traverse(binned, pending, nodes.data());
        std::size_t n_pending = 0;
        for (std::size_t i = 0; i < pending.size(); ++i) {
            at[position[i]] = nodes[i];
            if (tree_.is_leaf(nodes[i])) continue;
            pending[n_pending] = pending[i];
            nodes[n_pending] = nodes[i];
            position[n_pending++] = position[i];
        }
        pending.resize(n_pending);
        nodes.resize(n_pending);
        position.resize(n_pending);
        if (n_pending == 0 || is_full()) return;
        grow_branches(nodes);
    }
}

void ThirdBranchGrower::grow_branches(std::vector<std::int32_t> nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (const std::int32_t node : nodes)
        if (tree_.needs_third(node) && !is_full()) grow(node);
}

void ThirdBranchGrower::grow(std::int32_t node) {
    Subtree third;
    third.rows = sample(node, subtree_of(node));
    const std::vector<double> target = predictions_below(node, third.rows);
    third.root = tree_.add_leaf(tree_.arrays.value[static_cast<std::size_t>(node)], tree_.bounds(node), node,
                                Branch::Third, params_);
    fit(third, target);
    tree_.set_third(node, third.root);
    n_cached_rows_ += third.rows.size();
    subtrees_.insert_or_assign(third.root, std::move(third));
}

/// Return the rows that a third branch is fitted to: those of the node that go left or right (a category that
/// fit has not sampled goes to neither side). If there are too many, every k-th of them in the order of the
/// nodes below, with an offset that depends on the path.
std::vector<std::uint32_t> ThirdBranchGrower::sample(std::int32_t node, const Subtree& subtree) const {
    const PackedNode& packed = tree_.nodes[static_cast<std::size_t>(node)];
    const RowRange range = subtree.ranges[static_cast<std::size_t>(node - subtree.root)];
    std::vector<std::uint32_t> rows;
    rows.reserve(range.size());
    background_.rows.visit([&](const auto* bins) {
        for (std::size_t i = range.begin; i < range.end; ++i) {
            const auto bin = bins[subtree.rows[i] * background_.rows.n_columns() + packed.column];
            const std::int32_t to = tree_.next(node, bin);
            if (to == packed.next[0] || to == packed.next[1]) rows.push_back(subtree.rows[i]);
        }
    });
    const auto max_rows = static_cast<std::size_t>(params_.third_rows), n = rows.size();
    if (n <= max_rows) return rows;
    const std::size_t offset = tree_.path[static_cast<std::size_t>(node)] % n;
    for (std::size_t i = 0; i < max_rows; ++i) rows[i] = rows[(i * n + offset) / max_rows];
    rows.resize(max_rows);
    return rows;
}

/// Return the predictions of the left and right branch of a node for rows whose value is observed.
std::vector<double> ThirdBranchGrower::predictions_below(std::int32_t node,
                                                         const std::vector<std::uint32_t>& rows) {
    std::vector<std::int32_t> at(rows.size());
    const std::size_t column = tree_.nodes[static_cast<std::size_t>(node)].column;
    for (std::size_t i = 0; i < rows.size(); ++i)
        at[i] = tree_.next(node, background_.rows.at(rows[i], column));
    traverse(background_.rows, rows, at.data());  // other values of these rows may be missing
    std::vector<double> predictions(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
        predictions[i] = tree_.arrays.value[static_cast<std::size_t>(at[i])];
    return predictions;
}

/// Return the coarse bins of some background rows: consecutive rows stay in the cache.
BinnedRows ThirdBranchGrower::gather_coarse_rows(const std::vector<std::uint32_t>& rows) const {
    const std::size_t n_columns = background_.rows.n_columns();
    BinnedRows gathered(rows.size(), background_.coarse.mapper);
    gathered.visit([&](auto* into) {
        background_.coarse_rows.visit([&](const auto* from) {
            for (std::size_t i = 0; i < rows.size(); ++i)
                std::copy_n(from + rows[i] * n_columns, n_columns, into + i * n_columns);
        });
    });
    return gathered;
}

/// Grow a third branch below its root, the newest node, by squared error.
void ThirdBranchGrower::fit(Subtree& subtree, const std::vector<double>& target) {
    const std::size_t n = subtree.rows.size();
    subtree.ranges.assign(1, {0, n});
    if (n == 0) return;  // the root keeps the value of its parent
    const BinMapper& mapper = background_.coarse.mapper;
    const BinnedRows local = gather_coarse_rows(subtree.rows);
    std::vector<double> gradients(n), hessians;
    if (!background_.weight.empty()) hessians.resize(n);
    double total = 0, weights = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double weight = hessians.empty() ? 1 : background_.weight[subtree.rows[i]];
        if (!hessians.empty()) hessians[i] = weight;
        total += weight * target[i];
        weights += weight;
    }
    const double center = weights > 0 ? total / weights : 0;
    for (std::size_t i = 0; i < n; ++i)
        gradients[i] = (center - target[i]) * (hessians.empty() ? 1 : hessians[i]);
    Gradients pairs;
    pairs.fill(gradients, hessians, n, 1);
    const auto root = static_cast<std::size_t>(subtree.root);
    const auto shift_bounds = [&](std::size_t node, double by) {
        if (tree_.arrays.low.empty()) return;
        tree_.arrays.low[node] += by;
        tree_.arrays.high[node] += by;
    };
    shift_bounds(root, -center);
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    RowPartitioner samples({local}, mapper, pairs, params_, order, 1);
    BoostedGrower<RowPartitioner>(samples, mapper, params_, 1)
        .grow(tree_, usable_columns(subtree.root), params_.max_depth + params_.third_depth_extra);
    to_fine_bins(subtree.root);
    for (std::size_t i = 0; i < samples.ranges.size(); ++i) {
        tree_.arrays.value[root + i] += center;
        shift_bounds(root + i, center);
    }
    tree_.average_inner_nodes(subtree.root);
    std::vector<std::uint32_t> rows(n);
    for (std::size_t i = 0; i < n; ++i) rows[i] = subtree.rows[order[i]];
    subtree.rows = std::move(rows);
    subtree.ranges = std::move(samples.ranges);
    if (!previous_.empty()) estimate_variance(subtree);
}

/// Estimate the variance of the prediction that is left in each node of a third branch. The variance of a sum
/// over trees is the sum over trees t of Cov(t, t + 2 * (sum of the trees before t)): each tree contributes
/// one term, estimated on rows whose values are observed.
void ThirdBranchGrower::estimate_variance(const Subtree& subtree) {
    const std::size_t n = subtree.rows.size();
    std::vector<std::int32_t> at(n, 0);
    tree_.traverse(background_.rows, subtree.rows, at.data());  // needs no branch that fit has not grown
    std::vector<double> own(n), both(n), weight(n, 1);
    for (std::size_t i = 0; i < n; ++i) {
        own[i] = tree_.arrays.value[static_cast<std::size_t>(at[i])];
        both[i] = own[i] + 2 * previous_[subtree.rows[i]];
        if (!background_.weight.empty()) weight[i] = background_.weight[subtree.rows[i]];
    }
    for (std::size_t node = 0; node < subtree.ranges.size(); ++node) {
        const RowRange range = subtree.ranges[node];
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
        tree_.arrays.variance[static_cast<std::size_t>(subtree.root) + node] =
            product / weights * (m / (m - 1));
    }
}

/// Convert splits by coarse bins to splits by bins.
void ThirdBranchGrower::to_fine_bins(std::int32_t first) {
    for (auto node = static_cast<std::size_t>(first); node < tree_.size(); ++node) {
        PackedNode& packed = tree_.nodes[node];
        if (tree_.arrays.is_leaf(node)) continue;
        packed.missing_bin = static_cast<std::uint16_t>(mapper_.columns[packed.column].missing_bin());
        if (packed.categorical) continue;
        packed.first_right_bin = background_.coarse.first_fine_bin[packed.column][packed.first_right_bin];
        tree_.arrays.first_right_bin[node] = packed.first_right_bin;
    }
    tree_.set_thresholds(first, mapper_);
}

/// Return the root of the binary subtree that a node is in.
std::int32_t ThirdBranchGrower::root_of(std::int32_t node) const {
    for (;;) {
        const std::int32_t parent = tree_.parent[static_cast<std::size_t>(node)];
        if (parent < 0) return node;
        const PackedNode& packed = tree_.nodes[static_cast<std::size_t>(parent)];
        if (packed.next[0] != node && packed.next[1] != node) return node;
        node = parent;
    }
}

/// Return the end of the consecutive nodes of a binary subtree.
std::int32_t ThirdBranchGrower::end_of(std::int32_t root) const {
    if (root == 0) return tree_.arrays.n_fitted;
    auto node = static_cast<std::size_t>(root) + 1;
    for (; node < tree_.size(); ++node) {
        const std::int32_t parent = tree_.parent[node];
        const PackedNode& packed = tree_.nodes[static_cast<std::size_t>(parent)];
        const auto number = static_cast<std::int32_t>(node);
        if (parent < root || (packed.next[0] != number && packed.next[1] != number)) break;
    }
    return static_cast<std::int32_t>(node);
}

/// Return the columns that a subtree may use: not those whose third branch it is in.
std::vector<std::int32_t> ThirdBranchGrower::usable_columns(std::int32_t root) const {
    std::vector<bool> used(mapper_.n_columns());
    for (; root != 0; root = root_of(tree_.parent[static_cast<std::size_t>(root)])) {
        const std::int32_t parent = tree_.parent[static_cast<std::size_t>(root)];
        used[tree_.nodes[static_cast<std::size_t>(parent)].column] = true;
    }
    std::vector<std::int32_t> columns;
    for (std::size_t j = 0; j < used.size(); ++j)
        if (!used[j]) columns.push_back(static_cast<std::int32_t>(j));
    return columns;
}

const ThirdBranchGrower::Subtree& ThirdBranchGrower::subtree_of(std::int32_t node) {
    const std::int32_t root = root_of(node);
    if (const auto cached = subtrees_.find(root); cached != subtrees_.end()) return cached->second;
    if (n_cached_rows_ > kMaxCachedRows) {
        subtrees_.clear();
        n_cached_rows_ = 0;
    }
    // up to one that is cached; subtrees may be nested as deeply as there are columns, so there is no
    // recursion
    std::vector<std::int32_t> to_restore{root};
    while (to_restore.back() != 0) {
        const std::int32_t parent_root = root_of(tree_.parent[static_cast<std::size_t>(to_restore.back())]);
        if (subtrees_.contains(parent_root)) break;
        to_restore.push_back(parent_root);
    }
    for (; !to_restore.empty(); to_restore.pop_back()) {
        Subtree subtree = restore_subtree(to_restore.back());
        n_cached_rows_ += subtree.rows.size();
        subtrees_.insert_or_assign(to_restore.back(), std::move(subtree));
    }
    return subtrees_.at(root);
}

/// Recompute the rows of a subtree, given that the subtree above it is cached.
ThirdBranchGrower::Subtree ThirdBranchGrower::restore_subtree(std::int32_t root) const {
    Subtree subtree;
    subtree.root = root;
    if (root == 0) {
        subtree.rows.resize(background_.rows.n_rows());
        std::iota(subtree.rows.begin(), subtree.rows.end(), 0u);
    } else {
        const std::int32_t parent = tree_.parent[static_cast<std::size_t>(root)];
        subtree.rows = sample(parent, subtrees_.at(root_of(parent)));
    }
    partition_subtree(subtree);
    return subtree;
}

/// Put the rows of a subtree into the order of its nodes, as they were when it was grown.
void ThirdBranchGrower::partition_subtree(Subtree& subtree) const {
    const std::int32_t end = end_of(subtree.root);
    subtree.ranges.assign(static_cast<std::size_t>(end - subtree.root), {});
    subtree.ranges[0] = {0, subtree.rows.size()};
    std::array<std::vector<std::uint32_t>, 3> parts;
    for (std::int32_t node = subtree.root; node < end; ++node) {
        if (tree_.is_leaf(node)) continue;
        const PackedNode& packed = tree_.nodes[static_cast<std::size_t>(node)];
        const RowRange range = subtree.ranges[static_cast<std::size_t>(node - subtree.root)];
        for (auto& part : parts) part.clear();
        for (std::size_t i = range.begin; i < range.end; ++i) {
            const std::int32_t to = tree_.next(node, background_.rows.at(subtree.rows[i], packed.column));
            parts[to == packed.next[0] ? 0 : to == packed.next[1] ? 1 : 2].push_back(subtree.rows[i]);
        }
        std::size_t at = range.begin;
        for (int side = 0; side < 3; ++side) {
            if (side < 2)
                subtree.ranges[static_cast<std::size_t>(packed.next[side] - subtree.root)] = {
                    at, at + parts[side].size()};
            at = static_cast<std::size_t>(
                std::copy(parts[side].begin(), parts[side].end(), subtree.rows.begin() + at) -
                subtree.rows.begin());
        }
    }
}

}  // namespace tritree
