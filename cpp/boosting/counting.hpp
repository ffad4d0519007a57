#pragma once

#include <span>
#include <vector>

#include "code_rows.hpp"
#include "sums.hpp"

namespace tritree::boosting {

/// The cells of all codes of all columns; those of a column begin at its offset, missing is its last.
using Histogram = std::vector<Cell>;

/// Count rows into a histogram, which is made anew.
void count_rows(const CodeRows& codes, const Bins& bins, std::span<const std::uint32_t> rows,
                const Gradients& gradients, Histogram& histogram, int n_threads);

/// Take `other` off a histogram.
void subtract(Histogram& histogram, const Histogram& other);

/// Return the sum over rows.
Cell sum_rows(std::span<const std::uint32_t> rows, const Gradients& gradients, int n_threads);

}  // namespace tritree::boosting
