#include "common/random.hpp"

#include <numeric>

namespace tritree {

std::vector<std::uint32_t> sample_rows(std::size_t n_rows, std::size_t n, std::uint64_t seed,
                                       std::size_t first, std::size_t n_part) {
    std::vector<std::uint32_t> rows;
    if (n >= n_rows) {
        rows.resize(n_part);
        std::iota(rows.begin(), rows.end(), 0u);
        return rows;
    }
    rows.reserve(std::min(n, n_part));
    // selection sampling: a row is taken with probability (rows still needed) / (rows left)
    std::size_t needed = n;
    for (std::size_t row = 0; needed > 0 && row < first + n_part; ++row) {
        const double uniform = static_cast<double>(hash_seed(seed, row) >> 11) * 0x1p-53;
        if (uniform * static_cast<double>(n_rows - row) < static_cast<double>(needed)) {
            if (row >= first) rows.push_back(static_cast<std::uint32_t>(row - first));
            --needed;
        }
    }
    return rows;
}

}  // namespace tritree
