#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model.hpp"

namespace tritree {

/// Call `f(name, vector)` for every array of a tree: the one list of them, for views, pickles and files.
template <class AnyTree, class F>
void each_array(AnyTree& tree, F&& f) {
    f("column", tree.split.column);
    f("threshold", tree.split.threshold);
    f("set_begin", tree.split.set_begin);
    f("set_words", tree.split.set_words);
    f("left", tree.left);
    f("right", tree.right);
    f("third", tree.third);
    f("missing_to", tree.missing_to);
    f("larger", tree.larger);
    f("share", tree.share);
    f("depth", tree.depth);
    f("rows", tree.rows);
    f("weight", tree.weight);
    f("loss", tree.loss);
    f("value", tree.value);
    f("sets", tree.sets);
    f("surrogate_begin", tree.surrogate_begin);
    f("surrogate_column", tree.surrogate.column);
    f("surrogate_threshold", tree.surrogate.threshold);
    f("surrogate_below", tree.surrogate_below);
    f("surrogate_set_begin", tree.surrogate.set_begin);
    f("surrogate_set_words", tree.surrogate.set_words);
}

/// What a tree needs besides its arrays to go on growing, as flat arrays. The rows of its nodes are not among
/// them: they follow from the codes and the splits.
struct GrowthState {
    // codes: all columns, one after the other
    std::int64_t n_rows = 0;
    std::vector<std::int8_t> column_is_categorical;
    std::vector<std::int64_t> column_n_codes;
    std::vector<std::uint8_t> narrow;
    std::vector<std::uint16_t> wide;
    std::vector<double> smallest, largest;
    // target
    std::vector<double> y, sample_weight;
    std::vector<std::int32_t> labels;
    std::vector<std::uint32_t> in_bag;  ///< empty if all rows count once
    // places and bases
    std::vector<std::int32_t> place_base, place_rung, base_unusable_begin, base_unusable, base_ladder_begin;
    std::vector<double> base_center, base_sum_scale, base_square_scale, base_weight_scale;
    std::vector<std::int8_t> base_partial;  ///< empty if every base knows all its rungs
    // rungs of all ladders, one after the other
    std::vector<std::int32_t> rung_column;
    std::vector<double> rung_gain, rung_threshold, rung_share;
    std::vector<std::int8_t> rung_missing_alone, rung_missing_to, rung_larger;
    std::vector<std::int64_t> rung_low;
    std::vector<std::uint64_t> rung_sets;
};

template <class AnyState, class F>
void each_growth_array(AnyState& state, F&& f) {
    f("column_is_categorical", state.column_is_categorical);
    f("column_n_codes", state.column_n_codes);
    f("codes_narrow", state.narrow);
    f("codes_wide", state.wide);
    f("code_smallest", state.smallest);
    f("code_largest", state.largest);
    f("y", state.y);
    f("labels", state.labels);
    f("sample_weight", state.sample_weight);
    f("place_base", state.place_base);
    f("place_rung", state.place_rung);
    f("base_unusable_begin", state.base_unusable_begin);
    f("base_unusable", state.base_unusable);
    f("base_ladder_begin", state.base_ladder_begin);
    f("base_center", state.base_center);
    f("base_sum_scale", state.base_sum_scale);
    f("base_square_scale", state.base_square_scale);
    f("base_weight_scale", state.base_weight_scale);
    f("rung_column", state.rung_column);
    f("rung_gain", state.rung_gain);
    f("rung_threshold", state.rung_threshold);
    f("rung_share", state.rung_share);
    f("rung_missing_alone", state.rung_missing_alone);
    f("rung_missing_to", state.rung_missing_to);
    f("rung_larger", state.rung_larger);
    f("rung_low", state.rung_low);
    f("rung_sets", state.rung_sets);
}

/// The same for the arrays that only members of a forest have; empty ones are left out.
template <class AnyState, class F>
void each_member_array(AnyState& state, F&& f) {
    f("in_bag", state.in_bag);
    f("base_partial", state.base_partial);
}

/// Return the state of a grower; without the table (codes and responses) if others hold that.
GrowthState save_growth(const Grower& grower, bool with_table = true);
/// Return the codes of a table as a state; `load_codes` checks every index.
GrowthState save_codes(const Codes& codes);
Codes load_codes(const GrowthState& state);

/// Return a grower with this tree that goes on where the saved one stopped. Every index is checked: what does
/// not fit together throws std::invalid_argument.
std::unique_ptr<Grower> load_growth(const GrowthState& state, Tree tree, const Settings& settings);
/// The same for a state without its table.
std::unique_ptr<Grower> load_growth(const GrowthState& state, std::shared_ptr<const Codes> codes,
                                    Target target, Tree tree, const Settings& settings);

}  // namespace tritree
