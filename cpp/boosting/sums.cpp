#include "sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/parallel.hpp"

namespace tritree::boosting {
namespace {

constexpr int kMostBits = 30;  // of one derivative
constexpr std::size_t kBlock = std::size_t{1} << 14;

double largest(std::span<const double> values, int n_threads) {
    const std::size_t n_blocks = (values.size() + kBlock - 1) / kBlock;
    std::vector<double> found(n_blocks, 0);
    parallel_blocks(values.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        double most = 0;
        for (std::size_t i = begin; i < end; ++i) most = std::max(most, std::abs(values[i]));
        found[begin / kBlock] = most;
    });
    return found.empty() ? 0 : *std::max_element(found.begin(), found.end());
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
    // rows above, then twice their bits for sums: what is left is for one derivative
    unit.shift = unit.constant ? 0 : 62 - row_bits;
    const double first_scale = scale_for(largest(first, n_threads), std::min(kMostBits, 61 - row_bits));
    const double second_scale = unit.constant ? 1
                                              : scale_for(largest(second, n_threads),
                                                          std::clamp(unit.shift - row_bits, 1, kMostBits));
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
