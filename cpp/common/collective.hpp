#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tritree {

/// Combines numbers over the parts of a training table that are fitted together, each wherever it is. Every
/// part calls the same methods in the same order, each with its own numbers, and gets the same results. They
/// do not depend on how the table is divided, since sums are of integers.
class Collective {
  public:
    virtual ~Collective() = default;
    /// Replace each number by its sum over the parts.
    virtual void sum(std::span<std::int64_t> numbers) = 0;
    /// Replace each number by its largest value over the parts.
    virtual void max(std::span<double> numbers) = 0;
};

/// A part of a training table; by default, all of it.
struct TablePart {
    std::size_t first_row = 0;
    std::size_t n_rows = 0;                  ///< of the whole table
    std::shared_ptr<Collective> collective;  ///< null if the part is the whole table

    static TablePart whole(std::size_t n_rows) { return {0, n_rows, nullptr}; }
    bool is_whole() const { return collective == nullptr; }
    void sum(std::span<std::int64_t> numbers) const {
        if (collective) collective->sum(numbers);
    }
    void max(std::span<double> numbers) const {
        if (collective) collective->max(numbers);
    }
};

}  // namespace tritree
