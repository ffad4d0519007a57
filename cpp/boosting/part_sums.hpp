#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "code_rows.hpp"
#include "sums.hpp"

namespace tritree::boosting {

/// A row that is in a node, or that part of it that is: so many of the units that a whole row has.
struct Part {
    std::uint32_t row;
    std::int64_t member;
};
using Parts = Items<Part>;

/// What is summed over parts of rows.
struct PartCell {
    std::int64_t first = 0, second = 0;
    std::int64_t member = 0;  ///< how much there is of the rows, in units
    std::int64_t rows = 0;    ///< a part counts as one

    bool is_empty() const { return rows == 0; }
    PartCell& operator+=(const PartCell& other) {
        first += other.first;
        second += other.second;
        member += other.member;
        rows += other.rows;
        return *this;
    }
    PartCell& operator-=(const PartCell& other) {
        first -= other.first;
        second -= other.second;
        member -= other.member;
        rows -= other.rows;
        return *this;
    }
};
using PartHistogram = std::vector<PartCell>;  ///< laid out as `Histogram`

/// In which units parts of rows are counted. A part has that much of its row's derivatives, rounded to whole
/// units: so sums over parts are integers as well, and a row that was never parted counts as it always does.
class PartUnit {
  public:
    explicit PartUnit(const Gradients& gradients);

    std::int64_t whole() const { return whole_; }
    bool constant() const { return gradients_->unit.constant; }

    PartCell cell(const Part& part) const {
        const Gradient gradient = gradients_->at[part.row];
        if (part.member == whole_) return {gradient.first, constant() ? whole_ : gradient.second, whole_, 1};
        const double in_it = share(part);
        return {std::llrint(gradient.first * in_it),
                constant() ? part.member : std::llrint(gradient.second * in_it), part.member, 1};
    }
    /// Return how much of its row a part is.
    double share(const Part& part) const { return static_cast<double>(part.member) * member_; }
    Sums read(const PartCell& cell) const {
        return {static_cast<double>(cell.first) * gradients_->unit.first,
                static_cast<double>(cell.second) * second_, cell.rows};
    }
    /// Return how many rows there are, each counted by its part.
    double members(const PartCell& cell) const { return static_cast<double>(cell.member) * member_; }

  private:
    const Gradients* gradients_;
    std::int64_t whole_;
    double member_, second_;
};

/// Count parts of rows into a histogram, which is made anew.
void count_parts(const CodeRows& codes, const Bins& bins, std::span<const Part> parts, const PartUnit& unit,
                 PartHistogram& histogram, int n_threads);

}  // namespace tritree::boosting
