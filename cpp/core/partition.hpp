#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "codes.hpp"
#include "split.hpp"
#include "surrogate.hpp"
#include "target.hpp"

namespace tritree {

/// Rows with their shares in a node; whole rows have no shares written down.
struct RowList {
    std::vector<std::uint32_t> rows;
    std::vector<double> membership;
};

struct PartSizes {
    std::size_t left = 0, right = 0;
};

/// Sort a node's rows by where its split sends them, in place: [ left | right | third ].
PartSizes part_rows(std::span<std::uint32_t> rows, const Codes& codes, const Rung& rung,
                    const std::vector<Surrogate>& surrogates);

/// The rows of a node by where a split sends them.
struct RowParts {
    std::vector<std::uint32_t> left, right, third;
};

/// Return a node's rows by where a split sends them, each part in the order of its row numbers.
RowParts parts_of(std::span<const std::uint32_t> rows, bool sorted, const Codes& codes, const Rung& rung);

/// Return the responses of the rows that a split sends left and right, given those of all rows of the node in
/// its order. Valid until the next call on the same thread.
std::array<Responses, 2> part_responses(std::span<const std::uint32_t> rows, const Responses& responses,
                                        const Codes& codes, const Rung& rung);

/// Return a node's rows on one side of a fractional split: missing rows are on both, with a part of their
/// share.
RowList rows_shared(const RowList& list, const Codes& codes, const Rung& rung, Branch side);

}  // namespace tritree
