#include "tree/partition.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/parallel.hpp"

namespace tritree {
namespace {

/// Return the branch of the first surrogate that places a row, or else the larger side. A row that stays in
/// the node, because there is no larger side, belongs to the last part of the partition, as if it went third.
Branch surrogate_branch(std::uint32_t row, const BinnedColumns& binned, const SplitInfo& split,
                        const std::vector<Surrogate>& surrogates) {
    for (const Surrogate& surrogate : surrogates) {
        const BinnedColumn& column = binned.columns[surrogate.column];
        const Branch branch =
            column.visit([&](const auto* bins) { return surrogate.branch(bins[row], column.missing_bin()); });
        if (branch != Branch::None) return branch;
    }
    return split.larger_side == Branch::None ? Branch::Third : split.larger_side;
}

/// Return the part of the partition for a bin: rows that go both ways are in neither child.
Branch part_of(const SplitInfo& split, std::uint32_t bin, std::uint32_t missing_bin) {
    const Branch branch = split.branch(bin, missing_bin);
    return branch == Branch::Both ? Branch::Third : branch;
}

/// Sort row numbers. The order of the rows of a node has no meaning, but reading bins in the order of memory
/// is several times as fast.
void sort_rows(std::vector<std::uint32_t>& rows, std::size_t n_rows) {
    if (rows.size() < n_rows / 512) {
        std::sort(rows.begin(), rows.end());
        return;
    }
    std::vector<std::uint64_t> bits(n_rows / 64 + 1, 0);
    for (const std::uint32_t row : rows) bits[row / 64] |= std::uint64_t{1} << (row % 64);
    std::size_t distinct = 0;
    for (const std::uint64_t word : bits) distinct += static_cast<std::size_t>(std::popcount(word));
    if (distinct < rows.size()) {  // some rows appear twice
        std::sort(rows.begin(), rows.end());
        return;
    }
    auto next = rows.begin();
    for (std::size_t word = 0; word < bits.size(); ++word)
        for (std::uint64_t remaining = bits[word]; remaining != 0; remaining &= remaining - 1)
            *next++ =
                static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(remaining)));
}

/// Make room for `n` items in a buffer, and free the memory of a much larger node.
template <class T>
void resize_buffer(std::vector<T>& buffer, std::size_t n) {
    constexpr std::size_t kMinTrimmed = 1 << 16;
    if (buffer.size() < n || (buffer.size() > kMinTrimmed && buffer.size() / 8 > n))
        buffer = std::vector<T>(n);
}

/// Return the branch of each row. Valid until the next call on the same thread.
std::span<Branch> branches_of(std::span<const std::uint32_t> rows, const BinnedColumn& column,
                              const SplitInfo& split) {
    thread_local std::vector<Branch> branches;
    resize_buffer(branches, rows.size());
    Branch* to = branches.data();
    const std::uint32_t missing = column.missing_bin();
    if (column.fits_uint8() && rows.size() < missing / 4) {
        for (const std::uint32_t row : rows) *to++ = part_of(split, column.bins8[row], missing);
    } else if (column.fits_uint8()) {  // a table lookup instead of several comparisons
        std::array<Branch, 256> branch;
        for (std::uint32_t bin = 0; bin <= missing; ++bin) branch[bin] = part_of(split, bin, missing);
        const std::uint8_t* binned = column.bins8.data();
        for (const std::uint32_t row : rows) *to++ = branch[binned[row]];
    } else if (!split.categorical && !split.missing_vs_observed) {
        const std::uint16_t* binned = column.bins16.data();
        const Branch of_missing = part_of(split, missing, missing);
        for (const std::uint32_t row : rows) {
            const std::uint32_t bin = binned[row];
            const Branch side = bin <= split.threshold_bin ? Branch::Left : Branch::Right;
            *to++ = bin == missing ? of_missing : side;
        }
    } else {
        for (const std::uint32_t row : rows) *to++ = part_of(split, column.bins16[row], missing);
    }
    return std::span(branches).first(rows.size());
}

/// Return the branch of every bin, missing values and unseen categories included.
std::vector<std::uint8_t> branches_of_bins(const SplitInfo& split, std::uint32_t missing_bin) {
    const auto branch = [&](Side side) {
        return static_cast<std::uint8_t>(route(side, split.missing_to, split.larger_side));
    };
    std::vector<std::uint8_t> branch_of(missing_bin + 2);
    if (split.categorical && !split.missing_vs_observed) {
        // by the side, without branches to mispredict: there may be thousands of categories
        const std::vector<std::uint64_t>& words = split.sets.words();
        const std::size_t n_words = words.size() / 2;
        const std::array<std::uint8_t, 3> of_side{branch(Side::Unseen), branch(Side::Left),
                                                  branch(Side::Right)};
        for (std::uint32_t bin = 0; bin < missing_bin; ++bin) {
            const std::uint64_t left = words[bin / 64] >> (bin % 64) & 1;
            const std::uint64_t right = words[n_words + bin / 64] >> (bin % 64) & 1;
            branch_of[bin] = of_side[left + 2 * right];
        }
        branch_of[missing_bin] = branch(Side::Missing);
        branch_of[missing_bin + 1] = branch(Side::Unseen);
        return branch_of;
    }
    for (std::uint32_t bin = 0; bin < branch_of.size(); ++bin)
        branch_of[bin] = static_cast<std::uint8_t>(split.branch(bin, missing_bin));
    return branch_of;
}

/// Write each item to all parts and advance only one of them: without a branch to mispredict, this takes a
/// third of the time. Every part has room for one item more than it gets.
template <class T>
void scatter(std::span<const T> items, std::span<const Branch> branches, bool has_third,
             std::array<T*, 3> parts) {
    auto [left, right, third] = parts;
    for (std::size_t i = 0; !has_third && i < items.size(); ++i) {
        *left = *right = items[i];
        const bool goes_left = branches[i] == Branch::Left;
        left += goes_left;
        right += !goes_left;
    }
    for (std::size_t i = 0; has_third && i < items.size(); ++i) {
        *left = *right = *third = items[i];
        left += branches[i] == Branch::Left;
        right += branches[i] == Branch::Right;
        third += branches[i] == Branch::Third;
    }
}

/// Number of rows per branch.
using Sizes = std::array<std::size_t, 3>;

Sizes sizes_of(std::span<const Branch> branches) {
    constexpr std::size_t kBlock = 255;  // whose counts fit into a byte, so that 16 rows are counted at once
    std::size_t left = 0, right = 0;
    for (std::size_t begin = 0; begin < branches.size(); begin += kBlock) {
        std::uint8_t n_left = 0, n_right = 0;
        for (const Branch branch : branches.subspan(begin, std::min(kBlock, branches.size() - begin))) {
            n_left = static_cast<std::uint8_t>(n_left + (branch == Branch::Left));
            n_right = static_cast<std::uint8_t>(n_right + (branch == Branch::Right));
        }
        left += n_left;
        right += n_right;
    }
    return {left, right, branches.size() - left - right};
}

}  // namespace

PartitionSizes partition_rows(std::span<std::uint32_t> rows, const BinnedColumns& binned,
                              const SplitInfo& split, const std::vector<Surrogate>& surrogates) {
    const auto branches = branches_of(rows, binned.columns[split.column], split);
    if (split.missing_to == Branch::Surrogates)
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (branches[i] == Branch::Surrogates)
                branches[i] = surrogate_branch(rows[i], binned, split, surrogates);
    // In place: only the rows that go right or third need a buffer, and the root has many rows.
    const auto [n_left, n_right, n_third] = sizes_of(branches);
    thread_local std::vector<std::uint32_t> right, third;
    resize_buffer(right, n_right + 1);
    resize_buffer(third, n_third + 1);
    scatter<std::uint32_t>(rows, branches, n_third > 0, {rows.data(), right.data(), third.data()});
    std::copy_n(right.begin(), n_right, rows.begin() + n_left);
    std::copy_n(third.begin(), n_third, rows.begin() + n_left + n_right);
    return {n_left, n_right};
}

PartitionSizes partition_rows(std::span<std::uint32_t> rows, const BinnedData& data, const SplitInfo& split,
                              std::uint32_t missing_bin, int n_threads) {
    constexpr std::size_t kBlock = std::size_t{1} << 12;  // rows of a block stay in the cache
    const std::size_t n = rows.size(), n_blocks = (n + kBlock - 1) / kBlock;
    const std::vector<std::uint8_t> branch_of = branches_of_bins(split, missing_bin);
    static thread_local UninitializedVector<std::uint8_t> own_branches;
    static thread_local UninitializedVector<std::uint32_t> own_scattered;
    UninitializedVector<std::uint8_t>& branches = own_branches;  // tasks use the buffers of this thread
    UninitializedVector<std::uint32_t>& scattered = own_scattered;
    branches.resize(n);
    scattered.resize(n);
    std::vector<std::array<std::size_t, 3>> counts(n_blocks);
    const auto column = static_cast<std::size_t>(split.column);
    const auto find_branches = [&](const auto* bins, std::size_t stride) {
        parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
            std::size_t n_right = 0,
                        n_third = 0;  // not in an array, which would wait for memory
            for (std::size_t i = begin; i < end; ++i) {
                const std::uint8_t branch = branch_of[bins[rows[i] * stride]];
                branches[i] = branch;
                n_right += branch == 1;
                n_third += branch == 2;
            }
            counts[begin / kBlock] = {end - begin - n_right - n_third, n_right, n_third};
        });
    };
    if (data.columns != nullptr)
        data.columns->columns[column].visit([&](const auto* bins) { find_branches(bins, 1); });
    else
        data.rows.visit([&](const auto* bins) { find_branches(bins + column, data.rows.n_columns()); });
    std::array<std::size_t, 3> total{};
    for (const auto& count : counts)
        for (int branch = 0; branch < 3; ++branch) total[branch] += count[branch];
    std::array<std::size_t, 3> begin_of{0, total[0], total[0] + total[1]};
    for (auto& count : counts)
        for (int branch = 0; branch < 3; ++branch)
            begin_of[branch] += std::exchange(count[branch], begin_of[branch]);
    parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        // each row is written to all parts, of which only one advances: there is no branch to mispredict
        const auto [left_at, right_at, third_at] = counts[begin / kBlock];
        // on the stack: the address of thread-local memory would be looked up for each row
        std::array<std::uint32_t, kBlock + 1> left, right, third;
        const std::uint32_t* const row = rows.data();
        const std::uint8_t* const branch = branches.data();
        std::size_t n_left = 0, n_right = 0, n_third = 0;
        for (std::size_t i = begin; i < end; ++i) {
            left[n_left] = right[n_right] = third[n_third] = row[i];
            n_left += branch[i] == 0;
            n_right += branch[i] == 1;
            n_third += branch[i] == 2;
        }
        std::copy_n(left.begin(), n_left, scattered.data() + left_at);
        std::copy_n(right.begin(), n_right, scattered.data() + right_at);
        std::copy_n(third.begin(), n_third, scattered.data() + third_at);
    });
    parallel_blocks(n, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::copy(scattered.begin() + begin, scattered.begin() + end, rows.begin() + begin);
    });
    return {total[0], total[1]};
}

Partition partition_of(std::span<const std::uint32_t> rows, bool sorted, const BinnedColumns& binned,
                       const SplitInfo& split) {
    const auto branches = branches_of(rows, binned.columns[split.column], split);
    const Sizes sizes = sizes_of(branches);
    Partition parts;
    const std::array lists{&parts.left, &parts.right, &parts.third};
    for (std::size_t k = 0; k < 3; ++k) lists[k]->resize(sizes[k] + 1);
    scatter(rows, branches, sizes[2] > 0, {parts.left.data(), parts.right.data(), parts.third.data()});
    for (auto* list : lists) {
        list->pop_back();
        if (!sorted) sort_rows(*list, binned.n_rows);
    }
    return parts;
}

namespace {

/// Reusable buffers for items by branch.
template <class T>
class ScatterBuffers {
  public:
    /// Return the items that go left and those that go right.
    std::array<std::span<const T>, 2> scatter(std::span<const T> items, std::span<const Branch> branches,
                                              const Sizes& sizes) {
        for (auto& part : buffers_) resize_buffer(part, items.size() + 1);
        tritree::scatter(items, branches, sizes[2] > 0,
                         {buffers_[0].data(), buffers_[1].data(), buffers_[2].data()});
        if (items.empty()) return {};
        return {std::span<const T>(buffers_[0]).first(sizes[0]),
                std::span<const T>(buffers_[1]).first(sizes[1])};
    }

  private:
    std::array<std::vector<T>, 3> buffers_;
};

}  // namespace

std::array<TargetView, 2> partition_targets(std::span<const std::uint32_t> rows, const TargetView& targets,
                                            const BinnedColumns& binned, const SplitInfo& split) {
    thread_local ScatterBuffers<double> y, weight;
    thread_local ScatterBuffers<std::int32_t> label;
    const auto branches = branches_of(rows, binned.columns[split.column], split);
    const Sizes sizes = sizes_of(branches);
    const auto ys = y.scatter(targets.y, branches, sizes);
    const auto labels = label.scatter(targets.label, branches, sizes);
    const auto weights = weight.scatter(targets.weight, branches, sizes);
    std::array<TargetView, 2> children;
    for (std::size_t k = 0; k < 2; ++k) {
        std::size_t first = 0;
        while (first + 1 < rows.size() && !(branches[first] == static_cast<Branch>(k) &&
                                            (targets.weight.empty() || targets.weight[first] > 0)))
            ++first;
        children[k] = {ys[k], labels[k], weights[k], rows[first]};
    }
    return children;
}

FractionalRows fractional_rows(const FractionalRows& parent, const BinnedColumns& binned,
                               const SplitInfo& split, Branch branch) {
    const BinnedColumn& column = binned.columns[split.column];
    const double fraction = branch == Branch::Left ? split.left_fraction : 1 - split.left_fraction;
    FractionalRows child;
    column.visit([&](const auto* bins) {
        for (std::size_t i = 0; i < parent.rows.size(); ++i) {
            const Branch to = split.branch(bins[parent.rows[i]], column.missing_bin());
            if (to != branch && to != Branch::Both) continue;
            child.rows.push_back(parent.rows[i]);
            child.membership.push_back(parent.membership[i] * (to == Branch::Both ? fraction : 1.0));
        }
    });
    return child;
}

}  // namespace tritree
