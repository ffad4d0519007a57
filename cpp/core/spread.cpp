#include "spread.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tritree {
namespace {

constexpr std::size_t kBins = Spread::kBins;
constexpr std::size_t kOutermost = 200;  // one response in so many may lie beyond the bins, on either side

/// Return the next larger number of a few digits; 0 where there is none, because it is out of all proportion.
double round_up(double number) {
    if (!(number > 1e-290 && number < 1e290)) return 0;
    const double unit = std::pow(10.0, std::floor(std::log10(number)));
    for (const double digits : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0})
        if (digits * unit >= number) return digits * unit;
    return 10 * unit;
}

/// Adds responses up in bins. Which bin each of them is in is found once, because nodes overlap.
class Binning {
  public:
    Binning(const Target& target, std::span<const double> edges) : target_(target), bin_(target.y.size()) {
        const double low = edges.front() / 2;  // halves, because the range may not be finite
        const double per_unit = kBins / (edges.back() / 2 - low);
        for (std::size_t row = 0; row < bin_.size(); ++row) {
            const double at = (target.y[row] / 2 - low) * per_unit;
            // written so that a range too small to be told, where `at` may not be a number, is one bin
            bin_[row] = at > 0 ? static_cast<std::uint8_t>(std::min(at, kBins - 1.0)) : 0;
        }
    }

    /// Write the shares of some rows; `membership` is empty where every row is whole.
    void write(std::span<const std::uint32_t> rows, std::span<const double> membership, float* shares) const {
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
            shares[b] = total > 0 ? static_cast<float>(weights[b] / total) : 0.0f;
    }

  private:
    const Target& target_;
    std::vector<std::uint8_t> bin_;
};

/// The rows of the nodes of a tree.
class RowFinder {
  public:
    explicit RowFinder(Grower& grower) : grower_(grower), parent_(grower.tree.size()) {
        const Tree& tree = grower.tree;
        for (std::int32_t node = 0; node < static_cast<std::int32_t>(tree.size()); ++node)
            for (const Branch side : {Branch::Left, Branch::Right})
                if (const std::int32_t child = tree.child(node, side); child >= 0)
                    parent_[child] = {node, side};
    }

    /// Return the rows of a node. Valid until the next call.
    std::span<const std::uint32_t> rows_of(std::int32_t node) {
        grower_.drop_old_rows();
        if (const std::int32_t number = grower_.places[node].base; number != kNone)
            return grower_.rows_of(number);
        // a daughter as deep as may be has no base: its rows are a part of those above it
        const auto& [above, side] = parent_[node];
        const auto& [number, rung] = grower_.places[above];
        grower_.rows_of(number);
        const Base& base = grower_.bases[number];
        if (base.kept.empty() && rung == 0)
            return side == Branch::Left ? base.rows.first(base.parts.left)
                                        : base.rows.subspan(base.parts.left, base.parts.right);
        RowParts parts = parts_of(base.rows, true, grower_.codes(), base.ladder[rung]);
        found_ = std::move(side == Branch::Left ? parts.left : parts.right);
        return found_;
    }

  private:
    Grower& grower_;
    std::vector<Wanted> parent_;
    std::vector<std::uint32_t> found_;
};

/// Return the shares of the first nodes of a fractional tree: rows are parted again from the root down.
std::vector<float> shares_of_fractional(const Grower& grower, std::span<const double> edges,
                                        std::size_t n_nodes) {
    const Binning binning(grower.target(), edges);
    const Tree& tree = grower.tree;
    std::vector<float> shares(n_nodes * kBins);
    std::vector<RowList> lists(n_nodes);
    lists[0].rows = grower.target().counted_rows();
    lists[0].membership.assign(lists[0].rows.size(), 1.0);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        const RowList list = std::exchange(lists[node], {});
        binning.write(list.rows, list.membership, &shares[node * kBins]);
        for (const Branch side : {Branch::Left, Branch::Right}) {
            const std::int32_t child = tree.is_leaf(node) ? kNone : tree.child(node, side);
            if (child < 0 || static_cast<std::size_t>(child) >= n_nodes) continue;
            const auto& [base, rung] = grower.places[node];
            lists[child] = rows_shared(list, grower.codes(), grower.bases[base].ladder[rung], side);
        }
    }
    return shares;
}

}  // namespace

std::string Spread::validate(std::size_t n_nodes) const {
    if (edges.empty() && shares.empty()) return "";
    if (edges.size() != kBins + 1 || !std::is_sorted(edges.begin(), edges.end()) ||
        !std::all_of(edges.begin(), edges.end(), [](double edge) { return std::isfinite(edge); }))
        return "bins out of order";
    if (shares.size() % kBins != 0 || shares.size() / kBins > n_nodes)
        return "shares of bins do not fit the nodes";
    if (!std::all_of(shares.begin(), shares.end(), [](float share) { return share >= 0 && share <= 1; }))
        return "a share out of range";
    return "";
}

std::vector<double> edges_of(const Target& target) {
    // So many responses are enough to tell their range.
    constexpr std::size_t kEnough = 10'000;
    const std::size_t n = target.y.size(), stride = n / kEnough + 1;
    std::vector<double> y;
    for (std::size_t row = 0; row < n; row += stride)
        if (!target.weighted() || target.weight[row] > 0) y.push_back(target.y[row]);
    if (y.empty()) y = target.y;
    const auto beyond = static_cast<std::ptrdiff_t>(y.size() / kOutermost);
    std::nth_element(y.begin(), y.begin() + beyond, y.end());
    double low = y[beyond];
    std::nth_element(y.begin(), y.end() - 1 - beyond, y.end());
    double high = *(y.end() - 1 - beyond);
    if (low == high) {
        const auto [least, most] = std::minmax_element(target.y.begin(), target.y.end());
        low = *least, high = *most;
    }
    const double rounding =
        64 * std::numeric_limits<double>::epsilon() * std::max(std::abs(low), std::abs(high));
    if (!(low / 2 + rounding < high / 2)) {  // one value alone, up to rounding, in the middle
        const double room = std::max(std::abs(low) / 4, 0.5);
        low -= low > -1e300 ? room : 0, high += high < 1e300 ? room : 0;
    }
    // Round numbers are read more easily, and are no one's response.
    if (const double step = round_up((high - low) / (kBins - 2)); step > 0) {
        low = std::floor(low / step) * step;
        high = low + kBins * step;
    }
    std::vector<double> edges(kBins + 1);
    for (std::size_t b = 0; b <= kBins; ++b) {
        const double right = static_cast<double>(b) / kBins;
        edges[b] = low * (1 - right) + high * right;
        if (b > 0) edges[b] = std::max(edges[b], edges[b - 1]);
    }
    return edges;
}

std::vector<float> shares_of(Grower& grower, std::span<const double> edges,
                             std::span<const std::int32_t> nodes) {
    const Binning binning(grower.target(), edges);
    RowFinder finder(grower);
    std::vector<float> shares(nodes.size() * kBins);
    for (std::size_t n = 0; n < nodes.size(); ++n)
        binning.write(finder.rows_of(nodes[n]), {}, &shares[n * kBins]);
    return shares;
}

Spread spread_of_first(Grower& grower, std::int32_t n_fitted) {
    if (grower.settings().n_classes > 0) return {};
    const auto n_nodes = std::min(static_cast<std::size_t>(n_fitted), Spread::kMostNodes);
    Spread spread{edges_of(grower.target()), {}};
    if (grower.settings().missing == Strategy::Fractional) {
        spread.shares = shares_of_fractional(grower, spread.edges, n_nodes);
    } else {
        std::vector<std::int32_t> nodes(n_nodes);
        std::iota(nodes.begin(), nodes.end(), 0);
        spread.shares = shares_of(grower, spread.edges, nodes);
    }
    return spread;
}

}  // namespace tritree
