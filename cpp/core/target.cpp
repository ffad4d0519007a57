#include "target.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tritree {
namespace {

constexpr int kRefresh = 10;

/// Return the power of two by which magnitudes up to `largest` may be scaled so that `n` of them sum to at
/// most 2^61.
double scale_for(double largest, std::size_t n) {
    if (!(largest > 0)) return 1;
    const int exponent =
        60 - std::ilogb(largest) - std::ilogb(static_cast<double>(std::max<std::size_t>(n, 1))) - 1;
    return std::ldexp(1.0, std::clamp(exponent, -1000, 1000));
}

/// Return a power of two that brings `largest` to about 1, itself and its inverse being finite.
double unit_for(double largest) {
    return largest > 0 ? std::ldexp(1.0, -std::clamp(std::ilogb(largest) + 1, -1000, 1000)) : 1.0;
}

bool much_finer(double mine, double parents) { return mine >= std::ldexp(parents, kRefresh); }

}  // namespace

double class_loss(Criterion criterion, const double* weights, int n_classes) {
    double total = 0, loss = 0;
    for (int k = 0; k < n_classes; ++k) total += weights[k];
    for (int k = 0; k < n_classes; ++k) {
        if (!(weights[k] > 0)) continue;
        const double share = weights[k] / total;
        loss += criterion != Criterion::Gini ? -weights[k] * std::log(share) : weights[k] * (1 - share);
    }
    return loss;
}

Layout::Layout(const Settings& settings, bool weighted, bool complete_)
    : n_classes(settings.n_classes), complete(complete_ || settings.n_classes > 0) {
    const bool fractional = settings.missing == Strategy::Fractional;
    width = n_classes > 0 ? 1 + n_classes : 2;
    if (n_classes == 0 && (weighted || fractional)) weight = member = width++;
    if (!fractional) member = 0;
    if (fractional && (weighted || n_classes > 0)) member = width++;
    if (n_classes == 0 && complete) square = width++;
}

std::vector<std::uint32_t> Target::counted_rows() const {
    if (!in_bag.empty()) return in_bag;
    std::vector<std::uint32_t> all(n_rows());
    std::iota(all.begin(), all.end(), 0u);
    return all;
}

TargetReader::TargetReader(const Target& target, const Settings& settings, bool complete)
    : target_(&target),
      settings_(&settings),
      layout_(settings, target.weighted(), complete),
      full_(settings, target.weighted(), true) {
    double largest = 0;
    for (const double y : target.y) largest = std::max(largest, std::abs(y));
    y_scale_ = unit_for(largest);
    if (target.weighted())
        weight_scale_ = unit_for(*std::max_element(target.weight.begin(), target.weight.end()));
}

void TargetReader::gather(std::span<const std::uint32_t> rows, GatheredResponses& found) const {
    gather_numbers(rows, found);
    gather_rest(rows, {}, found);
}

void TargetReader::gather_numbers(std::span<const std::uint32_t> rows, GatheredResponses& found) const {
    found.y.resize(target_->n_classes > 0 ? 0 : rows.size());
    for (std::size_t i = 0; i < found.y.size(); ++i) found.y[i] = target_->y[rows[i]] * y_scale_;
}

/// Gather all but numbers: weights, each with its row's share in the node if it has one, and labels.
void TargetReader::gather_rest(std::span<const std::uint32_t> rows, std::span<const double> membership,
                               GatheredResponses& found) const {
    found.label.resize(target_->n_classes > 0 ? rows.size() : 0);
    for (std::size_t i = 0; i < found.label.size(); ++i) found.label[i] = target_->labels[rows[i]];
    found.weight.clear();
    found.some_row = rows[0];
    if (!target_->weighted() && membership.empty()) return;
    const std::size_t n = rows.size();
    found.weight.assign(n, 1.0);
    for (std::size_t i = 0; target_->weighted() && i < n; ++i)
        found.weight[i] = target_->weight[rows[i]] * weight_scale_;
    for (std::size_t i = 0; i < membership.size(); ++i) found.weight[i] *= membership[i];
    const auto some = std::find_if(found.weight.begin(), found.weight.end(), [](double w) { return w > 0; });
    if (some != found.weight.end()) found.some_row = rows[some - found.weight.begin()];
}

namespace {

/// Call `f` with a function that returns the weight of row i: loops are compiled twice, so that rows that all
/// count 1 are not asked for it.
template <class F>
auto with_weights(const Responses& rows, F&& f) {
    if (rows.weight.empty()) return f([](std::size_t) { return 1.0; });
    return f([weight = rows.weight.data()](std::size_t i) { return weight[i]; });
}

std::int64_t weight_in(double weight, const Frame& frame) { return std::llrint(weight * frame.weight_scale); }

}  // namespace

TargetReader::Range TargetReader::range_of(const Responses& rows) {
    const auto& y = rows.y;
    std::size_t i = 0;
    while (i < rows.weight.size() && !(rows.weight[i] > 0)) ++i;
    if (i >= y.size()) return {};
    // Four at a time, so that one comparison does not wait for the last: a third of the time.
    constexpr std::size_t kLanes = 4;
    std::array<double, kLanes> low, high;
    low.fill(y[i]);
    high.fill(y[i]);
    auto take = [&](std::size_t at, std::size_t lane) {
        low[lane] = std::min(low[lane], y[at]);
        high[lane] = std::max(high[lane], y[at]);
    };
    if (rows.weight.empty())
        for (; i + kLanes <= y.size(); i += kLanes)
            for (std::size_t lane = 0; lane < kLanes; ++lane) take(i + lane, lane);
    for (; i < y.size(); ++i)
        if (rows.weight.empty() || rows.weight[i] > 0) take(i, 0);
    return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

/// Return the parent's frame if it is fine enough, or else one for these rows.
Frame TargetReader::frame_of(const Responses& rows, const Range& range, const Frame* parent) {
    Frame frame;
    frame.center = range.low / 2 + range.high / 2;
    double largest = std::max(range.high - frame.center, frame.center - range.low);  // of the terms summed
    double heaviest = 1;
    if (!rows.weight.empty()) {
        largest = 0;
        for (std::size_t i = 0; i < rows.y.size(); ++i)
            largest = std::max(largest, rows.weight[i] * std::abs(rows.y[i] - frame.center));
        heaviest = *std::max_element(rows.weight.begin(), rows.weight.end());
    }
    frame.sum_scale = scale_for(largest, rows.size());
    frame.square_scale =
        scale_for(largest * std::max(range.high - frame.center, frame.center - range.low), rows.size());
    frame.weight_scale = scale_for(heaviest, rows.size());
    const bool keep = parent != nullptr && !much_finer(frame.weight_scale, parent->weight_scale) &&
                      !much_finer(frame.sum_scale, parent->sum_scale);
    return keep ? *parent : frame;
}

/// Add up the rows in a frame, in the cell of all that can be counted. `y_of(i)` returns the number of row i,
/// and `keep(i, sum, square)` gets what it is in the frame; `rest` has weights and labels.
template <class Y, class F>
Cell TargetReader::add_up(std::size_t n_rows, const Responses& rest, const Frame& frame, Y&& y_of,
                          F&& keep) const {
    Cell cell(full_.width, 0);
    cell[0] = static_cast<std::int64_t>(n_rows);
    if (full_.n_classes == 0) {
        with_weights(rest, [&](auto weight_of) {
            std::int64_t sums = 0, squares = 0;
            for (std::size_t i = 0; i < n_rows; ++i) {
                const double shift = y_of(i) - frame.center, weighted = weight_of(i) * shift;
                const std::int64_t sum = std::llrint(weighted * frame.sum_scale);
                const std::int64_t square = std::llrint(weighted * shift * frame.square_scale);
                keep(i, sum, square);
                sums += sum;
                squares += square;
            }
            cell[1] = sums;
            cell[full_.square] = squares;
        });
    }
    for (std::size_t i = 0; i < rest.label.size(); ++i)
        cell[1 + rest.label[i]] += rest.weight.empty() ? 1 : weight_in(rest.weight[i], frame);
    if (full_.weight > 0)
        for (const double w : rest.weight) cell[full_.weight] += weight_in(w, frame);
    return cell;
}

Cell TargetReader::add_up(const Responses& rows, const Frame& frame) const {
    return add_up(
        rows.size(), rows, frame, [y = rows.y.data()](std::size_t i) { return y[i]; },
        [](std::size_t, std::int64_t, std::int64_t) {});
}

/// Fill in the integers of a node in its frame, and return the cell of all its rows.
Cell TargetReader::read_integers(NodeRows& node, const GatheredResponses& rows) const {
    const std::size_t n = node.size(), n_numbers = full_.n_classes > 0 ? 0 : n;
    node.sum.resize(n_numbers);
    node.square.resize(layout_.square > 0 ? n : 0);
    // Numbers are read where they lie: those of most nodes are needed only once.
    auto y_of = [y = target_->y.data(), at = node.rows.data(), scale = y_scale_](std::size_t i) {
        return y[at[i]] * scale;
    };
    std::int64_t *sums = node.sum.data(), *squares = node.square.data();
    auto keep_sum = [sums](std::size_t i, std::int64_t sum, std::int64_t) { sums[i] = sum; };
    auto keep_both = [sums, squares](std::size_t i, std::int64_t sum, std::int64_t square) {
        sums[i] = sum;
        squares[i] = square;
    };
    Cell cell = layout_.square > 0 ? add_up(n, rows.view(), node.frame, y_of, keep_both)
                                   : add_up(n, rows.view(), node.frame, y_of, keep_sum);
    node.weight.resize(rows.weight.size());
    for (std::size_t i = 0; i < rows.weight.size(); ++i)
        node.weight[i] = weight_in(rows.weight[i], node.frame);
    node.member.clear();
    if (layout_.member > 0 && layout_.member != layout_.weight) {
        node.member.resize(n);
        node.member_scale = scale_for(1, n);
        for (std::size_t i = 0; i < n; ++i) {
            node.member[i] = std::llrint(node.membership[i] * node.member_scale);
            cell[layout_.member] += node.member[i];
        }
    }
    return cell;
}

bool TargetReader::fits(std::span<const std::uint32_t> rows, const Frame& frame) const {
    if (rows.empty()) return false;
    GatheredResponses found;
    gather(rows, found);
    return with_weights(found.view(), [&](auto weight_of) {
        double weights = 0, sums = 0, squares = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const double w = weight_of(i), shift = found.y.empty() ? 0 : std::abs(found.y[i] - frame.center);
            weights += w;
            sums += w * shift;
            squares += w * shift * shift;
        }
        const double most = 0x1p62;
        return (found.weight.empty() || weights * frame.weight_scale <= most) &&
               sums * frame.sum_scale <= most && squares * frame.square_scale <= most;
    });
}

void TargetReader::read_in_frame(NodeRows& node) const {
    GatheredResponses rows;
    gather_rest(node.rows, node.membership, rows);
    read_integers(node, rows);
    node.label = std::move(rows.label);
}

Summary TargetReader::read(NodeRows& node, const Frame* parent) const {
    thread_local GatheredResponses rows;
    gather_rest(node.rows, node.membership, rows);
    std::optional<Summary> summary;
    Cell cell;
    if (parent != nullptr) {
        node.frame = *parent;
        cell = read_integers(node, rows);
        summary = summarise_cell(cell, *parent);
    }
    if (!summary) {
        gather_numbers(node.rows, rows);
        const Range range = range_of(rows.view());
        node.frame = frame_of(rows.view(), range, parent);
        if (parent == nullptr || node.frame != *parent) cell = read_integers(node, rows);
        summary = summarise_rows(rows.view(), range, node.frame, cell);
    }
    cell.resize(layout_.width);
    summary->total = std::move(cell);
    std::swap(node.label, rows.label);
    rows.trim();
    if (!node.membership.empty()) {
        std::int64_t members = 0;  // an integer sum, too, so as not to depend on the order of the rows
        const double scale = scale_for(1, node.size());
        for (const double m : node.membership) members += std::llrint(m * scale);
        summary->members = static_cast<double>(members) / scale;
    }
    return *std::move(summary);
}

Summary TargetReader::summarise_leaf(const Responses& rows, const Frame& parent) const {
    Cell cell = add_up(rows, parent);
    if (auto summary = summarise_cell(cell, parent)) return *std::move(summary);
    const Range range = range_of(rows);
    const Frame frame = frame_of(rows, range, &parent);
    if (frame != parent) cell = add_up(rows, frame);
    return summarise_rows(rows, range, frame, cell);
}

Summary TargetReader::summarise_rows(const Responses& rows, const Range& range, const Frame& frame,
                                     const Cell& cell) const {
    return full_.n_classes > 0 ? summarise_classes(cell, frame) : summarise_numbers(rows, range, frame, cell);
}

std::optional<Summary> TargetReader::summarise_cell(std::span<const std::int64_t> cell,
                                                    const Frame& frame) const {
    // A row is rounded by half a unit. Where all their weight or their loss is no more than this many units
    // per row, the rows have to be looked at.
    constexpr double kClear = 0x1p31;
    // Few rows are quickly looked at. Where they weigh little beside others of the parent, that keeps the
    // digits of their mean.
    constexpr std::int64_t kFew = 4096;
    const double clear_weight = cell[0] < kFew ? 0x1p43 : kClear;
    const auto rows = static_cast<double>(cell[0]);
    const bool weighted = target_->weighted() || settings_->missing == Strategy::Fractional;
    if (full_.n_classes > 0) {
        Summary summary = summarise_classes(cell, frame);
        if (weighted && summary.weight * weight_scale_ * frame.weight_scale < clear_weight * rows) return {};
        summary.by_cell = true;
        return summary;
    }
    if (weighted && static_cast<double>(cell[full_.weight]) < clear_weight * rows) return {};
    const double weight =
        static_cast<double>(cell[full_.weight]) / (full_.weight > 0 ? frame.weight_scale : 1);
    const double sum = static_cast<double>(cell[1]) / frame.sum_scale, shift = sum / weight;
    const auto squares = static_cast<double>(cell[full_.square]);
    const double loss = squares / frame.square_scale - sum * shift;
    // the second is for the digits that the difference has lost
    if (!(loss * frame.square_scale > kClear * rows + squares * 0x1p-20)) return {};
    Summary summary;
    summary.rows = cell[0];
    summary.members = rows;
    summary.weight = weight / weight_scale_;
    summary.scan_loss = loss;
    summary.loss = loss / y_scale_ / y_scale_ / weight_scale_;
    summary.value.push_back((frame.center + shift) / y_scale_);
    summary.by_cell = true;
    return summary;
}

Summary TargetReader::summarise_classes(std::span<const std::int64_t> cell, const Frame& frame) const {
    const bool weighted = target_->weighted() || settings_->missing == Strategy::Fractional;
    const double unit = weighted ? 1 / frame.weight_scale : 1;
    Summary summary;
    summary.rows = cell[0];
    summary.members = static_cast<double>(cell[0]);
    std::vector<double> weights(full_.n_classes);
    int seen = 0;
    for (int k = 0; k < full_.n_classes; ++k) {
        weights[k] = static_cast<double>(cell[1 + k]) * unit;
        summary.weight += weights[k];
        seen += cell[1 + k] > 0;
    }
    summary.pure = seen <= 1;
    summary.scan_loss = summary.pure ? 0 : class_loss(settings_->criterion, weights.data(), full_.n_classes);
    for (const double w : weights) summary.value.push_back(w / summary.weight);
    summary.weight /= weight_scale_;
    summary.loss = summary.scan_loss / weight_scale_;
    return summary;
}

Summary TargetReader::summarise_numbers(const Responses& rows, const Range& range, const Frame& frame,
                                        const Cell& cell) const {
    const double weight =
        static_cast<double>(cell[full_.weight]) / (full_.weight > 0 ? frame.weight_scale : 1);
    const double mean = frame.center + static_cast<double>(cell[1]) / frame.sum_scale / weight;
    auto loss_of = [mean](double y, double w) { return w * (y - mean) * (y - mean); };
    double largest = std::max(loss_of(range.low, 1), loss_of(range.high, 1));
    if (!rows.weight.empty()) {
        largest = 0;
        for (std::size_t i = 0; i < rows.size(); ++i)
            largest = std::max(largest, loss_of(rows.y[i], rows.weight[i]));
    }
    const double scale = scale_for(largest, rows.size());
    const std::int64_t loss = with_weights(rows, [&](auto weight_of) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < rows.y.size(); ++i)
            sum += std::llrint(loss_of(rows.y[i], weight_of(i)) * scale);
        return sum;
    });
    Summary summary;
    summary.rows = cell[0];
    summary.members = static_cast<double>(cell[0]);
    summary.pure = range.low == range.high;
    summary.weight = weight / weight_scale_;
    summary.scan_loss = summary.pure ? 0 : static_cast<double>(loss) / scale;
    summary.loss = summary.scan_loss / y_scale_ / y_scale_ / weight_scale_;
    // A node whose rows agree predicts just what they say.
    summary.value.push_back(summary.pure ? target_->y[rows.some_row]
                                         : std::clamp(mean, range.low, range.high) / y_scale_);
    return summary;
}

}  // namespace tritree
