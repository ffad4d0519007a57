#include "split/node_stats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tritree {

const char* validate_weights(std::span<const double> weight) {
    if (!std::all_of(weight.begin(), weight.end(), [](double w) { return std::isfinite(w) && w >= 0; }))
        return "weight out of range";
    if (std::none_of(weight.begin(), weight.end(), [](double w) { return w > 0; }))
        return "all weights are zero";
    return nullptr;
}

const char* Target::validate(std::size_t size) const {
    if (size == 0) return "no rows";
    if (n_rows() != size || (weighted() && weight.size() != size) ||
        !(n_classes > 0 ? y.empty() : labels.empty()))
        return "columns, target and weights of different lengths";
    if (!std::all_of(y.begin(), y.end(), [](double value) { return std::isfinite(value); }))
        return "target is not finite";
    if (!std::all_of(labels.begin(), labels.end(),
                     [&](auto label) { return label >= 0 && label < n_classes; }))
        return "class out of range";
    return weighted() ? validate_weights(weight) : nullptr;
}

double class_loss(CriterionKind criterion, const double* weights, int n_classes) {
    double total = 0, loss = 0;
    for (int k = 0; k < n_classes; ++k) total += weights[k];
    for (int k = 0; k < n_classes; ++k) {
        if (!(weights[k] > 0)) continue;
        const double proportion = weights[k] / total;
        loss += criterion == CriterionKind::Entropy ? -weights[k] * std::log(proportion)
                                                    : weights[k] * (1 - proportion);
    }
    return loss;
}

CellLayout::CellLayout(const GrowthParameters& params, bool weighted, bool complete_)
    : n_classes(params.n_classes), complete(complete_ || params.n_classes > 0) {
    const bool fractional = params.missing == Strategy::Fractional;
    width = n_classes > 0 ? 1 + n_classes : 2;
    if (n_classes == 0 && (weighted || fractional)) weight = membership = width++;
    if (!fractional) membership = 0;
    if (fractional && (weighted || n_classes > 0)) membership = width++;
    if (n_classes == 0 && complete) square = width++;
}

NodeStatsBuilder::NodeStatsBuilder(const Target& target, const GrowthParameters& params, bool complete)
    : target_(&target),
      params_(&params),
      layout_(params, target.weighted(), complete),
      full_(params, target.weighted(), true) {
    double largest = 0;
    for (const double y : target.y) largest = std::max(largest, std::abs(y));
    y_scale_ = normalizing_scale(largest);
    if (target.weighted())
        weight_scale_ = normalizing_scale(*std::max_element(target.weight.begin(), target.weight.end()));
}

void NodeStatsBuilder::gather(std::span<const std::uint32_t> rows, TargetBuffer& buffer) const {
    gather_y(rows, buffer);
    gather_labels_and_weights(rows, {}, buffer);
}

void NodeStatsBuilder::gather_y(std::span<const std::uint32_t> rows, TargetBuffer& buffer) const {
    buffer.y.resize(target_->n_classes > 0 ? 0 : rows.size());
    for (std::size_t i = 0; i < buffer.y.size(); ++i) buffer.y[i] = target_->y[rows[i]] * y_scale_;
}

/// Gather weights (times membership) and labels.
void NodeStatsBuilder::gather_labels_and_weights(std::span<const std::uint32_t> rows,
                                                 std::span<const double> membership,
                                                 TargetBuffer& buffer) const {
    buffer.label.resize(target_->n_classes > 0 ? rows.size() : 0);
    for (std::size_t i = 0; i < buffer.label.size(); ++i) buffer.label[i] = target_->labels[rows[i]];
    buffer.weight.clear();
    buffer.weighted_row = rows[0];
    if (!target_->weighted() && membership.empty()) return;
    const std::size_t n = rows.size();
    buffer.weight.assign(n, 1.0);
    for (std::size_t i = 0; target_->weighted() && i < n; ++i)
        buffer.weight[i] = target_->weight[rows[i]] * weight_scale_;
    for (std::size_t i = 0; i < membership.size(); ++i) buffer.weight[i] *= membership[i];
    const auto positive =
        std::find_if(buffer.weight.begin(), buffer.weight.end(), [](double w) { return w > 0; });
    if (positive != buffer.weight.end()) buffer.weighted_row = rows[positive - buffer.weight.begin()];
}

namespace {

/// Call `f` with a function that returns the weight of row i, so that a loop without weights is compiled for
/// unweighted rows.
template <class F>
auto with_weights(const TargetView& rows, F&& f) {
    if (rows.weight.empty()) return f([](std::size_t) { return 1.0; });
    return f([weight = rows.weight.data()](std::size_t i) { return weight[i]; });
}

std::int64_t to_weight_units(double weight, const FixedPointScale& scale) {
    return std::llrint(weight * scale.weight_scale);
}

}  // namespace

NodeStatsBuilder::ValueRange NodeStatsBuilder::range_of(const TargetView& rows) {
    const auto& y = rows.y;
    std::size_t i = 0;
    while (i < rows.weight.size() && !(rows.weight[i] > 0)) ++i;
    if (i >= y.size()) return {};
    // Four independent lanes take a third of the time.
    constexpr std::size_t kLanes = 4;
    std::array<double, kLanes> low, high;
    low.fill(y[i]);
    high.fill(y[i]);
    auto update = [&](std::size_t at, std::size_t lane) {
        low[lane] = std::min(low[lane], y[at]);
        high[lane] = std::max(high[lane], y[at]);
    };
    if (rows.weight.empty())
        for (; i + kLanes <= y.size(); i += kLanes)
            for (std::size_t lane = 0; lane < kLanes; ++lane) update(i + lane, lane);
    for (; i < y.size(); ++i)
        if (rows.weight.empty() || rows.weight[i] > 0) update(i, 0);
    return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

/// Return the parent's scale if it is fine enough, or else one for these rows.
FixedPointScale NodeStatsBuilder::scale_of(const TargetView& rows, const ValueRange& range,
                                           const FixedPointScale* parent) {
    FixedPointScale scale;
    scale.center = range.low / 2 + range.high / 2;
    double largest =
        std::max(range.high - scale.center, scale.center - range.low);  // largest term of the sum
    double heaviest = 1;
    if (!rows.weight.empty()) {
        largest = 0;
        for (std::size_t i = 0; i < rows.y.size(); ++i)
            largest = std::max(largest, rows.weight[i] * std::abs(rows.y[i] - scale.center));
        heaviest = *std::max_element(rows.weight.begin(), rows.weight.end());
    }
    scale.sum_scale = scale_to_fit(largest, rows.size());
    scale.square_scale =
        scale_to_fit(largest * std::max(range.high - scale.center, scale.center - range.low), rows.size());
    scale.weight_scale = scale_to_fit(heaviest, rows.size());
    return parent != nullptr && !scale.is_much_finer_than(*parent) ? *parent : scale;
}

/// Return the cell of rows in a fixed-point scale, squares included. `y_of(i)` returns the target of row i,
/// `store(i, sum, square)` receives its fixed-point numbers; `rest` has weights and labels.
template <class Y, class F>
CellSums NodeStatsBuilder::sum_rows(std::size_t n_rows, const TargetView& rest, const FixedPointScale& scale,
                                    Y&& y_of, F&& store) const {
    CellSums cell(full_.width, 0);
    cell[0] = static_cast<std::int64_t>(n_rows);
    if (full_.n_classes == 0) {
        with_weights(rest, [&](auto weight_of) {
            std::int64_t sums = 0, squares = 0;
            for (std::size_t i = 0; i < n_rows; ++i) {
                const double shift = y_of(i) - scale.center, weighted = weight_of(i) * shift;
                const std::int64_t sum = std::llrint(weighted * scale.sum_scale);
                const std::int64_t square = std::llrint(weighted * shift * scale.square_scale);
                store(i, sum, square);
                sums += sum;
                squares += square;
            }
            cell[1] = sums;
            cell[full_.square] = squares;
        });
    }
    for (std::size_t i = 0; i < rest.label.size(); ++i)
        cell[1 + rest.label[i]] += rest.weight.empty() ? 1 : to_weight_units(rest.weight[i], scale);
    if (full_.weight > 0)
        for (const double w : rest.weight) cell[full_.weight] += to_weight_units(w, scale);
    return cell;
}

CellSums NodeStatsBuilder::sum_rows(const TargetView& rows, const FixedPointScale& scale) const {
    return sum_rows(
        rows.size(), rows, scale, [y = rows.y.data()](std::size_t i) { return y[i]; },
        [](std::size_t, std::int64_t, std::int64_t) {});
}

/// Fill in the fixed-point samples of a node in its scale; return the cell of all its rows.
CellSums NodeStatsBuilder::to_fixed_point(NodeSamples& node, const TargetBuffer& rows) const {
    const std::size_t n = node.size(), n_numbers = full_.n_classes > 0 ? 0 : n;
    node.sum.resize(n_numbers);
    node.square.resize(layout_.square > 0 ? n : 0);
    // Targets are read in place: those of most nodes are needed only once.
    auto y_of = [y = target_->y.data(), at = node.rows.data(), scale = y_scale_](std::size_t i) {
        return y[at[i]] * scale;
    };
    std::int64_t *sums = node.sum.data(), *squares = node.square.data();
    auto store_sum = [sums](std::size_t i, std::int64_t sum, std::int64_t) { sums[i] = sum; };
    auto store_both = [sums, squares](std::size_t i, std::int64_t sum, std::int64_t square) {
        sums[i] = sum;
        squares[i] = square;
    };
    CellSums cell = layout_.square > 0 ? sum_rows(n, rows.view(), node.scale, y_of, store_both)
                                       : sum_rows(n, rows.view(), node.scale, y_of, store_sum);
    node.weight.resize(rows.weight.size());
    for (std::size_t i = 0; i < rows.weight.size(); ++i)
        node.weight[i] = to_weight_units(rows.weight[i], node.scale);
    node.membership_units.clear();
    if (layout_.membership > 0 && layout_.membership != layout_.weight) {
        node.membership_units.resize(n);
        node.membership_scale = scale_to_fit(1, n);
        for (std::size_t i = 0; i < n; ++i) {
            node.membership_units[i] = std::llrint(node.membership[i] * node.membership_scale);
            cell[layout_.membership] += node.membership_units[i];
        }
    }
    return cell;
}

bool NodeStatsBuilder::fits(std::span<const std::uint32_t> rows, const FixedPointScale& scale) const {
    if (rows.empty()) return false;
    TargetBuffer buffer;
    gather(rows, buffer);
    return with_weights(buffer.view(), [&](auto weight_of) {
        double weights = 0, sums = 0, squares = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const double w = weight_of(i),
                         shift = buffer.y.empty() ? 0 : std::abs(buffer.y[i] - scale.center);
            weights += w;
            sums += w * shift;
            squares += w * shift * shift;
        }
        const double max_sum = 0x1p62;
        return (buffer.weight.empty() || weights * scale.weight_scale <= max_sum) &&
               sums * scale.sum_scale <= max_sum && squares * scale.square_scale <= max_sum;
    });
}

CellSums NodeStatsBuilder::read_in_scale(NodeSamples& node) const {
    TargetBuffer rows;
    gather_labels_and_weights(node.rows, node.membership, rows);
    CellSums cell = to_fixed_point(node, rows);
    node.label = std::move(rows.label);
    return cell;
}

NodeStats NodeStatsBuilder::read(NodeSamples& node, const FixedPointScale* parent) const {
    thread_local TargetBuffer rows;
    gather_labels_and_weights(node.rows, node.membership, rows);
    std::optional<NodeStats> stats;
    CellSums cell;
    if (parent != nullptr) {
        node.scale = *parent;
        cell = to_fixed_point(node, rows);
        stats = stats_of_cell(cell, *parent);
    }
    if (!stats) {
        gather_y(node.rows, rows);
        const ValueRange range = range_of(rows.view());
        node.scale = scale_of(rows.view(), range, parent);
        if (parent == nullptr || node.scale != *parent) cell = to_fixed_point(node, rows);
        stats = stats_of_rows(rows.view(), range, node.scale, cell);
    }
    stats->total = std::move(cell);
    std::swap(node.label, rows.label);
    rows.trim();
    if (!node.membership.empty()) {
        std::int64_t memberships = 0;  // an integer sum: independent of the order of the rows
        const double scale = scale_to_fit(1, node.size());
        for (const double m : node.membership) memberships += std::llrint(m * scale);
        stats->memberships = static_cast<double>(memberships) / scale;
    }
    return *std::move(stats);
}

NodeStats NodeStatsBuilder::stats_of_leaf(const TargetView& rows, const FixedPointScale& parent) const {
    CellSums cell = sum_rows(rows, parent);
    if (auto stats = stats_of_cell(cell, parent)) return *std::move(stats);
    const ValueRange range = range_of(rows);
    const FixedPointScale scale = scale_of(rows, range, &parent);
    if (scale != parent) cell = sum_rows(rows, scale);
    return stats_of_rows(rows, range, scale, cell);
}

NodeStats NodeStatsBuilder::stats_of_rows(const TargetView& rows, const ValueRange& range,
                                          const FixedPointScale& scale, const CellSums& cell) const {
    return full_.n_classes > 0 ? stats_of_classes(cell, scale) : stats_of_numbers(rows, range, scale, cell);
}

std::optional<NodeStats> NodeStatsBuilder::stats_of_cell(std::span<const std::int64_t> cell,
                                                         const FixedPointScale& scale) const {
    // A row is rounded by up to half a unit. A weight or loss of less than 2^31 units per row is not precise
    // enough.
    constexpr double kMinUnitsPerRow = 0x1p31;
    // Few rows are cheap to read again, which makes their mean precise where their weight in the parent is
    // small.
    constexpr std::int64_t kFewRows = 4096;
    const double min_weight_units = cell[0] < kFewRows ? 0x1p47 : kMinUnitsPerRow;
    const auto rows = static_cast<double>(cell[0]);
    const bool weighted = target_->weighted() || params_->missing == Strategy::Fractional;
    if (full_.n_classes > 0) {
        NodeStats stats = stats_of_classes(cell, scale);
        if (weighted && stats.weight * weight_scale_ * scale.weight_scale < min_weight_units * rows)
            return {};
        stats.from_cell = true;
        return stats;
    }
    if (weighted && static_cast<double>(cell[full_.weight]) < min_weight_units * rows) return {};
    const double weight =
        static_cast<double>(cell[full_.weight]) / (full_.weight > 0 ? scale.weight_scale : 1);
    const double sum = static_cast<double>(cell[1]) / scale.sum_scale, shift = sum / weight;
    const auto squares = static_cast<double>(cell[full_.square]);
    const double loss = squares / scale.square_scale - sum * shift;
    // the second term accounts for cancellation in the difference
    if (!(loss * scale.square_scale > kMinUnitsPerRow * rows + squares * 0x1p-20)) return {};
    NodeStats stats;
    stats.rows = cell[0];
    stats.memberships = rows;
    stats.weight = weight / weight_scale_;
    stats.scaled_loss = loss;
    stats.loss = loss / y_scale_ / y_scale_ / weight_scale_;
    stats.value.push_back((scale.center + shift) / y_scale_);
    stats.from_cell = true;
    return stats;
}

NodeStats NodeStatsBuilder::stats_of_classes(std::span<const std::int64_t> cell,
                                             const FixedPointScale& scale) const {
    const bool weighted = target_->weighted() || params_->missing == Strategy::Fractional;
    const double unit = weighted ? 1 / scale.weight_scale : 1;
    NodeStats stats;
    stats.rows = cell[0];
    stats.memberships = static_cast<double>(cell[0]);
    std::vector<double> weights(full_.n_classes);
    int seen = 0;
    for (int k = 0; k < full_.n_classes; ++k) {
        weights[k] = static_cast<double>(cell[1 + k]) * unit;
        stats.weight += weights[k];
        seen += cell[1 + k] > 0;
    }
    stats.pure = seen <= 1;
    stats.scaled_loss = stats.pure ? 0 : class_loss(params_->criterion, weights.data(), full_.n_classes);
    for (const double w : weights) stats.value.push_back(w / stats.weight);
    stats.weight /= weight_scale_;
    stats.loss = stats.scaled_loss / weight_scale_;
    return stats;
}

NodeStats NodeStatsBuilder::stats_of_numbers(const TargetView& rows, const ValueRange& range,
                                             const FixedPointScale& scale, const CellSums& cell) const {
    const double weight =
        static_cast<double>(cell[full_.weight]) / (full_.weight > 0 ? scale.weight_scale : 1);
    const double mean = scale.center + static_cast<double>(cell[1]) / scale.sum_scale / weight;
    auto loss_of = [mean](double y, double w) { return w * (y - mean) * (y - mean); };
    double largest = std::max(loss_of(range.low, 1), loss_of(range.high, 1));
    if (!rows.weight.empty()) {
        largest = 0;
        for (std::size_t i = 0; i < rows.size(); ++i)
            largest = std::max(largest, loss_of(rows.y[i], rows.weight[i]));
    }
    const double loss_scale = scale_to_fit(largest, rows.size());
    const std::int64_t loss = with_weights(rows, [&](auto weight_of) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < rows.y.size(); ++i)
            sum += std::llrint(loss_of(rows.y[i], weight_of(i)) * loss_scale);
        return sum;
    });
    NodeStats stats;
    stats.rows = cell[0];
    stats.memberships = static_cast<double>(cell[0]);
    stats.pure = range.low == range.high;
    stats.weight = weight / weight_scale_;
    stats.scaled_loss = stats.pure ? 0 : static_cast<double>(loss) / loss_scale;
    stats.loss = stats.scaled_loss / y_scale_ / y_scale_ / weight_scale_;
    // A pure node predicts its target exactly.
    stats.value.push_back(stats.pure ? target_->y[rows.weighted_row]
                                     : std::clamp(mean, range.low, range.high) / y_scale_);
    return stats;
}

}  // namespace tritree
