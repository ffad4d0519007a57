#include "data/content_sampling.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace tritree {
namespace {

/// Counts how often a hash has occurred before: a table with open addressing.
class HashCounter {
  public:
    explicit HashCounter(std::size_t n) : slots_(std::bit_ceil(2 * n + 1)) {}

    std::uint32_t count_before(std::uint64_t hash) {
        for (std::size_t i = hash;; ++i) {
            Slot& slot = slots_[i & (slots_.size() - 1)];
            if (slot.count == 0) slot.hash = hash;
            if (slot.hash == hash) return slot.count++;
        }
    }

  private:
    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t count = 0;
    };
    std::vector<Slot> slots_;
};

}  // namespace

std::vector<std::uint64_t> hash_rows(const BinnedColumns& binned, std::uint64_t seed, int n_threads) {
    constexpr std::size_t kBlock = std::size_t{1} << 12;
    constexpr std::uint64_t kPrime = 0x100000001b3;  // of the FNV hash: one multiplication per cell
    std::vector<std::uint64_t> hashes(binned.n_rows, seed);
    parallel_blocks(binned.n_rows, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        for (const BinnedColumn& column : binned.columns)
            column.visit([&](const auto* bins) {
                for (std::size_t row = begin; row < end; ++row)
                    hashes[row] = (hashes[row] ^ bins[row]) * kPrime;
            });
        for (std::size_t row = begin; row < end; ++row) hashes[row] = hash_seed(hashes[row], 0);
    });
    return hashes;
}

SampledRows sample_by_hash(std::span<const std::uint64_t> hashes, std::span<const double> weight,
                           std::size_t n) {
    std::vector<std::pair<std::uint64_t, std::int64_t>> keys;
    keys.reserve(hashes.size());
    for (const std::uint64_t hash : hashes) keys.emplace_back(hash, static_cast<std::int64_t>(keys.size()));
    // Rows with equal bins get different keys, or they would all be sampled or none of them: by ascending
    // weight, so that the unit of weights does not matter. Which of those with equal weights gets which does
    // not matter either.
    if (!weight.empty())
        std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
            return weight[static_cast<std::size_t>(a.second)] < weight[static_cast<std::size_t>(b.second)];
        });
    // One part of the hashes after the other, by their first bits: a table of all of them would not fit into
    // the cache.
    constexpr int kParts = 16, kShift = 60;
    std::array<std::size_t, kParts> sizes{};
    for (const auto& [hash, row] : keys) ++sizes[hash >> kShift];
    for (std::uint64_t part = 0; part < kParts; ++part) {
        HashCounter counter(sizes[part]);
        for (auto& [hash, row] : keys)
            if (hash >> kShift == part)
                hash = part << kShift | hash_seed(hash, counter.count_before(hash)) >> (64 - kShift);
    }
    for (auto& [hash, row] : keys) hash = hash_seed(hash, 0);  // the first bits are random again
    n = std::min(n, keys.size());
    std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(n), keys.end());
    keys.resize(n);
    std::sort(keys.begin(), keys.end());
    SampledRows sampled;
    for (const auto& [key, row] : keys) {
        sampled.keys.push_back(key);
        sampled.rows.push_back(row);
    }
    return sampled;
}

}  // namespace tritree
