#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ensemble.hpp"

namespace tritree::boosting {

/// The trees of an ensemble as flat arrays, nodes of one tree after those of another. What follows from the
/// rest (paths, parents, depths) is left out.
struct TreesState {
    std::vector<std::int32_t> n_nodes, n_fitted;  ///< per tree
    std::vector<std::int32_t> n_words;            ///< of category sets, per tree
    std::vector<std::uint16_t> column, begin;     ///< per node from here on
    std::vector<std::int8_t> missing_to, larger;
    std::vector<std::int32_t> left, right, third;
    std::vector<double> value, gain, doubt;  ///< `doubt` is empty if it is not measured
    std::vector<std::int64_t> rows, set;
    std::vector<double> low, high;      ///< empty if no column is bound
    std::vector<double> share, weight;  ///< of fractional trees only
    std::vector<std::uint64_t> words;
};

/// The bins of columns and the rows that are kept.
struct RowsState {
    std::vector<std::uint32_t> n_codes;
    std::vector<std::uint8_t> categorical;
    std::vector<double> edges;  ///< of one column after the other
    std::vector<std::uint8_t> narrow;
    std::vector<std::uint16_t> wide;
    std::vector<double> weight;
};

/// Call `f(name, array)` for every array of a state.
template <class State, class F>
void each_trees_array(State& s, F&& f) {
    f("n_nodes", s.n_nodes), f("n_fitted", s.n_fitted), f("n_words", s.n_words);
    f("column", s.column), f("begin", s.begin), f("missing_to", s.missing_to), f("larger", s.larger);
    f("left", s.left), f("right", s.right), f("third", s.third);
    f("value", s.value), f("gain", s.gain), f("doubt", s.doubt), f("rows", s.rows), f("set", s.set);
    f("low", s.low), f("high", s.high), f("words", s.words);
}
/// The same for the arrays that only fractional trees have.
template <class State, class F>
void each_shared_array(State& s, F&& f) {
    f("share", s.share), f("weight", s.weight);
}
template <class State, class F>
void each_rows_array(State& s, F&& f) {
    f("n_codes", s.n_codes), f("categorical", s.categorical), f("edges", s.edges);
    f("narrow", s.narrow), f("wide", s.wide), f("weight", s.weight);
}

TreesState save_trees(const Ensemble& ensemble);
RowsState save_rows(const Ensemble& ensemble, bool with_background);

/// Return the ensemble of a state; throws std::invalid_argument if the state cannot be trusted.
std::shared_ptr<Ensemble> load_ensemble(const TreesState& trees, const RowsState& rows, const Plan& plan,
                                        std::vector<double> baseline);

}  // namespace tritree::boosting
