#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/uninitialized_vector.hpp"

namespace tritree {

/// First and second derivative of the loss at a row, in fixed point.
struct GradientPair {
    std::int32_t first, second;
};

/// Sum of gradient pairs: first derivatives; second derivatives with the number of rows in the bits above them.
struct alignas(16) GradientCell {
    std::int64_t first = 0, packed = 0;

    bool is_empty() const { return packed == 0; }
    GradientCell& operator+=(const GradientCell& other) {
        first += other.first;
        packed += other.packed;
        return *this;
    }
    GradientCell& operator-=(const GradientCell& other) {
        first -= other.first;
        packed -= other.packed;
        return *this;
    }
};

/// Sums of derivatives as floating-point numbers.
struct GradientSums {
    double first = 0, second = 0;
    std::int64_t rows = 0;
};

/// Fixed-point scale of gradient pairs.
struct GradientScale {
    double first = 1, second = 1;   ///< value of one unit
    int shift = 0;                  ///< bits below the number of rows in a packed sum
    bool constant_hessian = false;  ///< second derivatives are all `second`; only rows are packed then
    double gain_by_chance = 0;      ///< sum first^2 / sum second: about the gain of a random parameter

    GradientCell cell(GradientPair pair) const {
        return {pair.first, (std::int64_t{1} << shift) + pair.second};
    }
    std::int64_t rows(const GradientCell& cell) const { return cell.packed >> shift; }
    GradientSums read(const GradientCell& cell) const {
        const std::int64_t n = rows(cell);
        const std::int64_t units = constant_hessian ? n : cell.packed - (n << shift);
        return {static_cast<double>(cell.first) * first, static_cast<double>(units) * second, n};
    }
};

/// Gradient pairs of all rows.
struct Gradients {
    GradientScale scale;
    UninitializedVector<GradientPair> pairs;

    /// Convert derivatives to fixed point, as fine as possible while no sum over `n_rows` of them exceeds 2^62.
    /// An empty `second` means 1 for every row.
    void fill(std::span<const double> first, std::span<const double> second, std::size_t n_rows, int n_threads);
};

/// A row, or a fraction of one, in a node under the strategy `fractional`.
struct FractionalSample {
    std::uint32_t row;
    std::int64_t membership;  ///< in units; a complete row has FractionalScale::whole()
};
using FractionalSamples = UninitializedVector<FractionalSample>;

/// Sum of gradient pairs over fractions of rows.
struct FractionalCell {
    std::int64_t first = 0, second = 0;
    std::int64_t membership = 0;
    std::int64_t rows = 0;  ///< a fraction of a row counts as one

    bool is_empty() const { return rows == 0; }
    FractionalCell& operator+=(const FractionalCell& other) {
        first += other.first;
        second += other.second;
        membership += other.membership;
        rows += other.rows;
        return *this;
    }
    FractionalCell& operator-=(const FractionalCell& other) {
        first -= other.first;
        second -= other.second;
        membership -= other.membership;
        rows -= other.rows;
        return *this;
    }
};

/// Fixed-point scale of fractions of rows. The derivatives of a fraction are those of its row times the
/// fraction, rounded; so sums are integers here, too, and a complete row counts as it does elsewhere.
class FractionalScale {
  public:
    explicit FractionalScale(const Gradients& gradients);

    std::int64_t whole() const { return whole_; }
    bool constant_hessian() const { return gradients_->scale.constant_hessian; }

    FractionalCell cell(const FractionalSample& sample) const {
        const GradientPair pair = gradients_->pairs[sample.row];
        if (sample.membership == whole_)
            return {pair.first, constant_hessian() ? whole_ : pair.second, whole_, 1};
        const double part = fraction(sample);
        return {std::llrint(pair.first * part),
                constant_hessian() ? sample.membership : std::llrint(pair.second * part), sample.membership, 1};
    }
    double fraction(const FractionalSample& sample) const {
        return static_cast<double>(sample.membership) * membership_;
    }
    GradientSums read(const FractionalCell& cell) const {
        return {static_cast<double>(cell.first) * gradients_->scale.first,
                static_cast<double>(cell.second) * second_, cell.rows};
    }
    /// Return the number of rows, each counted by its fraction.
    double memberships(const FractionalCell& cell) const {
        return static_cast<double>(cell.membership) * membership_;
    }

  private:
    const Gradients* gradients_;
    std::int64_t whole_;
    double membership_, second_;
};

}  // namespace tritree
