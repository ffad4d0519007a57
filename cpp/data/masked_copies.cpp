#include "data/masked_copies.hpp"

#include <cstddef>
#include <vector>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace tritree {
namespace {

/// Return a number in [0, 1) that is a hash of two numbers.
double hash_to_unit(std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(hash_seed(a, b) >> 11) * 0x1p-53;
}

template <class Bin>
void append_copies(TableVector<Bin>& bins, std::size_t n_copies, std::uint32_t missing_bin,
                   std::uint64_t row_seed, std::uint64_t cell_seed) {
    const std::size_t n_rows = bins.size();
    bins.resize(n_rows * (n_copies + 1));
    for (std::size_t row = n_rows; row < bins.size(); ++row) {
        const bool is_masked = hash_to_unit(cell_seed, row) < hash_to_unit(row_seed, row);
        bins[row] = is_masked ? static_cast<Bin>(missing_bin) : bins[row % n_rows];
    }
}

}  // namespace

BinnedColumns with_masked_copies(const BinnedColumns& binned, std::size_t n_copies, std::uint64_t seed,
                                 int n_threads) {
    BinnedColumns copies = binned;
    copies.n_rows = binned.n_rows * (n_copies + 1);
    parallel_for(copies.columns.size(), n_threads, [&](std::size_t j) {
        BinnedColumn& column = copies.columns[j];
        const std::uint64_t cell_seed = hash_seed(seed, j + 1);
        if (column.fits_uint8())
            append_copies(column.bins8, n_copies, column.missing_bin(), seed, cell_seed);
        else
            append_copies(column.bins16, n_copies, column.missing_bin(), seed, cell_seed);
    });
    return copies;
}

}  // namespace tritree
