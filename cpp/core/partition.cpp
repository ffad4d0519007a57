#include "partition.hpp"

#include <algorithm>
#include <array>
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

/// Call `f(row, branch)` for every row, with the branch that the split sends it to.
template <class F>
void each_branch(std::span<const std::uint32_t> rows, const CodedColumn& column, const Rung& rung, F&& f) {
    const std::uint32_t missing = column.missing();
    if (column.is_narrow()) {  // one look into a table instead of several questions
        std::array<Branch, 256> branch;
        for (std::uint32_t code = 0; code <= missing; ++code) branch[code] = rung.branch(code, missing);
        const std::uint8_t* codes = column.narrow.data();
        for (const std::uint32_t row : rows) f(row, branch[codes[row]]);
    } else {
        for (const std::uint32_t row : rows) f(row, rung.branch(column.wide[row], missing));
    }
}

}  // namespace

PartSizes part_rows(std::span<std::uint32_t> rows, const Codes& codes, const Rung& rung,
                    const std::vector<Surrogate>& surrogates) {
    PartSizes sizes;
    std::vector<std::uint32_t> right(rows.size()), third;
    each_branch(rows, codes.columns[rung.column], rung, [&](std::uint32_t row, Branch to) {
        if (to == Branch::Surrogates) to = ask_surrogates(row, codes, rung, surrogates);
        if (to == Branch::Third) {
            third.push_back(row);
        } else {                     // written to both sides, and kept on one: no branch to guess wrong
            rows[sizes.left] = row;  // never ahead of the row being read
            right[sizes.right] = row;
            sizes.left += to == Branch::Left;
            sizes.right += to == Branch::Right;
        }
    });
    right.resize(sizes.right);
    std::copy(third.begin(), third.end(), std::copy(right.begin(), right.end(), rows.begin() + sizes.left));
    return sizes;
}

RowParts parts_of(std::span<const std::uint32_t> rows, const Codes& codes, const Rung& rung) {
    thread_local std::array<std::vector<std::uint32_t>, 3> scratch;
    for (auto& part : scratch)
        if (part.size() < rows.size()) part.resize(rows.size());
    std::uint32_t* const part[3] = {scratch[0].data(), scratch[1].data(), scratch[2].data()};
    static_assert(static_cast<int>(Branch::Left) == 0 && static_cast<int>(Branch::Third) == 2);
    std::size_t n_left = 0, n_right = 0, n_third = 0;
    // Written to all parts and kept in one: no branch to guess wrong.
    each_branch(rows, codes.columns[rung.column], rung, [&](std::uint32_t row, Branch to) {
        part[0][n_left] = part[1][n_right] = part[2][n_third] = row;
        n_left += to == Branch::Left;
        n_right += to == Branch::Right;
        n_third += to == Branch::Third;
    });
    RowParts parts{{part[0], part[0] + n_left}, {part[1], part[1] + n_right}, {part[2], part[2] + n_third}};
    if (!std::is_sorted(rows.begin(), rows.end()))
        for (auto* unsorted : {&parts.left, &parts.right, &parts.third})
            put_in_order(*unsorted, codes.n_rows);
    return parts;
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
