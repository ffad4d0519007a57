#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/boosted_model.hpp"
#include "model/ladder_model.hpp"

namespace tritree {

/// The trees of a model, the arrays of one tree after those of another.
struct TreesState {
    std::vector<std::int32_t> n_nodes, n_fitted, n_surrogates;  ///< per tree
    std::vector<std::int64_t> n_evidence, n_groups;             ///< per tree, if there is evidence
    std::vector<std::int64_t> n_words;                          ///< of category sets, per tree
    std::vector<std::uint64_t> seed;                            ///< per tree
    Tree all;
};

template <class F, class State>
void for_each_tree_array(F&& f, State& s) {
    f("n_nodes", s.n_nodes);
    f("n_fitted", s.n_fitted);
    f("n_surrogates", s.n_surrogates);
    f("n_words", s.n_words);
    f("seed", s.seed);
    f("n_evidence", s.n_evidence);
    f("n_groups", s.n_groups);
    for_each_node_array(f, s.all);
    f("sets", s.all.sets);
    f("surrogate_begin", s.all.surrogate_begin);
    for_each_surrogate_array(f, s.all);
    for_each_evidence_array(f, s.all);
}

/// The training table of single trees and forests.
struct DataState {
    std::int64_t n_rows = 0;
    std::vector<std::int8_t> categorical;  ///< per column
    std::vector<std::int64_t> n_bins;
    std::vector<std::uint8_t> bins8;  ///< of one column after the other
    std::vector<std::uint16_t> bins16;
    std::vector<double> bin_min, bin_max;
    std::vector<double> y, weight;
    std::vector<std::int32_t> labels;
};

template <class F, class State>
void for_each_binned_array(F&& f, State& s) {
    f("categorical", s.categorical);
    f("n_bins", s.n_bins);
    f("bins8", s.bins8);
    f("bins16", s.bins16);
    f("bin_min", s.bin_min);
    f("bin_max", s.bin_max);
}

template <class F, class State>
void for_each_data_array(F&& f, State& s) {
    for_each_binned_array(f, s);
    f("y", s.y);
    f("labels", s.labels);
    f("weight", s.weight);
}

/// What trees need in addition to their arrays to continue growing. The rows of ladders follow from the bins
/// and the splits.
struct LaddersState {
    std::vector<std::int64_t> n_in_bag, n_ladders;  ///< per tree
    std::vector<std::uint32_t> in_bag;
    std::vector<std::int32_t> position_ladder, position_rank;  ///< per node
    // per ladder; `begin` arrays count over all trees
    std::vector<std::int64_t> used_columns_begin, splits_begin;
    std::vector<std::int32_t> used_columns;
    std::vector<double> center, sum_scale, square_scale, weight_scale;
    std::vector<std::int8_t> first_split_only;
    // per split
    std::vector<std::int32_t> column;
    std::vector<double> gain, threshold, left_fraction;
    std::vector<std::int8_t> missing_vs_observed, missing_to, larger_side;
    std::vector<std::int64_t> threshold_bin;
    std::vector<std::uint64_t> sets;
};

template <class F, class State>
void for_each_ladder_array(F&& f, State& s) {
    f("n_in_bag", s.n_in_bag);
    f("n_ladders", s.n_ladders);
    f("in_bag", s.in_bag);
    f("position_ladder", s.position_ladder);
    f("position_rank", s.position_rank);
    f("used_columns_begin", s.used_columns_begin);
    f("splits_begin", s.splits_begin);
    f("used_columns", s.used_columns);
    f("center", s.center);
    f("sum_scale", s.sum_scale);
    f("square_scale", s.square_scale);
    f("weight_scale", s.weight_scale);
    f("first_split_only", s.first_split_only);
    f("column", s.column);
    f("gain", s.gain);
    f("threshold", s.threshold);
    f("left_fraction", s.left_fraction);
    f("missing_vs_observed", s.missing_vs_observed);
    f("missing_to", s.missing_to);
    f("larger_side", s.larger_side);
    f("threshold_bin", s.threshold_bin);
    f("sets", s.sets);
}

/// Target distributions of a model without the training rows.
struct DistributionsState {
    std::vector<double> edges;          ///< of one tree after the other, or none
    std::vector<std::int64_t> n_nodes;  ///< per tree
    std::vector<float> fractions;
};

template <class F, class State>
void for_each_distribution_array(F&& f, State& s) {
    f("edges", s.edges);
    f("n_nodes", s.n_nodes);
    f("fractions", s.fractions);
}

/// The bins of a boosted model, and its background rows if it has them.
struct BinsState {
    std::vector<std::uint32_t> n_bins;
    std::vector<std::uint8_t> categorical;
    std::vector<double> edges;  ///< of one column after the other
    std::vector<std::uint8_t> bins8;
    std::vector<std::uint16_t> bins16;
    std::vector<double> weight;
};

template <class F, class State>
void for_each_bins_array(F&& f, State& s) {
    f("n_bins", s.n_bins);
    f("categorical", s.categorical);
    f("edges", s.edges);
    f("bins8", s.bins8);
    f("bins16", s.bins16);
    f("weight", s.weight);
}

struct LadderModelState {
    TreesState trees;
    DistributionsState distributions;
    bool can_grow = false;  ///< whether the members below are filled
    DataState data;
    LaddersState ladders;
};

struct BoostedModelState {
    TreesState trees;
    BinsState bins;
};

/// Return the state of a model; `with_rows` includes the rows from which it grows.
LadderModelState save_model(const LadderModel& model, bool with_rows);
BoostedModelState save_model(const BoostedModel& model, bool with_rows);

// Loading checks every index and every number, and throws std::invalid_argument with the reason.

std::shared_ptr<LadderModel> load_model(const LadderModelState& state, const GrowthParameters& params,
                                        std::size_t n_columns, const CheckSignals& check_signals);
/// `may_lack_trees`: before the first iteration, a model has none.
std::shared_ptr<BoostedModel> load_model(const BoostedModelState& state, const GrowthParameters& params,
                                         std::vector<double> baseline, bool may_lack_trees);

DataState save_binned(const BinnedColumns& binned);
BinnedColumns load_binned(const DataState& state);

}  // namespace tritree
