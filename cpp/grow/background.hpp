#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/binned_columns.hpp"
#include "data/binned_rows.hpp"
#include "tree/binned_tree.hpp"

namespace tritree {

/// Fewer bins per column: a third branch has too few rows to need many, and grows four times as fast.
struct CoarseBins {
    static constexpr std::uint32_t kMaxBins = 64;  ///< of a numeric column; categories are not merged

    BinMapper mapper;
    std::vector<std::vector<std::uint16_t>> coarse_bin;      ///< by column and bin, missing included
    std::vector<std::vector<std::uint16_t>> first_fine_bin;  ///< by column and coarse bin

    CoarseBins() = default;
    explicit CoarseBins(const BinMapper& fine);
};

/// Background rows: a sample of the training rows in random order, from which third branches grow.
class BackgroundRows {
  public:
    BackgroundRows(BinnedRows rows_, std::vector<double> weight_, const BinMapper& mapper);

    BinnedRows rows;
    std::vector<double> weight;  ///< empty if all rows have weight 1
    CoarseBins coarse;
    BinnedRows coarse_rows;
    BinnedColumns columns;  ///< the same as `rows`; a column is read several times as fast

    /// Return the coarse bins of some rows: consecutive rows stay in the cache.
    BinnedRows gather_coarse(std::span<const std::uint32_t> which) const;
    /// Rows of a node of the fitted tree.
    struct NodeRows {
        std::vector<std::uint32_t> rows;  ///< in ascending order
        double n_rows_per_row = 1;        ///< how many rows each of them stands for
    };
    /// Return the rows that go left or right at a node of the fitted tree: all of them or, if there are more
    /// than `max_rows`, those from a random one on, which depends on the path of the node.
    NodeRows rows_observed_at(const BinnedTree& tree, std::int32_t node, std::size_t max_rows) const;
};

}  // namespace tritree
