#include "sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/parallel.hpp"

namespace tritree::boosting {
namespace {

constexpr int kMostBits = 30;  // of one derivative
constexpr std::size_t kBlock = std::size_t{1} << 14;

/// Return `f` of each block of values, the same blocks whatever the threads.
template <class F>
std::vector<double> of_blocks(std::span<const double> values, int n_threads, F&& f) {
    std::vector<double> found((values.size() + kBlock - 1) / kBlock, 0);
    parallel_blocks(values.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        found[begin / kBlock] = f(values.subspan(begin, end - begin));
    });
    return found;
}

double largest(std::span<const double> values, int n_threads) {
    const auto found = of_blocks(values, n_threads, [](std::span<const double> some) {
        double most = 0;
        for (const double value : some) most = std::max(most, std::abs(value));
        return most;
    });
    return found.empty() ? 0 : *std::max_element(found.begin(), found.end());
}

template <class F>
double sum_of_blocks(std::span<const double> values, int n_threads, F&& f) {
    const auto found = of_blocks(values, n_threads, f);
    return std::accumulate(found.begin(), found.end(), 0.0);
}

double sum(std::span<const double> values, int n_threads) {
    return sum_of_blocks(values, n_threads, [](std::span<const double> some) {
        return std::accumulate(some.begin(), some.end(), 0.0);
    });
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
    const double first_scale = scale_for(largest(first, n_threads), std::min(kMostBits, 61 - row_bits));
    const double seconds = unit.constant ? static_cast<double>(first.size()) : sum(second, n_threads);
    // Where one row has much more than others, their sum leaves more bits than so many of the largest would.
    const double second_scale = unit.constant ? 1
                                              : std::min(scale_for(largest(second, n_threads), kMostBits),
                                                         scale_for(seconds, unit.shift - 1));
    const double squares = sum_of_blocks(first, n_threads, [](std::span<const double> some) {
        return std::inner_product(some.begin(), some.end(), some.begin(), 0.0);
    });
    unit.chance = seconds > 0 ? squares / seconds : 0;
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
