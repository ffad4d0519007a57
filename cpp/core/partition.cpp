#include "partition.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

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

/// Make room for so many items, and give back the memory of a much larger node.
template <class T>
void make_room(std::vector<T>& buffer, std::size_t n) {
    constexpr std::size_t kLittle = 1 << 16;
    if (buffer.size() < n || (buffer.size() > kLittle && buffer.size() / 8 > n)) buffer = std::vector<T>(n);
}

/// Return the branch that a split sends each row to. Valid until the next call on the same thread.
std::span<Branch> branches_of(std::span<const std::uint32_t> rows, const CodedColumn& column,
                              const Rung& rung) {
    thread_local std::vector<Branch> branches;
    make_room(branches, rows.size());
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

/// Items by where they go. They are written to all parts and kept in one: there is no branch to guess wrong,
/// which takes a third of the time. Memory is used again by the next items.
template <class T>
class Parts {
  public:
    void take(std::span<const T> items, std::span<const Branch> to) {
        for (auto& part : parts_) make_room(part, items.size() + 1);
        T *left = parts_[0].data(), *right = parts_[1].data(), *third = parts_[2].data();
        if (std::find(to.begin(), to.end(), Branch::Third) == to.end()) {
            for (std::size_t i = 0; i < items.size(); ++i) {
                *left = *right = items[i];
                const bool goes_left = to[i] == Branch::Left;
                left += goes_left;
                right += !goes_left;
            }
        } else {
            for (std::size_t i = 0; i < items.size(); ++i) {
                *left = *right = *third = items[i];
                left += to[i] == Branch::Left;
                right += to[i] == Branch::Right;
                third += to[i] == Branch::Third;
            }
        }
        ends_ = {left, right, third};
    }
    std::span<const T> part(Branch branch) const {
        const auto k = static_cast<std::size_t>(branch);
        return {parts_[k].data(), ends_[k]};
    }

  private:
    std::array<std::vector<T>, 3> parts_;
    std::array<const T*, 3> ends_{};
};

}  // namespace

PartSizes part_rows(std::span<std::uint32_t> rows, const Codes& codes, const Rung& rung,
                    const std::vector<Surrogate>& surrogates) {
    const auto branches = branches_of(rows, codes.columns[rung.column], rung);
    if (rung.missing_to == Branch::Surrogates)
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (branches[i] == Branch::Surrogates)
                branches[i] = ask_surrogates(rows[i], codes, rung, surrogates);
    // In place: only what goes right or third needs memory of its own, and the root has many rows.
    auto count = [&](Branch side) {
        return static_cast<std::size_t>(std::count(branches.begin(), branches.end(), side));
    };
    const PartSizes sizes{count(Branch::Left), count(Branch::Right)};
    std::vector<std::uint32_t> right(sizes.right + 1), third(rows.size() - sizes.left - sizes.right + 1);
    std::uint32_t *to_left = rows.data(), *to_right = right.data(), *to_third = third.data();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint32_t row = rows[i];
        *to_left = *to_right = *to_third = row;  // left is never ahead of the row being read
        to_left += branches[i] == Branch::Left;
        to_right += branches[i] == Branch::Right;
        to_third += branches[i] == Branch::Third;
    }
    to_left = std::copy(right.data(), to_right, to_left);
    std::copy(third.data(), to_third, to_left);
    return sizes;
}

RowParts parts_of(std::span<const std::uint32_t> rows, const Codes& codes, const Rung& rung) {
    thread_local Parts<std::uint32_t> parts;
    parts.take(rows, branches_of(rows, codes.columns[rung.column], rung));
    RowParts found;
    const bool sorted = std::is_sorted(rows.begin(), rows.end());
    for (auto [side, list] : {std::pair(Branch::Left, &found.left), std::pair(Branch::Right, &found.right),
                              std::pair(Branch::Third, &found.third)}) {
        const auto part = parts.part(side);
        list->assign(part.begin(), part.end());
        if (!sorted) put_in_order(*list, codes.n_rows);
    }
    return found;
}

std::array<Responses, 2> part_responses(std::span<const std::uint32_t> rows, const Responses& responses,
                                        const Codes& codes, const Rung& rung) {
    thread_local Parts<double> y, weight;
    thread_local Parts<std::int32_t> label;
    const auto to = branches_of(rows, codes.columns[rung.column], rung);
    if (!responses.y.empty()) y.take(responses.y, to);
    if (!responses.label.empty()) label.take(responses.label, to);
    if (!responses.weight.empty()) weight.take(responses.weight, to);
    std::array<Responses, 2> sides;
    for (const Branch side : {Branch::Left, Branch::Right}) {
        Responses& found = sides[static_cast<std::size_t>(side)];
        if (!responses.y.empty()) found.y = y.part(side);
        if (!responses.label.empty()) found.label = label.part(side);
        if (!responses.weight.empty()) found.weight = weight.part(side);
        std::size_t some = 0;
        while (some + 1 < rows.size() &&
               !(to[some] == side && (responses.weight.empty() || responses.weight[some] > 0)))
            ++some;
        found.some_row = rows[some];
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
