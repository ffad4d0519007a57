#include "counting.hpp"

#include <algorithm>
#include <array>

#include "core/parallel.hpp"

namespace tritree::boosting {
namespace {

constexpr std::size_t kAhead = 24;              // rows that are fetched ahead
constexpr std::size_t kLeastRowsOfPart = 4096;  // fewer are not worth a histogram of their own

#if defined(__GNUC__)
/// Both sums of a cell, added at once.
using Pair = std::int64_t __attribute__((vector_size(16), may_alias));
inline void add_to(Cell& cell, const Cell& more) {
    reinterpret_cast<Pair&>(cell) += reinterpret_cast<const Pair&>(more);
}
inline void fetch(const void* from) { __builtin_prefetch(from); }
#else
inline void add_to(Cell& cell, const Cell& more) { cell += more; }
inline void fetch(const void*) {}
#endif

template <class Code>
void count_part(const Code* codes, std::size_t width, const std::uint32_t* offsets,
                std::span<const std::uint32_t> rows, const Gradients& gradients, Cell* cells) {
    const std::size_t n = rows.size();
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t ahead = rows[std::min(i + kAhead, n - 1)];
        fetch(codes + std::size_t{ahead} * width);
        fetch(&gradients.at[ahead]);
        const std::uint32_t row = rows[i];
        const Cell more = gradients.unit.cell(gradients.at[row]);
        const Code* const code = codes + std::size_t{row} * width;
        std::size_t j = 0;
        for (; j + 4 <= width; j += 4) {
            add_to(cells[offsets[j] + code[j]], more);
            add_to(cells[offsets[j + 1] + code[j + 1]], more);
            add_to(cells[offsets[j + 2] + code[j + 2]], more);
            add_to(cells[offsets[j + 3] + code[j + 3]], more);
        }
        for (; j < width; ++j) add_to(cells[offsets[j] + code[j]], more);
    }
}

}  // namespace

void count_rows(const CodeRows& codes, const Bins& bins, std::span<const std::uint32_t> rows,
                const Gradients& gradients, Histogram& histogram, int n_threads) {
    // parts are counted apart; which rows are in which makes no difference to integers
    const std::size_t least =
        std::max(kLeastRowsOfPart, 2 * bins.n_cells() / std::max<std::size_t>(bins.n_columns(), 1));
    const std::size_t n_parts =
        std::clamp<std::size_t>(rows.size() / least, 1, static_cast<std::size_t>(std::max(n_threads, 1)));
    histogram.assign(bins.n_cells(), Cell{});
    std::vector<Histogram> others(n_parts - 1);
    codes.visit([&](const auto* first) {
        parallel_for(n_parts, n_threads, [&](std::size_t part) {
            if (part > 0) others[part - 1].assign(bins.n_cells(), Cell{});
            Histogram& into = part == 0 ? histogram : others[part - 1];
            const std::size_t begin = rows.size() * part / n_parts, end = rows.size() * (part + 1) / n_parts;
            count_part(first, codes.width(), bins.offsets.data(), rows.subspan(begin, end - begin), gradients,
                       into.data());
        });
    });
    for (const Histogram& other : others)
        for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other[i];
}

void subtract(Histogram& histogram, const Histogram& other) {
    for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] -= other[i];
}

Cell sum_rows(std::span<const std::uint32_t> rows, const Gradients& gradients, int n_threads) {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    std::vector<Cell> parts((rows.size() + kBlock - 1) / kBlock);
    parallel_blocks(rows.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        Cell sum;
        for (std::size_t i = begin; i < end; ++i) sum += gradients.unit.cell(gradients.at[rows[i]]);
        parts[begin / kBlock] = sum;
    });
    Cell total;
    for (const Cell& part : parts) total += part;
    return total;
}

}  // namespace tritree::boosting
