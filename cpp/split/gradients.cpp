#include "split/gradients.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "common/parallel.hpp"
#include "split/fixed_point.hpp"

namespace tritree {
namespace {

constexpr int kMaxBits = 30;            // of a gradient or hessian
constexpr int kMaxMembershipBits = 52;  // of a complete row: every fraction is exact as a double
constexpr std::size_t kBlock = std::size_t{1} << 14;

/// Largest magnitude and sum.
struct ValueStats {
    double largest = 0, sum = 0;
};

/// Return the statistics of values, summed in blocks that do not depend on the number of threads.
ValueStats stats_of(std::span<const double> values, int n_threads) {
    std::vector<ValueStats> blocks((values.size() + kBlock - 1) / kBlock);
    parallel_blocks(values.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        ValueStats own;
        for (const double value : values.subspan(begin, end - begin)) {
            own.largest = std::max(own.largest, std::abs(value));
            own.sum += value;
        }
        blocks[begin / kBlock] = own;
    });
    ValueStats all;
    for (const ValueStats& block : blocks) {
        all.largest = std::max(all.largest, block.largest);
        all.sum += block.sum;
    }
    return all;
}

}  // namespace

void Gradients::fill(std::span<const double> gradients, std::span<const double> hessians, std::size_t n_rows,
                     int n_threads) {
    const int row_bits = std::bit_width(n_rows);
    scale.constant_hessian = hessians.empty();
    // packed: the number of rows in the upper bits, the sum in the lower ones, with a spare bit for rounding
    scale.shift = scale.constant_hessian ? 0 : 62 - row_bits;
    const ValueStats gradient_stats = stats_of(gradients, n_threads),
                     hessian_stats = stats_of(hessians, n_threads);
    const double gradient_scale = scale_to_bits(gradient_stats.largest, std::min(kMaxBits, 61 - row_bits));
    // Where few rows have most of the sum, bounding the sum leaves more bits than bounding every row.
    const double hessian_scale = scale.constant_hessian
                                     ? 1
                                     : std::min(scale_to_bits(hessian_stats.largest, kMaxBits),
                                                scale_to_bits(hessian_stats.sum, scale.shift - 1));
    scale.gradient_unit = 1 / gradient_scale;
    scale.hessian_unit = 1 / hessian_scale;
    pairs.resize(gradients.size());
    // Integer sums, which do not depend on the order of the rows. Squares are summed in halves of 32 bits,
    // those of a block without the last bits of gradients: its sum has at most 62 bits.
    constexpr int kDropped = kMaxBits - 22;
    std::vector<std::int64_t> squares((gradients.size() + kBlock - 1) / kBlock), weights(squares.size());
    parallel_blocks(gradients.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::int64_t square_sum = 0, weight_sum = 0;
        for (std::size_t i = begin; i < end; ++i) {
            // llrint is one instruction, nearbyint a call
            pairs[i].gradient = static_cast<std::int32_t>(std::llrint(gradients[i] * gradient_scale));
            pairs[i].hessian = scale.constant_hessian
                                   ? 0
                                   : static_cast<std::int32_t>(std::llrint(hessians[i] * hessian_scale));
            const std::int64_t gradient = pairs[i].gradient >> kDropped;
            square_sum += gradient * gradient;
            weight_sum += pairs[i].hessian;
        }
        squares[begin / kBlock] = square_sum;
        weights[begin / kBlock] = weight_sum;
    });
    std::int64_t low = 0, high = 0;
    for (const std::int64_t sum : squares) {
        low += sum & 0xffffffff;
        high += sum >> 32;
    }
    const double unit = std::ldexp(scale.gradient_unit, kDropped);
    const double square_sum = (static_cast<double>(high) * 0x1p32 + static_cast<double>(low)) * unit * unit;
    const std::int64_t weight_units = scale.constant_hessian
                                          ? static_cast<std::int64_t>(gradients.size())
                                          : std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    scale.total_hessian = static_cast<double>(weight_units) * scale.hessian_unit;
    scale.gain_by_chance = scale.total_hessian > 0 ? square_sum / scale.total_hessian : 0;
}

FractionalScale::FractionalScale(const Gradients& gradients) : gradients_(&gradients) {
    // as fine as possible while the sum over all rows stays below 2^62
    const int bits =
        std::min(kMaxMembershipBits, 62 - static_cast<int>(std::bit_width(gradients.pairs.size())));
    whole_ = std::int64_t{1} << bits;
    membership_unit_ = std::ldexp(1.0, -bits);
    hessian_unit_ = gradients.scale.constant_hessian ? membership_unit_ : gradients.scale.hessian_unit;
}

}  // namespace tritree
