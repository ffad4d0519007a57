#include "sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/parallel.hpp"

namespace tritree::boosting {
namespace {

constexpr int kMostBits = 30;  // of one derivative
constexpr std::size_t kBlock = std::size_t{1} << 14;

/// What is to be known of numbers before they are turned into whole units.
struct Extent {
    double most = 0, sum = 0, squares = 0;
};

/// Measure numbers in the same blocks whatever the threads.
Extent measure(std::span<const double> values, int n_threads) {
    std::vector<Extent> blocks((values.size() + kBlock - 1) / kBlock);
    parallel_blocks(values.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        Extent own;
        for (const double value : values.subspan(begin, end - begin)) {
            own.most = std::max(own.most, std::abs(value));
            own.sum += value;
            own.squares += value * value;
        }
        blocks[begin / kBlock] = own;
    });
    Extent all;
    for (const Extent& block : blocks) {
        all.most = std::max(all.most, block.most);
        all.sum += block.sum;
        all.squares += block.squares;
    }
    return all;
}

/// Return the power of two that takes numbers of at most `most` to integers of at most `bits` bits.
double scale_for(double most, int bits) {
    if (!(most > 0)) return 1;
    int exponent = 0;
    std::frexp(most, &exponent);  // most < 2^exponent
    return std::ldexp(1.0, std::clamp(bits - exponent, -1000, 1000));
}

}  // namespace

void Gradients::fill(std::span<const double> first, std::span<const double> second, std::size_t n_rows,
                     int n_threads) {
    const int row_bits = std::bit_width(n_rows);
    unit.constant = second.empty();
    // rows above; sums below, with a bit for what rounding may add to them
    unit.shift = unit.constant ? 0 : 62 - row_bits;
    const Extent firsts = measure(first, n_threads), seconds = measure(second, n_threads);
    const double first_scale = scale_for(firsts.most, std::min(kMostBits, 61 - row_bits));
    // Where one row has much more than others, their sum leaves more bits than so many of the largest would.
    const double second_scale =
        unit.constant ? 1
                      : std::min(scale_for(seconds.most, kMostBits), scale_for(seconds.sum, unit.shift - 1));
    const double weight = unit.constant ? static_cast<double>(first.size()) : seconds.sum;
    unit.chance = weight > 0 ? firsts.squares / weight : 0;
    unit.first = 1 / first_scale;
    unit.second = 1 / second_scale;
    at.resize(first.size());
    parallel_blocks(first.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            at[i].first = static_cast<std::int32_t>(std::nearbyint(first[i] * first_scale));
            at[i].second =
                unit.constant ? 0 : static_cast<std::int32_t>(std::nearbyint(second[i] * second_scale));
        }
    });
}

}  // namespace tritree::boosting
