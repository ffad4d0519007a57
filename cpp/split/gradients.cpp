#include "split/gradients.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "common/parallel.hpp"
#include "split/fixed_point.hpp"

namespace tritree {
namespace {

constexpr int kMaxBits = 30;              // of a derivative
constexpr int kMaxMembershipBits = 52;    // of a complete row: every fraction is exact as a double
constexpr std::size_t kBlock = std::size_t{1} << 14;

struct Extent {
    double largest = 0, sum = 0, squares = 0;
};

/// Return the extent of numbers, summed in blocks that do not depend on the number of threads.
Extent extent_of(std::span<const double> values, int n_threads) {
    std::vector<Extent> blocks((values.size() + kBlock - 1) / kBlock);
    parallel_blocks(values.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        Extent own;
        for (const double value : values.subspan(begin, end - begin)) {
            own.largest = std::max(own.largest, std::abs(value));
            own.sum += value;
            own.squares += value * value;
        }
        blocks[begin / kBlock] = own;
    });
    Extent all;
    for (const Extent& block : blocks) {
        all.largest = std::max(all.largest, block.largest);
        all.sum += block.sum;
        all.squares += block.squares;
    }
    return all;
}

}  // namespace

void Gradients::fill(std::span<const double> first, std::span<const double> second, std::size_t n_rows,
                     int n_threads) {
    const int row_bits = std::bit_width(n_rows);
    scale.constant_hessian = second.empty();
    // packed: the number of rows above, the sum below, with a bit to spare for rounding
    scale.shift = scale.constant_hessian ? 0 : 62 - row_bits;
    const Extent firsts = extent_of(first, n_threads), seconds = extent_of(second, n_threads);
    const double first_scale = scale_to_bits(firsts.largest, std::min(kMaxBits, 61 - row_bits));
    // Where few rows have most of the sum, bounding the sum leaves more bits than bounding every row.
    const double second_scale = scale.constant_hessian ? 1
                                                       : std::min(scale_to_bits(seconds.largest, kMaxBits),
                                                                  scale_to_bits(seconds.sum, scale.shift - 1));
    const double weight = scale.constant_hessian ? static_cast<double>(first.size()) : seconds.sum;
    scale.gain_by_chance = weight > 0 ? firsts.squares / weight : 0;
    scale.first = 1 / first_scale;
    scale.second = 1 / second_scale;
    pairs.resize(first.size());
    parallel_blocks(first.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            pairs[i].first = static_cast<std::int32_t>(std::nearbyint(first[i] * first_scale));
            pairs[i].second = scale.constant_hessian
                                  ? 0
                                  : static_cast<std::int32_t>(std::nearbyint(second[i] * second_scale));
        }
    });
}

FractionalScale::FractionalScale(const Gradients& gradients) : gradients_(&gradients) {
    // as fine as possible while the sum over all rows stays below 2^62
    const int bits = std::min(kMaxMembershipBits, 62 - static_cast<int>(std::bit_width(gradients.pairs.size())));
    whole_ = std::int64_t{1} << bits;
    membership_ = std::ldexp(1.0, -bits);
    second_ = gradients.scale.constant_hessian ? membership_ : gradients.scale.second;
}

}  // namespace tritree
