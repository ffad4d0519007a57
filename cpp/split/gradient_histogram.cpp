#include "split/gradient_histogram.hpp"

#include <algorithm>

#include "common/parallel.hpp"

namespace tritree {
namespace {

constexpr std::size_t kPrefetchRows = 24;
constexpr std::size_t kMinRowsPerTask = 4096;  // fewer are not worth a histogram of their own

#if defined(__GNUC__)
/// Adds both sums of a cell in one instruction.
using Pair = std::int64_t __attribute__((vector_size(16), may_alias));
inline void add(GradientCell& cell, const GradientCell& more) {
    reinterpret_cast<Pair&>(cell) += reinterpret_cast<const Pair&>(more);
}
inline void prefetch(const void* address) { __builtin_prefetch(address); }
#else
inline void add(GradientCell& cell, const GradientCell& more) { cell += more; }
inline void prefetch(const void*) {}
#endif

template <class Bin>
void accumulate(const Bin* bins, std::size_t n_columns, const std::uint32_t* offsets,
                std::span<const std::uint32_t> rows, const Gradients& gradients, GradientCell* cells) {
    const std::size_t n = rows.size();
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t ahead = rows[std::min(i + kPrefetchRows, n - 1)];
        prefetch(bins + std::size_t{ahead} * n_columns);
        prefetch(&gradients.pairs[ahead]);
        const std::uint32_t row = rows[i];
        const GradientCell more = gradients.scale.cell(gradients.pairs[row]);
        const Bin* const bin = bins + std::size_t{row} * n_columns;
        std::size_t j = 0;
        for (; j + 4 <= n_columns; j += 4) {
            add(cells[offsets[j] + bin[j]], more);
            add(cells[offsets[j + 1] + bin[j + 1]], more);
            add(cells[offsets[j + 2] + bin[j + 2]], more);
            add(cells[offsets[j + 3] + bin[j + 3]], more);
        }
        for (; j < n_columns; ++j) add(cells[offsets[j] + bin[j]], more);
    }
}

template <class Bin>
void accumulate(const Bin* bins, std::size_t n_columns, const std::uint32_t* offsets,
                std::span<const FractionalSample> samples, const FractionalScale& scale,
                FractionalCell* cells) {
    for (const FractionalSample& sample : samples) {
        const FractionalCell more = scale.cell(sample);
        const Bin* const bin = bins + std::size_t{sample.row} * n_columns;
        for (std::size_t j = 0; j < n_columns; ++j) cells[offsets[j] + bin[j]] += more;
    }
}

/// Build a histogram of samples. Threads accumulate blocks of samples into histograms of their own; sums are
/// integers, so the blocks do not change the result.
template <class Sample, class Statistic, class Cell>
void build(const BinnedRows& binned, const BinMapper& mapper, std::span<const Sample> samples,
           const Statistic& statistic, ColumnsHistogram<Cell>& histogram, int n_threads) {
    const std::size_t min_rows =
        std::max(kMinRowsPerTask, 2 * mapper.n_cells() / std::max<std::size_t>(mapper.n_columns(), 1));
    const std::size_t n_tasks = std::clamp<std::size_t>(samples.size() / min_rows, 1,
                                                        static_cast<std::size_t>(std::max(n_threads, 1)));
    histogram.assign(mapper.n_cells(), Cell{});
    std::vector<ColumnsHistogram<Cell>> others(n_tasks - 1);
    binned.visit([&](const auto* bins) {
        parallel_for(n_tasks, n_threads, [&](std::size_t task) {
            if (task > 0) others[task - 1].assign(mapper.n_cells(), Cell{});
            ColumnsHistogram<Cell>& into = task == 0 ? histogram : others[task - 1];
            const std::size_t begin = samples.size() * task / n_tasks;
            const std::size_t end = samples.size() * (task + 1) / n_tasks;
            accumulate(bins, binned.n_columns(), mapper.offsets.data(), samples.subspan(begin, end - begin),
                       statistic, into.data());
        });
    });
    for (const auto& other : others)
        for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other[i];
}

}  // namespace

void build_histogram(const BinnedRows& binned, const BinMapper& mapper, std::span<const std::uint32_t> rows,
                     const Gradients& gradients, GradientHistogram& histogram, int n_threads) {
    build(binned, mapper, rows, gradients, histogram, n_threads);
}

void build_histogram(const BinnedRows& binned, const BinMapper& mapper,
                     std::span<const FractionalSample> samples, const FractionalScale& scale,
                     FractionalHistogram& histogram, int n_threads) {
    build(binned, mapper, samples, scale, histogram, n_threads);
}

GradientCell sum_gradients(std::span<const std::uint32_t> rows, const Gradients& gradients, int n_threads) {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    std::vector<GradientCell> blocks((rows.size() + kBlock - 1) / kBlock);
    parallel_blocks(rows.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        GradientCell sum;
        for (std::size_t i = begin; i < end; ++i) sum += gradients.scale.cell(gradients.pairs[rows[i]]);
        blocks[begin / kBlock] = sum;
    });
    GradientCell total;
    for (const GradientCell& block : blocks) total += block;
    return total;
}

}  // namespace tritree
