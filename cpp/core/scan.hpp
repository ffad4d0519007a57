#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base.hpp"
#include "histogram.hpp"
#include "surrogate.hpp"

namespace tritree {

using Histograms = std::vector<Histogram>;  ///< one per column; empty where not kept

/// A node that is being grown.
struct Sprout {
    std::int32_t depth = 0;
    Base base;
    const Frame* parent_frame = nullptr;  ///< the root has none
    bool keeps_histograms = false;
    RowList shared;  ///< fractional: the rows of this node, from which its daughters take theirs
    // what the scan finds
    NodeRows data;
    Summary summary;
    bool leaf = false;
    std::vector<std::int32_t> columns;      ///< to be scanned, in their order
    std::vector<std::optional<Rung>> best;  ///< per column; empty if the ladder takes the first rung at once
    Histograms histograms;
    std::vector<Surrogate> surrogates;
};

/// The daughters of a node that are grown together. Where the histograms of the parent are known, only the
/// rows of the smaller daughter and those in neither are counted: what they leave is the larger one.
struct Family {
    std::int32_t node = kNone;           ///< the parent; the root has none
    Sprout* smaller = nullptr;           ///< may be missing: not wanted
    Sprout* larger = nullptr;            ///< may be missing, too, if the smaller is there
    const Histograms* parent = nullptr;  ///< histograms, where known
    NodeRows others;                     ///< rows of the parent that are in neither
    std::vector<std::uint32_t> other_rows;
    bool related = false;               ///< all use the parent's frame, so that integers can be subtracted
    std::vector<std::int32_t> columns;  ///< to be scanned

    std::array<Sprout*, 2> daughters() const { return {smaller, larger}; }
};

/// Memory of nodes that are done, for those to come: to get it from the system anew takes longer than to use
/// it.
class SpareMemory {
  public:
    NodeRows take();
    void give(NodeRows memory);
    void clear();

  private:
    static constexpr std::size_t kMost = 8;                         // nodes
    static constexpr std::size_t kMostRows = std::size_t{1} << 16;  // of each: those of a fit may be huge
    std::mutex mutex_;
    std::vector<NodeRows> spare_;
};

/// Turns the rows of nodes into ladders. With complete cells it takes longer, but leaves below them cost
/// nothing more.
class Scanner {
  public:
    Scanner(const Codes& codes, const Target& target, const Settings& settings, bool complete)
        : codes_(codes), settings_(settings), reader_(target, settings, complete) {}

    const TargetReader& reader() const { return reader_; }
    const Codes& codes() const { return codes_; }
    /// Say whether what is below nodes with few rows can be grown apart.
    bool grows_thickets() const {
        return settings_.keeps_first_rungs_only() && settings_.missing != Strategy::Fractional &&
               settings_.missing != Strategy::Surrogate;
    }
    /// Return the first rung of a node by itself; none if it stays a leaf.
    std::vector<Rung> first_rung(const NodeRows& data, const Summary& summary, std::int32_t depth,
                                 std::uint64_t path) const;
    /// Scan the sprouts, each of which is in one of the families.
    void scan(std::vector<Sprout>& sprouts, std::vector<Family>& families, int n_threads) const;
    /// Give back the memory that was kept for nodes to come.
    void rest() const { spare_.clear(); }
    /// Return how many integers the histograms have that a node with so many rows keeps.
    std::size_t most_kept(std::size_t n_rows) const;
    /// Return the rungs of a base beyond its first, of all columns.
    std::vector<Rung> scan_rest(const Base& base, const Frame* parent_frame) const;
    /// Return the histograms of bases, for families that are to be derived from them.
    std::vector<Histograms> count(std::span<const Base* const> bases, int n_threads) const;

  private:
    struct ColumnScan;

    void scan_family(Family& family) const;
    void read(Sprout& sprout, bool column_by_column) const;
    void relate(Family& family) const;
    void scan_columns(Family& family, std::span<const std::int32_t> columns) const;
    void count_columns(Family& family, std::span<ColumnScan> scans) const;
    void find_best(Sprout& sprout, const ColumnScan& scan, const Histogram& histogram) const;
    static void keep_if_first(std::vector<Rung>& ladder, Rung rung, double node_loss);
    void finish(Sprout& sprout) const;
    void draw_on(std::vector<Rung>& ladder, const NodeRows& data, const Summary& summary, std::uint64_t path,
                 const std::vector<std::int32_t>& unusable) const;
    std::optional<Rung> best_on(std::int32_t number, const NodeRows& data, const Summary& summary) const;
    bool is_leaf(const Summary& summary, std::int32_t depth) const;
    bool is_kept(std::size_t histogram_size, std::size_t n_rows) const {
        return 2 * histogram_size <= n_rows;
    }
    std::vector<std::int32_t> usable_columns(const std::vector<std::int32_t>& unusable) const;

    const Codes& codes_;
    const Settings& settings_;
    TargetReader reader_;
    mutable SpareMemory spare_;
};

}  // namespace tritree
