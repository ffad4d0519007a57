#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/collective.hpp"
#include "common/uninitialized_vector.hpp"

namespace tritree {

/// Gradient and hessian of the loss at a row, in fixed point.
struct GradientPair {
    std::int32_t gradient, hessian;
};

/// Sum of gradient pairs: the gradients, and the hessians packed with the number of rows in the bits above.
struct alignas(16) GradientCell {
    std::int64_t gradient = 0, packed = 0;

    bool is_empty() const { return packed == 0; }
    GradientCell& operator+=(const GradientCell& other) {
        gradient += other.gradient;
        packed += other.packed;
        return *this;
    }
    GradientCell& operator-=(const GradientCell& other) {
        gradient -= other.gradient;
        packed -= other.packed;
        return *this;
    }
};

/// Sums of gradients and hessians as floating-point numbers.
struct GradientSums {
    double gradient = 0, hessian = 0;
    /// Unused, but without it gcc 12 compiles the split search to code that makes boosting an eighth slower.
    std::int64_t rows = 0;
};

/// Fixed-point scale of gradient pairs.
struct GradientScale {
    double gradient_unit = 1, hessian_unit = 1;  ///< values of one fixed-point unit
    int shift = 0;                               ///< bits below the number of rows in a packed sum
    bool constant_hessian = false;  ///< all hessians are `hessian_unit`; only rows are packed then
    double total_hessian = 0;       ///< of all rows
    double gain_by_chance = 0;      ///< sum gradient^2 / sum hessian: about the gain of a random parameter

    GradientCell cell(GradientPair pair) const {
        return {pair.gradient, (std::int64_t{1} << shift) + pair.hessian};
    }
    std::int64_t rows(const GradientCell& cell) const { return cell.packed >> shift; }
    GradientSums to_float(const GradientCell& cell) const {
        const std::int64_t n = rows(cell);
        const std::int64_t units = constant_hessian ? n : cell.packed - (n << shift);
        return {static_cast<double>(cell.gradient) * gradient_unit, static_cast<double>(units) * hessian_unit,
                n};
    }
};

/// Gradient pairs of the rows of a table, or of a part of it.
struct Gradients {
    GradientScale scale;  ///< follows from all rows of the table
    UninitializedVector<GradientPair> pairs;

    /// Convert gradients and hessians to fixed point, as fine as possible while no sum over the rows of the
    /// table exceeds 2^62. Empty `hessians` mean 1 for every row.
    void fill(std::span<const double> gradients, std::span<const double> hessians, const TablePart& part,
              int n_threads);

  private:
    void set_scale(std::span<const double> gradients, std::span<const double> hessians, const TablePart& part,
                   int n_threads);
};

/// A row, or a fraction of one, in a node under the strategy `fractional`.
struct FractionalSample {
    std::uint32_t row;
    std::int64_t membership;  ///< in units; a complete row has FractionalScale::whole()
};
using FractionalSamples = UninitializedVector<FractionalSample>;

/// Sum of gradient pairs over fractions of rows.
struct FractionalCell {
    std::int64_t gradient = 0, hessian = 0;
    std::int64_t membership = 0;
    std::int64_t rows = 0;  ///< a fraction of a row counts as one

    bool is_empty() const { return rows == 0; }
    FractionalCell& operator+=(const FractionalCell& other) {
        gradient += other.gradient;
        hessian += other.hessian;
        membership += other.membership;
        rows += other.rows;
        return *this;
    }
    FractionalCell& operator-=(const FractionalCell& other) {
        gradient -= other.gradient;
        hessian -= other.hessian;
        membership -= other.membership;
        rows -= other.rows;
        return *this;
    }
};

/// Fixed-point scale of fractions of rows. The gradient pair of a fraction is that of its row times the
/// fraction, rounded; so sums are integers here as well, and a complete row contributes what it does under
/// other strategies.
class FractionalScale {
  public:
    /// `n_rows` is that of the table.
    FractionalScale(const Gradients& gradients, std::size_t n_rows);

    std::int64_t whole() const { return whole_; }
    bool constant_hessian() const { return gradients_->scale.constant_hessian; }
    double gain_by_chance() const { return gradients_->scale.gain_by_chance; }

    FractionalCell cell(const FractionalSample& sample) const {
        const GradientPair pair = gradients_->pairs[sample.row];
        if (sample.membership == whole_)
            return {pair.gradient, constant_hessian() ? whole_ : pair.hessian, whole_, 1};
        const double row_fraction = fraction(sample);
        return {std::llrint(pair.gradient * row_fraction),
                constant_hessian() ? sample.membership : std::llrint(pair.hessian * row_fraction),
                sample.membership, 1};
    }
    double fraction(const FractionalSample& sample) const {
        return static_cast<double>(sample.membership) * membership_unit_;
    }
    GradientSums to_float(const FractionalCell& cell) const {
        return {static_cast<double>(cell.gradient) * gradients_->scale.gradient_unit,
                static_cast<double>(cell.hessian) * hessian_unit_};
    }
    /// Return the number of rows, each counted by its fraction.
    double memberships(const FractionalCell& cell) const {
        return static_cast<double>(cell.membership) * membership_unit_;
    }

  private:
    const Gradients* gradients_;
    std::int64_t whole_;
    double membership_unit_, hessian_unit_;
};

}  // namespace tritree
