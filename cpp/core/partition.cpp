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

/// Return the branch that a split sends each row to. Valid until the next call on the same thread.
std::span<Branch> branches_of(std::span<const std::uint32_t> rows, const CodedColumn& column,
                              const Rung& rung) {
    thread_local std::vector<Branch> branches;
    if (branches.size() < rows.size()) branches.resize(rows.size());
    Branch* to = branches.data();
    const std::uint32_t missing = column.missing();
    if (column.is_narrow()) {  // one look into a table instead of several questions
        std::array<Branch, 256> branch;
        for (std::uint32_t code = 0; code <= missing; ++code) branch[code] = rung.branch(code, missing);
        const std::uint8_t* codes = column.narrow.data();
        for (const std::uint32_t row : rows) *to++ = branch[codes[row]];
    } else if (!rung.categorical && !rung.missing_alone) {
        const std::uint16_t* codes = column.wide.data();
        for (const std::uint32_t row : rows) {
            const std::uint32_t code = codes[row];
            const Branch side = code <= rung.low ? Branch::Left : Branch::Right;
            *to++ = code == missing ? rung.missing_to : side;
        }
    } else {
        for (const std::uint32_t row : rows) *to++ = rung.branch(column.wide[row], missing);
    }
    return std::span(branches).first(rows.size());
}

/// Return the items that go left, right and third, each part in the order of the items.
template <class T>
std::array<std::vector<T>, 3> part(std::span<const T> items, std::span<const Branch> to) {
    std::array<std::vector<T>, 3> parts;
    for (const Branch branch : {Branch::Left, Branch::Right, Branch::Third})
        parts[static_cast<std::size_t>(branch)].resize(
            static_cast<std::size_t>(std::count(to.begin(), to.end(), branch)) + 1);
    // An item is written to all parts and kept in one: no branch to guess wrong, three times as fast.
    T *left = parts[0].data(), *right = parts[1].data(), *third = parts[2].data();
    const bool two_ways = parts[2].size() == 1;
    for (std::size_t i = 0; two_ways && i < items.size(); ++i) {
        *left = *right = items[i];
        const bool goes_left = to[i] == Branch::Left;
        left += goes_left;
        right += !goes_left;
    }
    for (std::size_t i = 0; !two_ways && i < items.size(); ++i) {
        *left = *right = *third = items[i];
        left += to[i] == Branch::Left;
        right += to[i] == Branch::Right;
        third += to[i] == Branch::Third;
    }
    for (auto& p : parts) p.pop_back();
    return parts;
}

}  // namespace

PartSizes part_rows(std::span<std::uint32_t> rows, const Codes& codes, const Rung& rung,
                    const std::vector<Surrogate>& surrogates) {
    const auto branches = branches_of(rows, codes.columns[rung.column], rung);
    if (rung.missing_to == Branch::Surrogates)
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (branches[i] == Branch::Surrogates)
                branches[i] = ask_surrogates(rows[i], codes, rung, surrogates);
    const auto parts = part<std::uint32_t>(rows, branches);
    auto to = rows.begin();
    for (const auto& p : parts) to = std::copy(p.begin(), p.end(), to);
    return {parts[0].size(), parts[1].size()};
}

RowParts parts_of(std::span<const std::uint32_t> rows, const Codes& codes, const Rung& rung) {
    auto [left, right, third] = part(rows, branches_of(rows, codes.columns[rung.column], rung));
    if (!std::is_sorted(rows.begin(), rows.end()))
        for (auto* unsorted : {&left, &right, &third}) put_in_order(*unsorted, codes.n_rows);
    return {std::move(left), std::move(right), std::move(third)};
}

std::array<Responses, 2> responses_of(std::span<const std::uint32_t> rows, const Responses& responses,
                                      const Codes& codes, const Rung& rung) {
    const auto to = branches_of(rows, codes.columns[rung.column], rung);
    auto y = part<double>(responses.y, to.first(responses.y.size()));
    auto label = part<std::int32_t>(responses.label, to.first(responses.label.size()));
    auto weight = part<double>(responses.weight, to.first(responses.weight.size()));
    std::array<Responses, 2> sides;
    for (std::size_t side = 0; side < 2; ++side) {
        std::size_t some = 0;
        while (some + 1 < rows.size() &&
               !(to[some] == static_cast<Branch>(side) && responses.weight_of(some) > 0))
            ++some;
        sides[side] = {std::move(y[side]), std::move(label[side]), std::move(weight[side]), rows[some]};
    }
    return sides;
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
