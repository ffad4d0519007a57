#include "partition.hpp"

#include <algorithm>
#include <bit>

namespace tritree {
namespace {

/// Return where the first surrogate that knows the row sends it, or else the larger side.
Branch ask_surrogates(std::uint32_t row, const Codes& codes, const Rung& rung,
                      const std::vector<Surrogate>& surrogates) {
    for (const Surrogate& surrogate : surrogates) {
        const CodedColumn& column = codes.columns[surrogate.column];
        const Branch side =
            column.visit([&](const auto* c) { return surrogate.side(c[row], column.missing()); });
        if (side != Branch::None) return side;
    }
    return rung.larger;
}

/// Sort rows by their number. The order of a node's rows means nothing, but a scan that reads the codes in
/// their order in memory is several times as fast.
void put_in_order(std::vector<std::uint32_t>& rows, std::size_t n_rows) {
    if (rows.size() < n_rows / 512) {
        std::sort(rows.begin(), rows.end());
        return;
    }
    std::vector<std::uint64_t> bits(n_rows / 64 + 1, 0);
    for (const std::uint32_t row : rows) bits[row / 64] |= std::uint64_t{1} << (row % 64);
    auto next = rows.begin();
    for (std::size_t word = 0; word < bits.size(); ++word)
        for (std::uint64_t left = bits[word]; left != 0; left &= left - 1)
            *next++ =
                static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(left)));
}

}  // namespace

PartSizes part_rows(std::span<std::uint32_t> rows, const Codes& codes, const Rung& rung,
                    const std::vector<Surrogate>& surrogates) {
    const CodedColumn& column = codes.columns[rung.column];
    PartSizes sizes;
    std::vector<std::uint32_t> right, third;
    right.reserve(rows.size() / 2);
    column.visit([&](const auto* c) {
        for (const std::uint32_t row : rows) {
            Branch to = rung.branch(c[row], column.missing());
            if (to == Branch::Surrogates) to = ask_surrogates(row, codes, rung, surrogates);
            if (to == Branch::Left)
                rows[sizes.left++] = row;  // never ahead of the row being read
            else
                (to == Branch::Right ? right : third).push_back(row);
        }
    });
    sizes.right = right.size();
    std::copy(third.begin(), third.end(), std::copy(right.begin(), right.end(), rows.begin() + sizes.left));
    return sizes;
}

std::vector<std::uint32_t> rows_on_side(std::span<const std::uint32_t> rows, const Codes& codes,
                                        const Rung& rung, Branch side) {
    const CodedColumn& column = codes.columns[rung.column];
    std::vector<std::uint32_t> list;
    column.visit([&](const auto* c) {
        for (const std::uint32_t row : rows)
            if (rung.branch(c[row], column.missing()) == side) list.push_back(row);
    });
    put_in_order(list, codes.n_rows);
    return list;
}

RowList rows_shared(const RowList& list, const Codes& codes, const Rung& rung, Branch side) {
    const CodedColumn& column = codes.columns[rung.column];
    const double share = side == Branch::Left ? rung.share : 1 - rung.share;
    RowList part;
    column.visit([&](const auto* c) {
        for (std::size_t i = 0; i < list.rows.size(); ++i) {
            const Branch to = rung.side(c[list.rows[i]], column.missing());
            if (to != side && to != Branch::None) continue;
            part.rows.push_back(list.rows[i]);
            part.membership.push_back(list.membership[i] * (to == Branch::None ? share : 1.0));
        }
    });
    return part;
}

}  // namespace tritree
