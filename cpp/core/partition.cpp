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
    std::size_t distinct = 0;
    for (const std::uint64_t word : bits) distinct += static_cast<std::size_t>(std::popcount(word));
    if (distinct < rows.size()) {  // some are there twice
        std::sort(rows.begin(), rows.end());
        return;
    }
    auto next = rows.begin();
    for (std::size_t word = 0; word < bits.size(); ++word)
        for (std::uint64_t left = bits[word]; left != 0; left &= left - 1)
            *next++ =
                static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(left)));
}

/// Have as many items as a node needs, and give back the memory of a much larger one.
template <class T>
void fit_to(std::vector<T>& buffer, std::size_t n) {
    constexpr std::size_t kLittle = 1 << 16;
    if (buffer.size() < n || (buffer.size() > kLittle && buffer.size() / 8 > n)) buffer = std::vector<T>(n);
}

/// Return the branch that a split sends each row to. Valid until the next call on the same thread.
std::span<Branch> branches_of(std::span<const std::uint32_t> rows, const CodedColumn& column,
                              const Rung& rung) {
    thread_local std::vector<Branch> branches;
    fit_to(branches, rows.size());
    Branch* to = branches.data();
    const std::uint32_t missing = column.missing();
    if (column.is_narrow() && rows.size() < missing / 4) {
        for (const std::uint32_t row : rows) *to++ = rung.branch(column.narrow[row], missing);
    } else if (column.is_narrow()) {  // one look into a table instead of several questions
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

/// Write each item to all parts and keep it in one: there is no branch to guess wrong, which takes a third of
/// the time. Every part has room for one item more than it keeps.
template <class T>
void deal(std::span<const T> items, std::span<const Branch> branches, bool thirds, std::array<T*, 3> parts) {
    auto [left, right, third] = parts;
    for (std::size_t i = 0; !thirds && i < items.size(); ++i) {
        *left = *right = items[i];
        const bool goes_left = branches[i] == Branch::Left;
        left += goes_left;
        right += !goes_left;
    }
    for (std::size_t i = 0; thirds && i < items.size(); ++i) {
        *left = *right = *third = items[i];
        left += branches[i] == Branch::Left;
        right += branches[i] == Branch::Right;
        third += branches[i] == Branch::Third;
    }
}

/// How many rows go where, by the number of the branch.
using Sizes = std::array<std::size_t, 3>;

Sizes sizes_of(std::span<const Branch> branches) {
    auto count = [&](Branch side) {
        return static_cast<std::size_t>(std::count(branches.begin(), branches.end(), side));
    };
    const std::size_t left = count(Branch::Left), right = count(Branch::Right);
    return {left, right, branches.size() - left - right};
}

}  // namespace

PartSizes part_rows(std::span<std::uint32_t> rows, const Codes& codes, const Rung& rung,
                    const std::vector<Surrogate>& surrogates) {
    const auto branches = branches_of(rows, codes.columns[rung.column], rung);
    if (rung.missing_to == Branch::Surrogates)
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (branches[i] == Branch::Surrogates)
                branches[i] = ask_surrogates(rows[i], codes, rung, surrogates);
    // In place: only what goes right or third needs memory of its own, and the root has many rows.
    const auto [n_left, n_right, n_third] = sizes_of(branches);
    thread_local std::vector<std::uint32_t> right, third;
    fit_to(right, n_right + 1);
    fit_to(third, n_third + 1);
    deal<std::uint32_t>(rows, branches, n_third > 0, {rows.data(), right.data(), third.data()});
    std::copy_n(right.begin(), n_right, rows.begin() + n_left);
    std::copy_n(third.begin(), n_third, rows.begin() + n_left + n_right);
    return {n_left, n_right};
}

RowParts parts_of(std::span<const std::uint32_t> rows, bool sorted, const Codes& codes, const Rung& rung) {
    const auto branches = branches_of(rows, codes.columns[rung.column], rung);
    const Sizes sizes = sizes_of(branches);
    RowParts parts;
    const std::array lists{&parts.left, &parts.right, &parts.third};
    for (std::size_t k = 0; k < 3; ++k) lists[k]->resize(sizes[k] + 1);
    deal(rows, branches, sizes[2] > 0, {parts.left.data(), parts.right.data(), parts.third.data()});
    for (auto* list : lists) {
        list->pop_back();
        if (!sorted) put_in_order(*list, codes.n_rows);
    }
    return parts;
}

namespace {

/// Items by where they go, in memory that is used again for the next ones.
template <class T>
class Parts {
  public:
    /// Return those that go left and those that go right.
    std::array<std::span<const T>, 2> deal(std::span<const T> items, std::span<const Branch> branches,
                                           const Sizes& sizes) {
        for (auto& part : parts_) fit_to(part, items.size() + 1);
        tritree::deal(items, branches, sizes[2] > 0, {parts_[0].data(), parts_[1].data(), parts_[2].data()});
        if (items.empty()) return {};
        return {std::span<const T>(parts_[0]).first(sizes[0]), std::span<const T>(parts_[1]).first(sizes[1])};
    }

  private:
    std::array<std::vector<T>, 3> parts_;
};

}  // namespace

std::array<Responses, 2> part_responses(std::span<const std::uint32_t> rows, const Responses& responses,
                                        const Codes& codes, const Rung& rung) {
    thread_local Parts<double> y, weight;
    thread_local Parts<std::int32_t> label;
    const auto branches = branches_of(rows, codes.columns[rung.column], rung);
    const Sizes sizes = sizes_of(branches);
    const auto ys = y.deal(responses.y, branches, sizes);
    const auto labels = label.deal(responses.label, branches, sizes);
    const auto weights = weight.deal(responses.weight, branches, sizes);
    std::array<Responses, 2> sides;
    for (std::size_t k = 0; k < 2; ++k) {
        std::size_t some = 0;
        while (some + 1 < rows.size() && !(branches[some] == static_cast<Branch>(k) &&
                                           (responses.weight.empty() || responses.weight[some] > 0)))
            ++some;
        sides[k] = {ys[k], labels[k], weights[k], rows[some]};
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
