#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tritree {

// Sums over rows are 64-bit integers: each term is rounded to a multiple of a power of two. Integer sums do
// not depend on the order of the rows, so trees do not depend on threads, on the order of growth, or on
// whether a histogram was accumulated or obtained by subtraction.

/// The fixed-point scale of a node: w (y - center) is rounded to a multiple of 1 / sum_scale, its square over
/// w to a multiple of 1 / square_scale, and w to a multiple of 1 / weight_scale, as fine as possible while no
/// sum over the rows of the node exceeds 2^61. Scales are powers of two. A child keeps its parent's scale
/// where that represents its loss well, or its own would be less than 2^10 times finer.
struct FixedPointScale {
    double center = 0;
    double sum_scale = 1;
    double square_scale = 1;
    double weight_scale = 1;

    bool operator==(const FixedPointScale&) const = default;
    /// Return whether a child with this scale should have it instead of that of its parent.
    bool is_much_finer_than(const FixedPointScale& parent) const {
        constexpr int kMinFinerBits = 10;
        return weight_scale >= std::ldexp(parent.weight_scale, kMinFinerBits) ||
               sum_scale >= std::ldexp(parent.sum_scale, kMinFinerBits);
    }
};

/// Return the power of two by which magnitudes up to `largest` can be scaled so that `n` of them sum to at
/// most 2^61.
inline double scale_to_fit(double largest, std::size_t n) {
    if (!(largest > 0)) return 1;
    const int exponent =
        60 - std::ilogb(largest) - std::ilogb(static_cast<double>(std::max<std::size_t>(n, 1))) - 1;
    return std::ldexp(1.0, std::clamp(exponent, -1000, 1000));
}

/// Return the power of two that scales magnitudes up to `largest` to integers of at most `bits` bits.
inline double scale_to_bits(double largest, int bits) {
    if (!(largest > 0)) return 1;
    int exponent = 0;
    std::frexp(largest, &exponent);  // largest < 2^exponent
    return std::ldexp(1.0, std::clamp(bits - exponent, -1000, 1000));
}

/// Return the power of two that scales `largest` to about 1; it and its inverse are finite.
inline double normalizing_scale(double largest) {
    return largest > 0 ? std::ldexp(1.0, -std::clamp(std::ilogb(largest) + 1, -1000, 1000)) : 1.0;
}

}  // namespace tritree
