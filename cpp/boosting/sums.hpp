#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/items.hpp"

namespace tritree::boosting {

/// The first and second derivative of the loss at a row, in whole units.
struct Gradient {
    std::int32_t first, second;
};

/// What is summed over rows: first derivatives, and second derivatives with the number of rows above them.
/// Integers, so that sums do not depend on the order of rows or on threads.
struct alignas(16) Cell {
    std::int64_t first = 0, packed = 0;

    bool is_empty() const { return packed == 0; }

    Cell& operator+=(const Cell& other) {
        first += other.first;
        packed += other.packed;
        return *this;
    }
    Cell& operator-=(const Cell& other) {
        first -= other.first;
        packed -= other.packed;
        return *this;
    }
};

/// Sums in the user's unit.
struct Sums {
    double first = 0, second = 0;
    std::int64_t rows = 0;
};

/// In which units derivatives are counted, and where the number of rows begins in a packed sum.
struct Unit {
    double first = 1, second = 1;
    int shift = 0;          ///< bits below the number of rows
    bool constant = false;  ///< every row's second derivative is `second`; then rows are all that is packed
    double chance = 0;      ///< squares of first derivatives by second ones: about what chance gains

    Cell cell(Gradient gradient) const {
        return {gradient.first, (std::int64_t{1} << shift) + gradient.second};
    }
    std::int64_t rows(const Cell& cell) const { return cell.packed >> shift; }
    Sums read(const Cell& cell) const {
        const std::int64_t n = rows(cell);
        const std::int64_t units = constant ? n : cell.packed - (n << shift);
        return {static_cast<double>(cell.first) * first, static_cast<double>(units) * second, n};
    }
};

/// The derivatives of rows, in whole units.
struct Gradients {
    Unit unit;
    Items<Gradient> at;

    /// Fill in derivatives, as fine as can be while no sum over `n_rows` of them passes 2^62. An empty
    /// `second` is 1 in every row.
    void fill(std::span<const double> first, std::span<const double> second, std::size_t n_rows,
              int n_threads);
};

}  // namespace tritree::boosting
