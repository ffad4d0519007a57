#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "common/require.hpp"
#include "model/boosted_model.hpp"
#include "model/ladder_model.hpp"
#include "model/serialization.hpp"

namespace tritree::bind {
namespace {

// ---- any model ----

/// The user's rows, validated and prepared for a model.
struct InputRows {
    InputRows(const GrowingModel& model, const nb::object& columns, std::size_t n_rows, int n_threads) {
        TableView table = view_table(columns, n_rows, keep);
        nb::gil_scoped_release release;
        rows = model.prepare(std::move(table), n_threads);
    }
    std::vector<AnyArray> keep;
    PredictionRows rows;
};

nb::tuple predict(GrowingModel& model, const nb::object& columns, std::size_t n_rows, std::size_t begin,
                  std::optional<std::size_t> end, int n_threads) {
    const InputRows input(model, columns, n_rows, n_threads);
    const std::size_t k = model.n_outputs();
    auto values = std::make_unique_for_overwrite<double[]>(n_rows * k);
    std::unique_ptr<double[]> variance;
    if (model.params().estimates_variance) variance = std::make_unique_for_overwrite<double[]>(n_rows * k);
    {
        nb::gil_scoped_release release;
        model.predict(input.rows, {begin, end ? *end : model.n_iterations()},
                      {values.get(), variance.get(), nullptr}, n_threads, &check_signals);
    }
    nb::object second = nb::none();
    if (variance) second = nb::cast(to_numpy(std::move(variance), {n_rows, k}));
    return nb::make_tuple(to_numpy(std::move(values), {n_rows, k}), second);
}

auto apply(GrowingModel& model, const nb::object& columns, std::size_t n_rows, int n_threads) {
    const InputRows input(model, columns, n_rows, n_threads);
    const std::size_t n_trees = model.n_trees(), n_iterations = n_trees / model.trees_per_iteration();
    auto nodes = std::make_unique_for_overwrite<std::int32_t[]>(std::max<std::size_t>(n_rows * n_trees, 1));
    {
        nb::gil_scoped_release release;
        model.predict(input.rows, {0, n_iterations}, {nullptr, nullptr, nodes.get()}, n_threads,
                      &check_signals);
    }
    return to_numpy(std::move(nodes), {n_rows, n_trees});
}

auto importances(GrowingModel& model, int n_threads) {
    std::vector<double> all;
    {
        nb::gil_scoped_release release;
        all = model.importances(n_threads);
    }
    return to_numpy(std::move(all));
}

Tree tree_of(const GrowingModel& model, std::size_t number) {
    nb::gil_scoped_release release;
    return with_all_arrays(model.tree_copy(number));
}

// ---- single trees and forests ----

Target read_target(const BinnedColumns& binned, const nb::object& y,
                   const std::optional<Vector<double>>& weight, const GrowthParameters& params) {
    Target target;
    target.n_classes = params.n_classes;
    if (params.n_classes > 0)
        target.labels = to_vector(cast_array<Vector<std::int32_t>>(y));
    else
        target.y = to_vector(cast_array<Vector<double>>(y));
    if (weight) target.weight = to_vector(*weight);
    require(!weight || target.weighted(), "columns, target and weights of different lengths");
    require_valid(target.validate(binned.n_rows));
    return target;
}

std::shared_ptr<LadderModel> make_ladder_model(const SharedColumns& shared, const nb::object& y,
                                               const std::optional<Vector<double>>& weight,
                                               const GrowthParameters& params) {
    auto data = std::make_shared<const TrainingData>(
        TrainingData{shared.binned, read_target(*shared.binned, y, weight, params)});
    return std::make_shared<LadderModel>(params, shared.binned->columns.size(), std::move(data));
}

std::shared_ptr<LadderModel> copy_with_rows(const LadderModel& model, const SharedColumns& shared,
                                            const nb::object& y,
                                            const std::optional<Vector<double>>& weight) {
    auto data = std::make_shared<const TrainingData>(
        TrainingData{shared.binned, read_target(*shared.binned, y, weight, model.params())});
    nb::gil_scoped_release release;
    return model.copy_with_rows(std::move(data));
}

void add_trees(LadderModel& model, const std::vector<std::uint64_t>& seeds,
               const std::optional<std::vector<Vector<std::uint32_t>>>& in_bags, int n_threads,
               const std::optional<std::function<void()>>& on_tree) {
    std::vector<std::vector<std::uint32_t>> rows;
    if (in_bags)
        for (const auto& in_bag : *in_bags) rows.push_back(to_vector(in_bag));
    const auto after_tree = [&on_tree] {
        check_signals();
        if (on_tree) (*on_tree)();
    };
    nb::gil_scoped_release release;
    model.add_trees(seeds, std::move(rows), n_threads, &check_signals, after_tree);
}

void grow_branches(LadderModel& model, std::size_t tree, const Vector<std::int32_t>& nodes,
                   const Vector<std::int32_t>& branches, std::int64_t max_new_nodes, int n_threads) {
    if (nodes.shape(0) != branches.shape(0)) throw nb::value_error("nodes and branches of different lengths");
    std::vector<BranchRef> refs(nodes.shape(0));
    for (std::size_t i = 0; i < refs.size(); ++i) {
        if (branches.data()[i] < 0 || branches.data()[i] > 3) throw nb::index_error("unknown branch");
        refs[i] = {nodes.data()[i], static_cast<Branch>(branches.data()[i])};
    }
    nb::gil_scoped_release release;
    model.grow_branches(tree, std::move(refs), max_new_nodes, n_threads);
}

nb::dict target_distribution(LadderModel& model, std::size_t tree, const Vector<std::int32_t>& nodes) {
    TargetDistribution distribution;
    {
        nb::gil_scoped_release release;
        distribution = model.distribution_of(tree, std::span(nodes.data(), nodes.shape(0)));
    }
    nb::dict found;
    found["edges"] = to_numpy(std::move(distribution.edges));
    found["fractions"] = to_numpy(std::move(distribution.fractions));
    return found;
}

nb::dict ladder_state(const LadderModel& model, bool with_rows) {
    LadderModelState saved;
    {
        nb::gil_scoped_release release;  // do not hold the GIL while waiting for the model's lock
        saved = save_model(model, with_rows);
    }
    nb::dict state, trees, distributions;
    state["params"] = params_to_dict(model.params());
    state["n_columns"] = model.n_columns();
    for_each_tree_array(writes_to(trees), saved.trees);
    state["trees"] = trees;
    for_each_distribution_array(writes_to(distributions), saved.distributions);
    if (distributions.size() > 0) state["distributions"] = distributions;
    if (!saved.can_grow) return state;
    nb::dict data, ladders;
    state["n_rows"] = saved.data.n_rows;
    for_each_data_array(writes_to(data), saved.data);
    for_each_ladder_array(writes_to(ladders), saved.ladders);
    state["data"] = data;
    state["ladders"] = ladders;
    return state;
}

std::shared_ptr<LadderModel> ladder_from_state(const nb::dict& state) {
    const GrowthParameters params = params_from_dict(entry<nb::dict>(state, "params"));
    const auto n_columns = entry<std::size_t>(state, "n_columns");
    LadderModelState saved;
    for_each_tree_array(reads_from(entry<nb::dict>(state, "trees")), saved.trees);
    if (state.contains("distributions"))
        for_each_distribution_array(reads_from(entry<nb::dict>(state, "distributions")), saved.distributions);
    saved.can_grow = state.contains("ladders");
    if (saved.can_grow) {
        saved.data.n_rows = entry<std::int64_t>(state, "n_rows");
        for_each_data_array(reads_from(entry<nb::dict>(state, "data")), saved.data);
        for_each_ladder_array(reads_from(entry<nb::dict>(state, "ladders")), saved.ladders);
    }
    nb::gil_scoped_release release;
    return load_model(saved, params, n_columns, check_signals_at_intervals());
}

// ---- boosting ----

std::shared_ptr<BoostedModel> make_boosted_model(const SharedColumns& shared, const GrowthParameters& params,
                                                 const std::vector<double>& baseline) {
    return std::make_shared<BoostedModel>(BinMapper(*shared.binned), params, baseline);
}

void keep_background(BoostedModel& model, const SharedColumns& shared,
                     const std::optional<Vector<double>>& weight, std::size_t max_rows, int n_threads) {
    const std::vector<double> weights = weight ? to_vector(*weight) : std::vector<double>();
    nb::gil_scoped_release release;
    model.keep_background(*shared.binned, weights, max_rows, n_threads);
}

void set_background(BoostedModel& model, const SharedColumns& sampled,
                    const std::optional<Vector<double>>& weight, int n_threads) {
    std::vector<double> weights = weight ? to_vector(*weight) : std::vector<double>();
    nb::gil_scoped_release release;
    model.set_background(*sampled.binned, std::move(weights), n_threads);
}

nb::dict boosted_state(const BoostedModel& model, bool with_rows) {
    BoostedModelState saved;
    {
        nb::gil_scoped_release release;
        saved = save_model(model, with_rows);
    }
    nb::dict state, trees, bins;
    state["params"] = params_to_dict(model.params());
    state["baseline"] = model.baseline();
    for_each_tree_array(writes_to(trees), saved.trees);
    for_each_bins_array(writes_to(bins), saved.bins);
    state["trees"] = trees;
    state["bins"] = bins;
    return state;
}

std::shared_ptr<BoostedModel> boosted_from_state(const nb::dict& state, bool may_lack_trees) {
    const GrowthParameters params = params_from_dict(entry<nb::dict>(state, "params"));
    auto baseline = entry<std::vector<double>>(state, "baseline");
    BoostedModelState saved;
    for_each_tree_array(reads_from(entry<nb::dict>(state, "trees")), saved.trees);
    for_each_bins_array(reads_from(entry<nb::dict>(state, "bins")), saved.bins);
    nb::gil_scoped_release release;
    return load_model(saved, params, std::move(baseline), may_lack_trees);
}

}  // namespace

void bind_model(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<GrowingModel>(m, "GrowingModel")
        .def("predict", &predict, nb::arg("columns"), nb::arg("n_rows"), nb::arg("begin"),
             nb::arg("end").none(), nb::arg("n_threads"))
        .def("apply", &apply, nb::arg("columns"), nb::arg("n_rows"), nb::arg("n_threads"))
        .def("grow_some", &GrowingModel::grow_some, nb::arg("max_new_nodes"), nb::arg("n_threads"), Release())
        .def("importances", &importances, nb::arg("n_threads"))
        .def("detach", &GrowingModel::detach, Release())
        .def("keep_iterations", &GrowingModel::keep_iterations, nb::arg("n"), Release())
        .def("copy", &GrowingModel::copy, Release())
        .def("tree", &tree_of, nb::arg("number"))
        .def_prop_ro("params", [](const GrowingModel& model) { return params_to_dict(model.params()); })
        .def_prop_ro("n_columns", &GrowingModel::n_columns)
        .def_prop_ro("n_outputs", &GrowingModel::n_outputs)
        .def_prop_ro("n_trees", &GrowingModel::n_trees, Release())
        .def_prop_ro("n_iterations", &GrowingModel::n_iterations, Release())
        .def_prop_ro("n_nodes", &GrowingModel::n_nodes, Release())
        .def_prop_ro("n_grown", &GrowingModel::n_grown, Release())
        .def_prop_ro("n_ungrown", &GrowingModel::n_ungrown, Release())
        .def_prop_ro("n_ungrown_hits", &GrowingModel::n_ungrown_hits)
        .def_prop_ro("is_detached", &GrowingModel::is_detached, Release());
    nb::class_<LadderModel, GrowingModel>(m, "LadderModel")
        .def(nb::new_(&make_ladder_model), nb::arg("binned"), nb::arg("y"), nb::arg("weight").none(),
             nb::arg("params"))
        .def("add_trees", &add_trees, nb::arg("seeds"), nb::arg("in_bags").none(), nb::arg("n_threads"),
             nb::arg("on_tree").none() = nb::none())
        .def("grow_branches", &grow_branches, nb::arg("tree"), nb::arg("nodes"), nb::arg("branches"),
             nb::arg("max_new_nodes"), nb::arg("n_threads"))
        .def("target_distribution", &target_distribution, nb::arg("tree"), nb::arg("nodes"))
        .def("copy_with_rows", &copy_with_rows, nb::arg("binned"), nb::arg("y"), nb::arg("weight").none())
        .def_prop_ro("seeds", &LadderModel::seeds, Release())
        .def("with_third_branches", &LadderModel::with_third_branches, Release())
        .def("copy_of_tree", &LadderModel::copy_of_tree, nb::arg("number"), Release())
        .def("state", &ladder_state, nb::arg("with_rows"))
        .def_static("from_state", &ladder_from_state, nb::arg("state"));
    nb::class_<BoostedModel, GrowingModel>(m, "BoostedModel")
        .def(nb::new_(&make_boosted_model), nb::arg("binned"), nb::arg("params"), nb::arg("baseline"))
        .def("keep_background", &keep_background, nb::arg("binned"), nb::arg("weight").none(),
             nb::arg("max_rows"), nb::arg("n_threads"))
        .def("set_background", &set_background, nb::arg("sampled"), nb::arg("weight").none(),
             nb::arg("n_threads"))
        .def(
            "grow_for_background",
            [](BoostedModel& model, int n_threads) { model.grow_for_background(n_threads, &check_signals); },
            nb::arg("n_threads"), Release())
        .def_prop_ro("baseline", &BoostedModel::baseline)
        .def("state", &boosted_state, nb::arg("with_rows"))
        .def_static("from_state", &boosted_from_state, nb::arg("state"), nb::arg("may_lack_trees") = false);
}

}  // namespace tritree::bind
