#include "grow/background.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tritree {
namespace {

/// Clear the marks of rows that go from a node neither to `to_left` nor to `to_right`.
template <class Bin>
void keep_rows(const Bin* bins, const BinnedTree& tree, std::int32_t node, std::int32_t to_left,
               std::int32_t to_right, std::span<std::uint8_t> marks) {
    const PackedNode& packed = tree.nodes[static_cast<std::size_t>(node)];
    if (packed.categorical) {
        std::vector<std::uint8_t> keeps(packed.missing_bin + 2u);
        for (std::uint32_t bin = 0; bin < keeps.size(); ++bin) {
            const std::int32_t to = tree.next(node, bin);
            keeps[bin] = to == to_left || to == to_right;
        }
        for (std::size_t row = 0; row < marks.size(); ++row) marks[row] &= keeps[bins[row]];
        return;
    }
    const auto keeps = [&](std::int32_t to) {
        return static_cast<std::uint8_t>(to == to_left || to == to_right);
    };
    const std::uint8_t left = keeps(packed.next[0]), right = keeps(packed.next[1]),
                       missing = keeps(packed.next[2]);
    const auto first_right = static_cast<Bin>(packed.first_right_bin);
    const auto missing_bin = static_cast<Bin>(packed.missing_bin);
    for (std::size_t row = 0; row < marks.size(); ++row) {  // without branches, to be vectorised
        const Bin bin = bins[row];
        const std::uint8_t side = bin < first_right ? left : right;
        marks[row] &= bin == missing_bin ? missing : side;
    }
}

/// Return how many marks are set: parts that fit into a byte are counted in bytes.
std::size_t count_marks(std::span<const std::uint8_t> marks) {
    constexpr std::size_t kPart = 240;
    std::size_t n = 0;
    for (std::size_t begin = 0; begin < marks.size(); begin += kPart) {
        std::uint8_t part = 0;
        for (const std::uint8_t mark : marks.subspan(begin, std::min(kPart, marks.size() - begin)))
            part = static_cast<std::uint8_t>(part + mark);
        n += part;
    }
    return n;
}

/// Copy a row of bins, in pieces of which the last two may overlap: memcpy of few bytes whose number is not
/// known takes twice as long.
inline void copy_row(const void* from, std::size_t n_bytes, void* into) {
    constexpr std::size_t kPiece = 16;
    const auto* const source = static_cast<const char*>(from);
    auto* const target = static_cast<char*>(into);
    if (n_bytes < kPiece) {
        std::memcpy(target, source, n_bytes);
        return;
    }
    for (std::size_t at = 0; at + kPiece < n_bytes; at += kPiece)
        std::memcpy(target + at, source + at, kPiece);
    std::memcpy(target + n_bytes - kPiece, source + n_bytes - kPiece, kPiece);
}

}  // namespace

CoarseBins::CoarseBins(const BinMapper& fine) {
    std::vector<ColumnBins> columns;
    for (const ColumnBins& column : fine.columns) {
        const std::uint32_t n = column.n_bins;
        const std::uint32_t n_coarse = column.categorical ? n : std::min(n, kMaxBins);
        std::vector<std::uint16_t> coarse(n + 1), first(n_coarse + 1, static_cast<std::uint16_t>(n));
        for (std::uint32_t bin = n; bin-- > 0;) {
            coarse[bin] = static_cast<std::uint16_t>(std::uint64_t{bin} * n_coarse / n);
            first[coarse[bin]] = static_cast<std::uint16_t>(bin);
        }
        coarse[n] = static_cast<std::uint16_t>(n_coarse);
        columns.push_back({column.categorical, n_coarse, {}, {}});
        coarse_bin.push_back(std::move(coarse));
        first_fine_bin.push_back(std::move(first));
    }
    mapper = BinMapper(std::move(columns));
}

BackgroundRows::BackgroundRows(BinnedRows rows_, std::vector<double> weight_, const BinMapper& mapper)
    : rows(std::move(rows_)),
      weight(std::move(weight_)),
      coarse(mapper),
      coarse_rows(rows.n_rows(), coarse.mapper) {
    const std::size_t n_columns = rows.n_columns();
    coarse_rows.visit([&](auto* into) {
        rows.visit([&](const auto* from) {
            for (std::size_t i = 0; i < rows.n_rows() * n_columns; ++i)
                into[i] = static_cast<std::remove_reference_t<decltype(*into)>>(
                    coarse.coarse_bin[i % n_columns][from[i]]);
        });
    });
    columns.n_rows = rows.n_rows();
    columns.columns.resize(n_columns);
    rows.visit([&](const auto* from) {
        for (std::size_t j = 0; j < n_columns; ++j) {
            BinnedColumn& column = columns.columns[j];
            column.n_bins = mapper.columns[j].n_bins;
            const auto copy = [&](auto& into) {
                into.resize(columns.n_rows);
                for (std::size_t row = 0; row < columns.n_rows; ++row)
                    into[row] =
                        static_cast<std::remove_reference_t<decltype(into[row])>>(from[row * n_columns + j]);
            };
            column.fits_uint8() ? copy(column.bins8) : copy(column.bins16);
        }
    });
}

BinnedRows BackgroundRows::gather_coarse(std::span<const std::uint32_t> which) const {
    const std::size_t n_columns = rows.n_columns();
    BinnedRows gathered(which.size(), coarse.mapper);
    gathered.visit([&](auto* into) {
        coarse_rows.visit([&](const auto* from) {  // bins of the same type
            for (std::size_t i = 0; i < which.size(); ++i)
                copy_row(from + which[i] * n_columns, n_columns * sizeof(*from), into + i * n_columns);
        });
    });
    return gathered;
}

BackgroundRows::NodeRows BackgroundRows::rows_observed_at(const BinnedTree& tree, std::int32_t node,
                                                          std::size_t max_rows) const {
    const std::size_t n = rows.n_rows();
    std::vector<std::uint8_t> marks(n, 1);
    const auto keep = [&](std::int32_t at, std::int32_t to_left, std::int32_t to_right) {
        columns.columns[tree.nodes[static_cast<std::size_t>(at)].column].visit(
            [&](const auto* bins) { keep_rows(bins, tree, at, to_left, to_right, marks); });
    };
    const PackedNode& packed = tree.nodes[static_cast<std::size_t>(node)];
    keep(node, packed.next[0], packed.next[1]);
    for (std::int32_t below = node, at = tree.parent[static_cast<std::size_t>(node)]; at >= 0;
         below = std::exchange(at, tree.parent[static_cast<std::size_t>(at)]))
        keep(at, below, below);
    const std::size_t n_found = count_marks(marks), n_taken = std::min(n_found, max_rows);
    std::vector<std::uint32_t> found(n_taken + 1);
    const std::size_t start = tree.path[static_cast<std::size_t>(node)] % std::max<std::size_t>(n, 1);
    std::size_t n_kept = 0;
    const auto take = [&](std::size_t begin, std::size_t end) {
        // each row is written, and kept if it is marked: there is no branch to mispredict
        for (std::size_t row = begin; row < end && n_kept < n_taken; ++row) {
            found[n_kept] = static_cast<std::uint32_t>(row);
            n_kept += marks[row];
        }
        return n_kept;
    };
    const std::size_t n_after = take(start, n);
    take(0, start);
    found.resize(n_taken);
    std::rotate(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n_after), found.end());
    const double n_rows_per_row =
        found.empty() ? 1 : static_cast<double>(n_found) / static_cast<double>(found.size());
    return {std::move(found), n_rows_per_row};
}

}  // namespace tritree
