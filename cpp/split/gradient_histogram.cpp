#include "split/gradient_histogram.hpp"

#include <algorithm>

#include "common/parallel.hpp"

namespace tritree {
namespace {

constexpr std::size_t kPrefetchRows = 24;
constexpr std::size_t kMinRowsPerTask = 4096;  // fewer are not worth a histogram of their own
constexpr std::size_t kMaxColumns =
    64;  // of a block: the histograms of 255 bins take a quarter of a megabyte

#if defined(__GNUC__)
/// Both sums of a cell in one register. It is made from the two halves: read from a cell that was just
/// written by halves, it would have to wait for memory.
using Pair = std::int64_t __attribute__((vector_size(16), may_alias));
inline Pair pair_of(const GradientCell& cell) { return Pair{cell.gradient, cell.packed}; }
inline void add(GradientCell& cell, const Pair& more) { reinterpret_cast<Pair&>(cell) += more; }
inline void prefetch(const void* address) { __builtin_prefetch(address); }
#else
using Pair = GradientCell;
inline Pair pair_of(const GradientCell& cell) { return cell; }
inline void add(GradientCell& cell, const Pair& more) { cell += more; }
inline void prefetch(const void*) {}
#endif

/// Adjacent columns, and the bins of the first row in the first of them.
template <class Bin>
struct ColumnBlock {
    const Bin* bins;
    std::size_t stride, n_columns;
    const std::uint32_t* offsets;
};

template <class Bin>
void accumulate(const ColumnBlock<Bin>& block, std::span<const std::uint32_t> rows,
                const Gradients& gradients, GradientCell* cells) {
    const auto [bins, stride, n_columns, offsets] = block;
    const std::size_t n = rows.size();
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t ahead = rows[std::min(i + kPrefetchRows, n - 1)];
        prefetch(bins + std::size_t{ahead} * stride);
        prefetch(&gradients.pairs[ahead]);
        const std::uint32_t row = rows[i];
        const Pair more = pair_of(gradients.scale.cell(gradients.pairs[row]));
        const Bin* const bin = bins + std::size_t{row} * stride;
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
void accumulate(const ColumnBlock<Bin>& block, std::span<const FractionalSample> samples,
                const FractionalScale& scale, FractionalCell* cells) {
    for (const FractionalSample& sample : samples) {
        const FractionalCell more = scale.cell(sample);
        const Bin* const bin = block.bins + std::size_t{sample.row} * block.stride;
        for (std::size_t j = 0; j < block.n_columns; ++j) cells[block.offsets[j] + bin[j]] += more;
    }
}

/// Build a histogram of samples, block of columns by block of columns. Where there are fewer blocks than
/// threads, these accumulate parts of the samples into histograms of their own; sums are integers, so the
/// parts do not change the result.
template <class Sample, class Statistic, class Cell>
void build(const BinnedRows& binned, const BinMapper& mapper, std::span<const Sample> samples,
           const Statistic& statistic, ColumnsHistogram<Cell>& histogram, int n_threads) {
    const std::size_t n_columns = mapper.n_columns();
    const std::size_t n_blocks = std::max<std::size_t>((n_columns + kMaxColumns - 1) / kMaxColumns, 1);
    const std::size_t max_parts =
        (static_cast<std::size_t>(std::max(n_threads, 1)) + n_blocks - 1) / n_blocks;
    const std::size_t min_rows =
        std::max(kMinRowsPerTask, 2 * mapper.n_cells() / std::max<std::size_t>(n_columns, 1));
    const std::size_t n_parts = std::clamp<std::size_t>(samples.size() / min_rows, 1, max_parts);
    histogram.assign(mapper.n_cells(), Cell{});
    std::vector<ColumnsHistogram<Cell>> others(n_parts - 1);
    for (auto& other : others) other.assign(mapper.n_cells(), Cell{});
    const int n_working = n_parts > 1 ? n_threads : threads_for(samples.size() * n_columns, n_threads);
    binned.visit([&](const auto* bins) {
        parallel_for(n_parts * n_blocks, n_working, [&](std::size_t task) {
            const std::size_t part = task / n_blocks, block = task % n_blocks;
            const std::size_t first = n_columns * block / n_blocks, last = n_columns * (block + 1) / n_blocks;
            const std::size_t begin = samples.size() * part / n_parts,
                              end = samples.size() * (part + 1) / n_parts;
            ColumnsHistogram<Cell>& into = part == 0 ? histogram : others[part - 1];
            accumulate(ColumnBlock{bins + first, n_columns, last - first, mapper.offsets.data() + first},
                       samples.subspan(begin, end - begin), statistic, into.data());
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
