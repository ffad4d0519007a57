#include "target.hpp"

#include <algorithm>
#include <cmath>

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
        loss += criterion == Criterion::Entropy ? -weights[k] * std::log(share) : weights[k] * (1 - share);
    }
    return loss;
}

Layout::Layout(const Settings& settings, bool weighted) : n_classes(settings.n_classes) {
    const bool fractional = settings.missing == Strategy::Fractional;
    width = n_classes > 0 ? 1 + n_classes : 2;
    if (n_classes == 0 && (weighted || fractional)) weight = member = width++;
    if (!fractional) member = 0;
    if (fractional && (weighted || n_classes > 0)) member = width++;
}

TargetReader::TargetReader(const Target& target, const Settings& settings)
    : target_(&target), settings_(&settings), layout_(settings, target.weighted()) {
    double largest = 0;
    for (const double y : target.y) largest = std::max(largest, std::abs(y));
    y_scale_ = unit_for(largest);
    if (target.weighted())
        weight_scale_ = unit_for(*std::max_element(target.weight.begin(), target.weight.end()));
}

double TargetReader::weight_of(const NodeRows& node, std::size_t i) const {
    const double w = target_->weighted() ? target_->weight[node.rows[i]] * weight_scale_ : 1.0;
    return node.membership.empty() ? w : w * node.membership[i];
}

TargetReader::Range TargetReader::range_of(const NodeRows& node) const {
    Range range;
    for (std::size_t i = 0; i < node.size(); ++i) {
        const double weight = weight_of(node, i);
        range.heaviest = std::max(range.heaviest, weight);
        if (target_->n_classes > 0 || !(weight > 0)) continue;
        const double y = scaled(node.rows[i]);
        if (range.first == kNoRow) {
            range.first = node.rows[i];
            range.low = range.high = y;
        }
        range.low = std::min(range.low, y);
        range.high = std::max(range.high, y);
    }
    return range;
}

void TargetReader::read(NodeRows& node, const Frame* parent) const {
    const Range range = range_of(node);
    Frame own;
    own.center = range.low / 2 + range.high / 2;
    double largest = 0;  // of the terms to be summed
    if (target_->n_classes == 0)
        for (std::size_t i = 0; i < node.size(); ++i)
            largest = std::max(largest, weight_of(node, i) * std::abs(scaled(node.rows[i]) - own.center));
    own.sum_scale = scale_for(largest, node.size());
    own.weight_scale = scale_for(range.heaviest, node.size());
    const bool keep = parent != nullptr && !much_finer(own.weight_scale, parent->weight_scale) &&
                      !much_finer(own.sum_scale, parent->sum_scale);
    node.frame = keep ? *parent : own;
    read_in_frame(node);
}

void TargetReader::read_in_frame(NodeRows& node) const {
    const std::size_t n = node.size();
    const Frame& frame = node.frame;
    const bool plain = !target_->weighted() && node.membership.empty();
    if (target_->n_classes > 0) {
        node.label.resize(n);
        for (std::size_t i = 0; i < n; ++i) node.label[i] = target_->labels[node.rows[i]];
    } else {
        node.sum.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            const double about = scaled(node.rows[i]) - frame.center;
            node.sum[i] = std::llrint((plain ? about : weight_of(node, i) * about) * frame.sum_scale);
        }
    }
    if (!plain) {
        node.weight.resize(n);
        for (std::size_t i = 0; i < n; ++i)
            node.weight[i] = std::llrint(weight_of(node, i) * frame.weight_scale);
    }
    if (layout_.member > 0 && layout_.member != layout_.weight) {
        node.member.resize(n);
        node.member_scale = scale_for(1, n);
        for (std::size_t i = 0; i < n; ++i)
            node.member[i] = std::llrint(node.membership[i] * node.member_scale);
    }
}

Summary TargetReader::summarise(const NodeRows& node) const {
    const std::size_t n = node.size();
    Summary summary;
    summary.rows = static_cast<std::int64_t>(n);
    summary.members = static_cast<double>(n);
    if (!node.membership.empty()) {
        std::int64_t members = 0;  // an integer sum, too, so as not to depend on the order of the rows
        const double scale = scale_for(1, n);
        for (const double m : node.membership) members += std::llrint(m * scale);
        summary.members = static_cast<double>(members) / scale;
    }
    summary.total.assign(layout_.width, 0);
    auto& total = summary.total;
    total[0] = summary.rows;
    for (const std::int64_t m : node.member) total[layout_.member] += m;

    if (layout_.n_classes > 0) {
        for (std::size_t i = 0; i < n; ++i)
            total[1 + node.label[i]] += node.weight.empty() ? 1 : node.weight[i];
        const double unit = node.weight.empty() ? 1 : 1 / node.frame.weight_scale;
        std::vector<double> weights(layout_.n_classes);
        int seen = 0;
        for (int k = 0; k < layout_.n_classes; ++k) {
            weights[k] = static_cast<double>(total[1 + k]) * unit;
            summary.weight += weights[k];
            seen += total[1 + k] > 0;
        }
        summary.pure = seen <= 1;
        summary.scan_loss =
            summary.pure ? 0 : class_loss(settings_->criterion, weights.data(), layout_.n_classes);
        for (const double w : weights) summary.value.push_back(w / summary.weight);
        summary.weight /= weight_scale_;
        summary.loss = summary.scan_loss / weight_scale_;
        return summary;
    }

    for (const std::int64_t s : node.sum) total[1] += s;
    for (const std::int64_t w : node.weight) total[layout_.weight] += w;
    const double weight =
        static_cast<double>(total[layout_.weight]) / (layout_.weight > 0 ? node.frame.weight_scale : 1);
    const double mean = node.frame.center + static_cast<double>(total[1]) / node.frame.sum_scale / weight;
    const Range range = range_of(node);
    auto loss_of = [&](std::size_t i) {
        const double error = scaled(node.rows[i]) - mean;
        return weight_of(node, i) * error * error;
    };
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, loss_of(i));
    const double scale = scale_for(largest, n);
    std::int64_t loss = 0;
    for (std::size_t i = 0; i < n; ++i) loss += std::llrint(loss_of(i) * scale);
    summary.pure = range.low == range.high;
    summary.weight = weight / weight_scale_;
    summary.scan_loss = summary.pure ? 0 : static_cast<double>(loss) / scale;
    summary.loss = summary.scan_loss / y_scale_ / y_scale_ / weight_scale_;
    // A node whose rows agree predicts just what they say.
    summary.value.push_back(summary.pure ? target_->y[range.first]
                                         : std::clamp(mean, range.low, range.high) / y_scale_);
    return summary;
}

}  // namespace tritree
