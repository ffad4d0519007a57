#include "split/gradients.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "common/parallel.hpp"
#include "split/fixed_point.hpp"

namespace tritree {
namespace {

constexpr int kMaxBits = 30;            // of a gradient or hessian
constexpr int kMaxMembershipBits = 52;  // of a complete row: every fraction is exact as a double
constexpr std::size_t kBlock = std::size_t{1} << 14;

constexpr int kDroppedBits = kMaxBits - 22;  // of gradients that are squared: the sum of a block has 58 bits

/// Return the largest magnitude of values.
double largest_of(std::span<const double> values, int n_threads) {
    std::vector<double> blocks((values.size() + kBlock - 1) / kBlock);
    parallel_blocks(values.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        double largest = 0;
        for (std::size_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
        blocks[begin / kBlock] = largest;
    });
    return blocks.empty() ? 0 : *std::max_element(blocks.begin(), blocks.end());
}

/// Return the sums, element by element, of the integers that `sums_of(begin, end)` returns for blocks of the
/// rows of a part, over all parts.
template <std::size_t kSums, class F>
std::array<std::int64_t, kSums> sum_blocks(std::size_t n, const TablePart& part, int n_threads, F&& sums_of) {
    std::vector<std::array<std::int64_t, kSums>> blocks((n + kBlock - 1) / kBlock);
    parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        blocks[begin / kBlock] = sums_of(begin, end);
    });
    std::array<std::int64_t, kSums> total{};
    for (const auto& block : blocks)
        for (std::size_t i = 0; i < kSums; ++i) total[i] += block[i];
    part.sum(total);
    return total;
}

/// Return the sum of hessians over all parts, rounded to an integer number of tiny units.
double sum_hessians(std::span<const double> hessians, double largest, const TablePart& part, int n_threads) {
    const double scale = scale_to_fit(largest, part.n_rows);
    const auto sum_of = [&](std::size_t begin, std::size_t end) {
        std::int64_t sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += std::llrint(hessians[i] * scale);
        return std::array{sum};
    };
    return static_cast<double>(sum_blocks<1>(hessians.size(), part, n_threads, sum_of)[0]) / scale;
}

}  // namespace

void Gradients::set_scale(std::span<const double> gradients, std::span<const double> hessians,
                          const TablePart& part, int n_threads) {
    std::array largest{largest_of(gradients, n_threads), largest_of(hessians, n_threads)};
    part.max(largest);
    const auto [largest_gradient, largest_hessian] = largest;
    const int row_bits = std::bit_width(part.n_rows);
    scale.gradient_unit = 1 / scale_to_bits(largest_gradient, std::min(kMaxBits, 61 - row_bits));
    if (scale.constant_hessian) {
        scale.shift = 0;
        scale.hessian_unit = 1;
        return;
    }
    // packed: the number of rows in the upper bits, the sum in the lower ones, with a spare bit for rounding
    scale.shift = 62 - row_bits;
    double hessian_scale = scale_to_bits(largest_hessian, kMaxBits);
    // Where few rows have most of the sum, bounding the sum leaves more bits than bounding every row. With
    // few rows, both leave all the bits of a row.
    if (const int bits = scale.shift - 1; row_bits > bits - kMaxBits)
        hessian_scale = std::min(
            hessian_scale, scale_to_bits(sum_hessians(hessians, largest_hessian, part, n_threads), bits));
    scale.hessian_unit = 1 / hessian_scale;
}

void Gradients::fill(std::span<const double> gradients, std::span<const double> hessians,
                     const TablePart& part, int n_threads) {
    scale.constant_hessian = hessians.empty();
    set_scale(gradients, hessians, part, n_threads);
    const double gradient_scale = 1 / scale.gradient_unit, hessian_scale = 1 / scale.hessian_unit;
    pairs.resize(gradients.size());
    const auto round = [&](std::size_t begin, std::size_t end) {
        std::int64_t squares = 0, units = 0;
        for (std::size_t i = begin; i < end; ++i) {
            // llrint is one instruction, nearbyint a call
            pairs[i].gradient = static_cast<std::int32_t>(std::llrint(gradients[i] * gradient_scale));
            pairs[i].hessian = scale.constant_hessian
                                   ? 0
                                   : static_cast<std::int32_t>(std::llrint(hessians[i] * hessian_scale));
            const std::int64_t gradient = pairs[i].gradient >> kDroppedBits;
            squares += gradient * gradient;
            units += pairs[i].hessian;
        }
        if (scale.constant_hessian) units = static_cast<std::int64_t>(end - begin);
        return std::array{squares >> 32, squares & 0xffffffff, units};
    };
    auto [high, low, units] = sum_blocks<3>(gradients.size(), part, n_threads, round);
    high += low >> 32;  // the same halves, whatever the blocks
    low &= 0xffffffff;
    const double unit = std::ldexp(scale.gradient_unit, kDroppedBits);
    const double squares = (static_cast<double>(high) * 0x1p32 + static_cast<double>(low)) * unit * unit;
    scale.total_hessian = static_cast<double>(units) * scale.hessian_unit;
    scale.gain_by_chance = scale.total_hessian > 0 ? squares / scale.total_hessian : 0;
}

FractionalScale::FractionalScale(const Gradients& gradients, std::size_t n_rows) : gradients_(&gradients) {
    // as fine as possible while the sum over all rows stays below 2^62
    const int bits = std::min(kMaxMembershipBits, 62 - static_cast<int>(std::bit_width(n_rows)));
    whole_ = std::int64_t{1} << bits;
    membership_unit_ = std::ldexp(1.0, -bits);
    hessian_unit_ = gradients.scale.constant_hessian ? membership_unit_ : gradients.scale.hessian_unit;
}

}  // namespace tritree
