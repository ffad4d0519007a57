#include "part_sums.hpp"

#include <algorithm>
#include <bit>

#include "core/parallel.hpp"

namespace tritree::boosting {
namespace {

constexpr int kMostBits = 52;                   // of a whole row, so that every part is exact as a double
constexpr std::size_t kLeastRowsOfPart = 4096;  // fewer are not worth a histogram of their own

}  // namespace

PartUnit::PartUnit(const Gradients& gradients) : gradients_(&gradients) {
    // as fine as can be while the sum over all rows stays below 2^62
    const int bits = std::min(kMostBits, 62 - static_cast<int>(std::bit_width(gradients.at.size())));
    whole_ = std::int64_t{1} << bits;
    member_ = std::ldexp(1.0, -bits);
    second_ = gradients.unit.constant ? member_ : gradients.unit.second;
}

void count_parts(const CodeRows& codes, const Bins& bins, std::span<const Part> parts, const PartUnit& unit,
                 PartHistogram& histogram, int n_threads) {
    // stretches of parts are counted side by side; which are in which makes no difference to integers
    const std::size_t least =
        std::max(kLeastRowsOfPart, 2 * bins.n_cells() / std::max<std::size_t>(bins.n_columns(), 1));
    const std::size_t n =
        std::clamp<std::size_t>(parts.size() / least, 1, static_cast<std::size_t>(std::max(n_threads, 1)));
    histogram.assign(bins.n_cells(), PartCell{});
    std::vector<PartHistogram> others(n - 1);
    const std::size_t width = codes.width();
    codes.visit([&](const auto* first) {
        parallel_for(n, n_threads, [&](std::size_t number) {
            if (number > 0) others[number - 1].assign(bins.n_cells(), PartCell{});
            PartCell* const cells = (number == 0 ? histogram : others[number - 1]).data();
            const std::uint32_t* const offsets = bins.offsets.data();
            const std::size_t end = parts.size() * (number + 1) / n;
            for (std::size_t i = parts.size() * number / n; i < end; ++i) {
                const PartCell more = unit.cell(parts[i]);
                const auto* const code = first + std::size_t{parts[i].row} * width;
                for (std::size_t j = 0; j < width; ++j) cells[offsets[j] + code[j]] += more;
            }
        });
    });
    for (const PartHistogram& other : others)
        for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other[i];
}

}  // namespace tritree::boosting
