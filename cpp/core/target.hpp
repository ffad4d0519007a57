#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "items.hpp"
#include "settings.hpp"

namespace tritree {

/// What a tree is fitted to: a number or a class number per row, and a weight per row.
struct Target {
    int n_classes = 0;
    std::vector<double> y;             ///< regression
    std::vector<std::int32_t> labels;  ///< classification
    std::vector<double> weight;        ///< empty if every row weighs 1
    /// The rows that count, in their order; one that is there twice counts twice. Empty if all count once.
    std::vector<std::uint32_t> in_bag;

    /// Return the rows that count.
    std::vector<std::uint32_t> counted_rows() const;
    std::size_t n_rows() const { return n_classes > 0 ? labels.size() : y.size(); }
    bool weighted() const { return !weight.empty(); }
};

/// The unit in which a node's sums are counted.
///
/// Sums are integers: w (y - center) is rounded to a multiple of 1 / sum_scale, its square over w to a
/// multiple of 1 / square_scale, and w to a multiple of 1 / weight_scale, as fine as can be while no sum over
/// the node's rows passes 2^61. Integer sums do not depend on the order of the rows, so neither do bits on
/// threads, on the order of growth, or on whether a histogram was counted or obtained by subtraction. Scales
/// are powers of two. A child keeps its parent's frame where its loss can be told in it, or its own would be
/// less than 2^kRefresh times finer.
struct Frame {
    double center = 0;
    double sum_scale = 1;
    double square_scale = 1;
    double weight_scale = 1;

    bool operator==(const Frame&) const = default;
};

/// Where a cell keeps what: a cell is `width` integers about a set of rows.
struct Layout {
    int width = 2;
    int weight = 0;  ///< regression: the weight; the count where rows weigh 1
    int member = 0;  ///< the sum of fractional memberships; the count where they are whole
    int n_classes = 0;
    bool complete = false;  ///< a cell says all about its rows
    int square = 0;         ///< regression, if complete: the sum of squares

    Layout(const Settings& settings, bool weighted, bool complete = false);
};

using Cell = std::vector<std::int64_t>;

/// The rows of a node, with what its scan needs of each, in the node's order.
struct NodeRows {
    std::span<const std::uint32_t> rows;
    std::span<const double> membership;  ///< fractional: each row's share in this node
    Frame frame;
    Items<std::int64_t> sum;     ///< regression: w (y - center), in the frame's unit
    Items<std::int64_t> square;  ///< regression: w (y - center)^2, where the layout has it
    Items<std::int32_t> label;   ///< classification
    Items<std::int64_t> weight;  ///< weight times membership, where the layout has it
    Items<std::int64_t> member;  ///< membership, where the layout has it apart from the weight
    double member_scale = 1;     ///< the unit of `member` is 1 / member_scale

    std::size_t size() const { return rows.size(); }
};

/// The responses of some rows, in their order.
struct Responses {
    std::span<const double> y;            ///< regression: scaled to about 1
    std::span<const std::int32_t> label;  ///< classification
    std::span<const double> weight;       ///< times membership, at most about 1; empty if every row counts 1
    std::uint32_t some_row = 0;           ///< one of the rows, one with weight

    std::size_t size() const { return std::max(y.size(), label.size()); }
};

/// The same with memory of its own. Gathered once, responses are read several times as fast as where they
/// lie.
struct GatheredResponses {
    Items<double> y, weight;
    Items<std::int32_t> label;
    std::uint32_t some_row = 0;

    Responses view() const { return {y, label, weight, some_row}; }
    /// Give the memory of many rows back.
    void trim() {
        if (std::max({y.capacity(), label.capacity(), weight.capacity()}) > kMostKept)
            *this = GatheredResponses();
    }
    static constexpr std::size_t kMostKept = std::size_t{1} << 16;
};

/// What is true of a node whatever its columns say.
struct Summary {
    std::int64_t rows = 0;
    double members = 0;         ///< sum of memberships
    double weight = 0;          ///< in the user's unit
    double loss = 0;            ///< in the user's unit
    double scan_loss = 0;       ///< in the unit of the criterion's gains
    bool pure = false;          ///< nothing left to explain
    bool by_cell = false;       ///< its cell was enough to tell
    std::vector<double> value;  ///< in the user's unit
    Cell total;                 ///< of all rows
};

/// Turns rows into what a node needs of them. Weights are scaled to at most 1 and y to about 1, by powers of
/// two.
class TargetReader {
  public:
    TargetReader(const Target& target, const Settings& settings, bool complete);

    const Layout& layout() const { return layout_; }
    /// Fill in the node's frame (`parent`'s, if that is fine enough) and its integers; return what is true of
    /// it.
    Summary read(NodeRows& node, const Frame* parent) const;
    /// Say whether no sum over these rows can pass 2^62 in a frame.
    bool fits(std::span<const std::uint32_t> rows, const Frame& frame) const;
    /// Fill in the node's integers in the frame it has.
    void read_in_frame(NodeRows& node) const;
    /// Gather the responses of rows.
    void gather(std::span<const std::uint32_t> rows, GatheredResponses& found) const;
    /// Return what is true of a leaf whose parent has this frame: by its cell, if that can tell, or else by
    /// its rows. Both say the same.
    std::optional<Summary> summarise_cell(std::span<const std::int64_t> cell, const Frame& parent) const;
    Summary summarise_leaf(const Responses& rows, const Frame& parent) const;

  private:
    /// What the responses of the rows with weight span.
    struct Range {
        double low = 0, high = 0;
    };
    static Range range_of(const Responses& rows);
    static Frame frame_of(const Responses& rows, const Range& range, const Frame* parent);
    void gather_numbers(std::span<const std::uint32_t> rows, GatheredResponses& found) const;
    void gather_rest(std::span<const std::uint32_t> rows, std::span<const double> membership,
                     GatheredResponses& found) const;
    template <class Y, class F>
    Cell add_up(std::size_t n_rows, const Responses& rest, const Frame& frame, Y&& y_of, F&& keep) const;
    Cell add_up(const Responses& rows, const Frame& frame) const;
    Cell read_integers(NodeRows& node, const GatheredResponses& rows) const;
    Summary summarise_rows(const Responses& rows, const Range& range, const Frame& frame,
                           const Cell& cell) const;
    Summary summarise_classes(std::span<const std::int64_t> cell, const Frame& frame) const;
    Summary summarise_numbers(const Responses& rows, const Range& range, const Frame& frame,
                              const Cell& cell) const;

    const Target* target_;
    const Settings* settings_;
    Layout layout_;            // what is counted
    Layout full_;              // what can be: the same, and squares behind it
    double y_scale_ = 1;       // power of two: |y| * y_scale_ is about 1
    double weight_scale_ = 1;  // power of two: weight * weight_scale_ is about 1
};

/// Return the cross-entropy or the gini loss of class weights under their own
/// shares.
double class_loss(Criterion criterion, const double* weights, int n_classes);

}  // namespace tritree
