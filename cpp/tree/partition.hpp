#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/binned_columns.hpp"
#include "data/binned_rows.hpp"
#include "split/node_stats.hpp"
#include "split/splitter.hpp"
#include "split/surrogate.hpp"

namespace tritree {

// The rows of a node are partitioned by its split, each part in the order it had: [ left | right | third ].
// Those that stay in a node because no surrogate places them are in the last part.

/// Number of rows that go left and right; the rest goes third, or to neither.
struct PartitionSizes {
    std::size_t left = 0, right = 0;
};

/// Partition the rows of a node in place.
PartitionSizes partition_rows(std::span<std::uint32_t> rows, const BinnedColumns& binned,
                              const SplitInfo& split, const std::vector<Surrogate>& surrogates);

/// The binned table that a boosted tree is grown from: row-major, and column-major if available, from which
/// partitioning reads a column faster.
struct BinnedData {
    const BinnedRows& rows;
    const BinnedColumns* columns = nullptr;
};

/// The same for boosting, in blocks of rows on several threads. On one thread it takes about as long as the
/// function above; a million rows on two threads take half the time.
PartitionSizes partition_rows(std::span<std::uint32_t> rows, const BinnedData& data, const SplitInfo& split,
                              std::uint32_t missing_bin, int n_threads);

/// The rows of a node, by the branch to which a split sends them.
struct Partition {
    std::vector<std::uint32_t> left, right, third;
};

/// Return the partition of a node's rows, each part in ascending order; `sorted` if the rows already are.
Partition partition_of(std::span<const std::uint32_t> rows, bool sorted, const BinnedColumns& binned,
                       const SplitInfo& split);

/// Return the targets of the rows that a split sends left and right, given those of all rows of the node.
/// Valid until the next call on the same thread.
std::array<TargetView, 2> partition_targets(std::span<const std::uint32_t> rows, const TargetView& targets,
                                            const BinnedColumns& binned, const SplitInfo& split);

/// Rows with their fractional memberships in a node.
struct FractionalRows {
    std::vector<std::uint32_t> rows;
    std::vector<double> membership;
};

/// Return the rows of one child of a fractional split: missing rows are in both, with a fraction of their
/// membership.
FractionalRows fractional_rows(const FractionalRows& parent, const BinnedColumns& binned,
                               const SplitInfo& split, Branch branch);

}  // namespace tritree
