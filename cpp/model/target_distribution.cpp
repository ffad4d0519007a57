#include "model/target_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace tritree {
namespace {

constexpr std::size_t kBins = TargetDistribution::kBins;
constexpr std::size_t kTargetsPerOutlier = 200;  // one in 200 targets may lie beyond the bins, on either side

/// Return the next larger round number; 0 if the number is too large or too small.
double round_up(double number) {
    if (!(number > 1e-290 && number < 1e290)) return 0;
    const double unit = std::pow(10.0, std::floor(std::log10(number)));
    for (const double digits : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0})
        if (digits * unit >= number) return digits * unit;
    return 10 * unit;
}

/// Sums weights by bins of the target. Bins are assigned once, because nodes overlap.
class TargetBinner {
  public:
    TargetBinner(const Target& target, std::span<const double> edges)
        : target_(target), bin_(target.y.size()) {
        const double low = edges.front() / 2;  // halves, because the range may not be finite
        const double per_unit = kBins / (edges.back() / 2 - low);
        for (std::size_t row = 0; row < bin_.size(); ++row) {
            const double at = (target.y[row] / 2 - low) * per_unit;
            // if the range is too small to divide, `at` is NaN, and all targets are in the first bin
            bin_[row] = at > 0 ? static_cast<std::uint8_t>(std::min(at, kBins - 1.0)) : 0;
        }
    }

    /// Write the bin fractions of some rows; `membership` is empty if they are all 1.
    void write(std::span<const std::uint32_t> rows, std::span<const double> membership,
               float* fractions) const {
        double weights[kBins] = {};
        if (!target_.weighted() && membership.empty()) {
            std::uint32_t counts[kBins] = {};
            for (const std::uint32_t row : rows) ++counts[bin_[row]];
            std::copy_n(counts, kBins, weights);
        } else {
            for (std::size_t i = 0; i < rows.size(); ++i)
                weights[bin_[rows[i]]] += (target_.weighted() ? target_.weight[rows[i]] : 1.0) *
                                          (membership.empty() ? 1.0 : membership[i]);
        }
        const double total = std::accumulate(weights, weights + kBins, 0.0);
        for (std::size_t b = 0; b < kBins; ++b)
            fractions[b] = total > 0 ? static_cast<float>(weights[b] / total) : 0.0f;
    }

  private:
    const Target& target_;
    std::vector<std::uint8_t> bin_;
};

/// Finds the rows of the nodes of a tree.
class RowFinder {
  public:
    explicit RowFinder(LadderGrower& grower) : grower_(grower), parent_(grower.tree.size()) {
        const Tree& tree = grower.tree;
        for (std::int32_t node = 0; node < static_cast<std::int32_t>(tree.size()); ++node)
            for (const Branch branch : {Branch::Left, Branch::Right})
                if (const std::int32_t child = tree.child(node, branch); child >= 0)
                    parent_[child] = {node, branch};
    }

    /// Return the rows of a node. Valid until the next call.
    std::span<const std::uint32_t> rows_of(std::int32_t node) {
        grower_.drop_old_rows();
        if (const std::int32_t number = grower_.positions[node].ladder; number != kNone)
            return grower_.rows_of(number);
        // a leaf at maximum depth has no ladder: its rows are partitioned from those of its parent
        const auto& [parent, branch] = parent_[node];
        const auto& [number, rank] = grower_.positions[parent];
        grower_.rows_of(number);
        const Ladder& ladder = grower_.ladders[number];
        if (ladder.own_rows.empty() && rank == 0)
            return branch == Branch::Left ? ladder.rows.first(ladder.sizes.left)
                                          : ladder.rows.subspan(ladder.sizes.left, ladder.sizes.right);
        Partition parts = partition_of(ladder.rows, true, grower_.binned(), ladder.splits[rank]);
        partitioned_ = std::move(branch == Branch::Left ? parts.left : parts.right);
        return partitioned_;
    }

  private:
    LadderGrower& grower_;
    std::vector<BranchRef> parent_;
    std::vector<std::uint32_t> partitioned_;
};

/// Return the bin fractions of the first nodes of a fractional tree: rows are partitioned again from the root
/// down.
std::vector<float> fractional_bin_fractions(const LadderGrower& grower, std::span<const double> edges,
                                            std::size_t n_nodes) {
    const TargetBinner binner(grower.target(), edges);
    const Tree& tree = grower.tree;
    std::vector<float> fractions(n_nodes * kBins);
    std::vector<FractionalRows> lists(n_nodes);
    lists[0].rows = grower.sampled_rows();
    lists[0].membership.assign(lists[0].rows.size(), 1.0);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        const FractionalRows list = std::exchange(lists[node], {});
        binner.write(list.rows, list.membership, &fractions[node * kBins]);
        for (const Branch branch : {Branch::Left, Branch::Right}) {
            const std::int32_t child = tree.is_leaf(node) ? kNone : tree.child(node, branch);
            if (child < 0 || static_cast<std::size_t>(child) >= n_nodes) continue;
            const auto& [ladder, rank] = grower.positions[node];
            lists[child] =
                fractional_rows(list, grower.binned(), grower.ladders[ladder].splits[rank], branch);
        }
    }
    return fractions;
}

}  // namespace

std::string TargetDistribution::validate(std::size_t n_nodes) const {
    if (edges.empty() && fractions.empty()) return "";
    if (edges.size() != kBins + 1 || !std::is_sorted(edges.begin(), edges.end()) ||
        !std::all_of(edges.begin(), edges.end(), [](double edge) { return std::isfinite(edge); }))
        return "bins out of order";
    if (fractions.size() % kBins != 0 || fractions.size() / kBins > n_nodes)
        return "fractions do not match the nodes";
    if (!std::all_of(fractions.begin(), fractions.end(),
                     [](float fraction) { return fraction >= 0 && fraction <= 1; }))
        return "fraction out of range";
    for (auto node = fractions.begin(); node != fractions.end(); node += kBins) {
        const float sum = std::accumulate(node, node + kBins, 0.0f);  // 0 without weight
        if (sum != 0 && std::abs(sum - 1) > 1e-3f) return "fractions do not add up to 1";
    }
    return "";
}

std::vector<double> distribution_edges(const Target& target) {
    // enough targets to estimate their range
    constexpr std::size_t kMaxSampled = 10'000;
    const std::size_t n = target.y.size(), stride = n / kMaxSampled + 1;
    std::vector<double> y;
    for (std::size_t row = 0; row < n; row += stride)
        if (!target.weighted() || target.weight[row] > 0) y.push_back(target.y[row]);
    if (y.empty()) y = target.y;
    const auto n_outliers = static_cast<std::ptrdiff_t>(y.size() / kTargetsPerOutlier);
    std::nth_element(y.begin(), y.begin() + n_outliers, y.end());
    double low = y[n_outliers];
    std::nth_element(y.begin(), y.end() - 1 - n_outliers, y.end());
    double high = *(y.end() - 1 - n_outliers);
    if (low == high) {
        const auto [min, max] = std::minmax_element(target.y.begin(), target.y.end());
        low = *min, high = *max;
    }
    const double rounding =
        64 * std::numeric_limits<double>::epsilon() * std::max(std::abs(low), std::abs(high));
    if (!(low / 2 + rounding < high / 2)) {  // a single value, up to rounding: put it into the middle
        const double room = std::max(std::abs(low) / 4, 0.5);
        low -= low > -1e300 ? room : 0, high += high < 1e300 ? room : 0;
    }
    // round edges are easier to read and do not reveal targets
    if (const double step = round_up((high - low) / (kBins - 2)); step > 0) {
        low = std::floor(low / step) * step;
        high = low + kBins * step;
    }
    std::vector<double> edges(kBins + 1);
    for (std::size_t b = 0; b <= kBins; ++b) {
        const double position = static_cast<double>(b) / kBins;
        edges[b] = low * (1 - position) + high * position;
        if (b > 0) edges[b] = std::max(edges[b], edges[b - 1]);
    }
    return edges;
}

std::vector<float> bin_fractions(LadderGrower& grower, std::span<const double> edges,
                                 std::span<const std::int32_t> nodes) {
    const TargetBinner binner(grower.target(), edges);
    RowFinder finder(grower);
    std::vector<float> fractions(nodes.size() * kBins);
    for (std::size_t n = 0; n < nodes.size(); ++n)
        binner.write(finder.rows_of(nodes[n]), {}, &fractions[n * kBins]);
    return fractions;
}

TargetDistribution first_nodes_distribution(LadderGrower& grower) {
    if (grower.params().n_classes > 0) return {};
    const auto n_nodes =
        std::min(static_cast<std::size_t>(grower.tree.n_fitted), TargetDistribution::kMaxNodes);
    TargetDistribution distribution{distribution_edges(grower.target()), {}};
    if (grower.params().missing == Strategy::Fractional) {
        distribution.fractions = fractional_bin_fractions(grower, distribution.edges, n_nodes);
    } else {
        std::vector<std::int32_t> nodes(n_nodes);
        std::iota(nodes.begin(), nodes.end(), 0);
        distribution.fractions = bin_fractions(grower, distribution.edges, nodes);
    }
    return distribution;
}

}  // namespace tritree
