#include "core/model.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "core/state.hpp"

namespace tritree::bind {
namespace {

constexpr std::array kStrategies{std::pair{"trinary", Strategy::Trinary},
                                 std::pair{"trinary_mia", Strategy::TrinaryMia},
                                 std::pair{"mia", Strategy::Mia},
                                 std::pair{"majority", Strategy::Majority},
                                 std::pair{"fractional", Strategy::Fractional},
                                 std::pair{"surrogate", Strategy::Surrogate}};
constexpr std::array kCriteria{std::pair{"squared_error", Criterion::SquaredError},
                               std::pair{"entropy", Criterion::Entropy}, std::pair{"gini", Criterion::Gini},
                               std::pair{"entropy_times_rows", Criterion::EntropyTimesRows}};

template <class Names>
auto named(const std::string& name, const Names& names) {
    for (const auto& [known, value] : names)
        if (name == known) return value;
    throw nb::value_error(("unknown: " + name).c_str());
}

template <class T, class Names>
const char* name_of(T value, const Names& names) {
    return std::find_if(names.begin(), names.end(), [&](const auto& pair) { return pair.second == value; })
        ->first;
}

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

Settings settings_of(const std::string& missing, const std::string& criterion, int n_classes, int max_depth,
                     std::int64_t min_samples_leaf, bool split_on_missing, int max_surrogates,
                     bool missing_counts_twice = false, double max_features = 1, std::uint64_t seed = 0,
                     std::int64_t max_grown = kNoLimit) {
    const Settings settings{named(missing, kStrategies),
                            named(criterion, kCriteria),
                            n_classes,
                            max_depth,
                            min_samples_leaf,
                            split_on_missing,
                            max_surrogates,
                            missing_counts_twice,
                            max_features,
                            seed,
                            max_grown};
    if (const char* wrong = settings.validate()) throw nb::value_error(wrong);
    return settings;
}

void make_settings(Settings* self, const std::string& missing, const std::string& criterion, int n_classes,
                   int max_depth, std::int64_t min_samples_leaf, bool split_on_missing, int max_surrogates,
                   bool missing_counts_twice, double max_features, std::uint64_t seed,
                   std::int64_t max_grown) {
    new (self)
        Settings(settings_of(missing, criterion, n_classes, max_depth, min_samples_leaf, split_on_missing,
                             max_surrogates, missing_counts_twice, max_features, seed, max_grown));
}

/// Let Ctrl-C end a long call.
void check_signals() {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Return the responses and weights of a table's rows.
Target read_target(const Codes& codes, const nb::object& response,
                   const std::optional<Vector<double>>& weight, const Settings& settings) {
    Target target;
    target.n_classes = settings.n_classes;
    if (settings.n_classes > 0) {
        target.labels = copy_in(nb::cast<Vector<std::int32_t>>(response));
        for (const std::int32_t label : target.labels)
            if (label < 0 || label >= settings.n_classes)
                throw nb::value_error("a class number out of range");
    } else {
        target.y = copy_in(nb::cast<Vector<double>>(response));
    }
    if (weight) target.weight = copy_in(*weight);
    if (target.n_rows() != codes.n_rows || codes.n_rows == 0 ||
        (weight && target.weight.size() != codes.n_rows))
        throw nb::value_error("columns, response and weights of different lengths");
    return target;
}

void make_model(Model* self, const SharedCodes& shared, const nb::object& response,
                const std::optional<Vector<double>>& weight, const Settings& settings, int n_threads,
                const std::optional<Vector<std::uint32_t>>& in_bag) {
    const Codes& codes = *shared.codes;
    Target target = read_target(codes, response, weight, settings);
    if (in_bag) {
        target.in_bag = copy_in(*in_bag);
        for (std::size_t i = 0; i < target.in_bag.size(); ++i)
            if (target.in_bag[i] >= codes.n_rows || (i > 0 && target.in_bag[i] < target.in_bag[i - 1]))
                throw nb::value_error("rows out of range, or out of order");
        if (target.in_bag.empty()) throw nb::value_error("no rows");
    }
    nb::gil_scoped_release release;
    new (self) Model(shared.codes, std::move(target), settings, n_threads, &check_signals);
}

auto predict(Model& model, const nb::object& columns, std::size_t n_rows, int n_threads) {
    std::vector<AnyArray> keep;
    const RowsToPredict table{view_columns(columns, n_rows, keep), n_rows};
    const auto n_outputs = static_cast<std::size_t>(model.n_outputs());
    auto values = std::make_unique_for_overwrite<double[]>(n_rows * n_outputs);
    {
        nb::gil_scoped_release release;
        model.predict(table, n_threads, values.get(), nullptr, &check_signals);
    }
    return hand_over(std::move(values), {n_rows, n_outputs});
}

auto apply(Model& model, const nb::object& columns, std::size_t n_rows, int n_threads) {
    std::vector<AnyArray> keep;
    const RowsToPredict table{view_columns(columns, n_rows, keep), n_rows};
    auto leaves = std::make_unique_for_overwrite<std::int32_t[]>(n_rows);
    {
        nb::gil_scoped_release release;
        model.predict(table, n_threads, nullptr, leaves.get(), &check_signals);
    }
    return hand_over(std::move(leaves), {n_rows});
}

auto importances(Model& model, int n_threads) {
    std::vector<double> reduction;
    {
        nb::gil_scoped_release release;
        reduction = model.importances(n_threads);
    }
    return hand_over(std::move(reduction));
}

void grow_branches(Model& model, const Vector<std::int32_t>& nodes, const Vector<std::int32_t>& sides,
                   int n_threads) {
    if (nodes.shape(0) != sides.shape(0)) throw nb::value_error("nodes and sides of different lengths");
    std::vector<Wanted> wanted(nodes.shape(0));
    for (std::size_t w = 0; w < wanted.size(); ++w) {
        const std::int32_t side = sides.data()[w];
        if (side < 0 || side > 2) throw nb::index_error("no such branch");
        wanted[w] = {nodes.data()[w], static_cast<Branch>(side)};
    }
    nb::gil_scoped_release release;
    model.grow_branches(std::move(wanted), n_threads);
}

nb::dict spread_dict(Spread spread) {
    nb::dict found;
    found["edges"] = hand_over(std::move(spread.edges));
    found["shares"] = hand_over(std::move(spread.shares));
    return found;
}

nb::dict spread_of(Model& model, const Vector<std::int32_t>& nodes) {
    Spread spread;
    {
        nb::gil_scoped_release release;
        spread = model.spread_of(std::span(nodes.data(), nodes.shape(0)));
    }
    return spread_dict(std::move(spread));
}

nb::dict lasting_spread(Model& model) {
    Spread spread;
    {
        nb::gil_scoped_release release;
        spread = model.lasting_spread();
    }
    return spread_dict(std::move(spread));
}

nb::dict settings_dict(const Settings& s) {
    nb::dict settings;
    settings["missing"] = name_of(s.missing, kStrategies);
    settings["criterion"] = name_of(s.criterion, kCriteria);
    settings["n_classes"] = s.n_classes;
    settings["max_depth"] = s.max_depth;
    settings["min_samples_leaf"] = s.min_samples_leaf;
    settings["split_on_missing"] = s.split_on_missing;
    settings["max_surrogates"] = s.max_surrogates;
    if (s.max_features < 1) settings["max_features"] = s.max_features;  // of members of a forest
    if (s.seed != 0) settings["seed"] = s.seed;
    if (s.max_grown != kNoLimit) settings["max_grown"] = s.max_grown;
    return settings;
}

nb::dict growth_dict(GrowthState& growth) {
    nb::dict arrays;
    each_growth_array(growth,
                      [&](const char* name, auto& data) { arrays[name] = hand_over(std::move(data)); });
    each_member_array(growth, [&](const char* name, auto& data) {
        if (!data.empty()) arrays[name] = hand_over(std::move(data));
    });
    arrays["n_rows"] = growth.n_rows;
    return arrays;
}

/// Return all of a model; without its table if it is a member of a forest, which holds that for all.
nb::dict state_of(const Model& model, bool with_table) {
    Tree tree;
    Spread spread;
    std::optional<GrowthState> growth;
    {
        nb::gil_scoped_release release;  // whoever waits for the lock must not hold up Python
        model.inspect([&](const Tree& grown, const Spread& left, const Grower* grower) {
            tree = grown;
            spread = left;
            if (grower != nullptr) growth = save_growth(*grower, with_table);
        });
    }
    nb::dict state, arrays;
    state["settings"] = settings_dict(model.settings());
    state["n_columns"] = model.n_columns();
    state["n_fitted"] = model.n_fitted();
    each_array(tree, [&](const char* name, auto& data) { arrays[name] = hand_over(std::move(data)); });
    state["tree"] = arrays;
    if (!spread.edges.empty()) state["spread"] = spread_dict(std::move(spread));
    if (growth) state["growth"] = growth_dict(*growth);
    return state;
}

nb::dict get_state(const Model& model) { return state_of(model, true); }

/// Return an entry of a state as it must be, without converting it.
template <class T>
T entry(const nb::dict& from, const char* name) {
    T found;
    if (!from.contains(name)) throw nb::value_error((std::string("no ") + name).c_str());
    if (!nb::try_cast(from[name], found, false))
        throw nb::value_error((std::string(name) + " is not of its type").c_str());
    return found;
}

template <class T>
void read_array(const nb::dict& from, const char* name, std::vector<T>& into) {
    into = copy_in(entry<Vector<T>>(from, name));
}

template <class T>
T entry_or(const nb::dict& from, const char* name, T otherwise) {
    return from.contains(name) ? entry<T>(from, name) : otherwise;
}

Settings read_settings(const nb::dict& fields) {
    return settings_of(
        entry<std::string>(fields, "missing"), entry<std::string>(fields, "criterion"),
        entry<int>(fields, "n_classes"), entry<int>(fields, "max_depth"),
        entry<std::int64_t>(fields, "min_samples_leaf"), entry<bool>(fields, "split_on_missing"),
        entry<int>(fields, "max_surrogates"), false, entry_or<double>(fields, "max_features", 1),
        entry_or<std::uint64_t>(fields, "seed", 0), entry_or<std::int64_t>(fields, "max_grown", kNoLimit));
}

GrowthState read_growth(const nb::dict& fields) {
    GrowthState growth;
    each_growth_array(growth, [&](const char* name, auto& data) { read_array(fields, name, data); });
    each_member_array(growth, [&](const char* name, auto& data) {
        if (fields.contains(name)) read_array(fields, name, data);
    });
    growth.n_rows = entry<std::int64_t>(fields, "n_rows");
    return growth;
}

/// Take up a model again; `load(growth, tree, settings)` returns its grower.
template <class F>
void restore(Model* self, const nb::dict& state, F&& load) {
    const Settings settings = read_settings(entry<nb::dict>(state, "settings"));
    const auto n_columns = entry<std::int32_t>(state, "n_columns");
    Tree tree;
    tree.n_outputs = settings.n_outputs();
    const auto arrays = entry<nb::dict>(state, "tree");
    each_array(tree, [&](const char* name, auto& data) { read_array(arrays, name, data); });
    if (const auto wrong = tree.validate(settings, n_columns); !wrong.empty())
        throw nb::value_error(wrong.c_str());
    const auto n_nodes = static_cast<std::int32_t>(tree.size());
    std::unique_ptr<Grower> grower;
    if (state.contains("growth")) {
        grower = load(read_growth(entry<nb::dict>(state, "growth")), std::move(tree), settings);
        if (grower->codes().columns.size() != static_cast<std::size_t>(n_columns))
            throw nb::value_error("codes of another number of columns");
        tree = Tree{};
    }
    Spread spread;
    if (state.contains("spread")) {
        const auto bins = entry<nb::dict>(state, "spread");
        read_array(bins, "edges", spread.edges);
        read_array(bins, "shares", spread.shares);
        if (const auto wrong = spread.validate(static_cast<std::size_t>(n_nodes)); !wrong.empty())
            throw nb::value_error(wrong.c_str());
    }
    const auto n_fitted = entry<std::int32_t>(state, "n_fitted");
    if (n_fitted < 0 || n_fitted > n_nodes) throw nb::value_error("more nodes fitted than there are");
    new (self) Model(std::move(tree), std::move(grower), std::move(spread), settings, n_columns, n_fitted);
}

void set_state(Model* self, const nb::dict& state) {
    restore(self, state, [&](const GrowthState& growth, Tree tree, const Settings& settings) {
        // before the codes are looked into: check_places reads columns by their number
        if (growth.column_n_codes.size() != static_cast<std::size_t>(entry<std::int32_t>(state, "n_columns")))
            throw nb::value_error("codes of another number of columns");
        return load_growth(growth, std::move(tree), settings);
    });
}

/// Take up a member of a forest again, with the table that the forest holds.
void set_member_state(Model* self, const nb::dict& state, const SharedCodes& shared,
                      const nb::object& response, const std::optional<Vector<double>>& weight) {
    restore(self, state, [&](const GrowthState& growth, Tree tree, const Settings& settings) {
        if (shared.codes->columns.size() != static_cast<std::size_t>(entry<std::int32_t>(state, "n_columns")))
            throw nb::value_error("codes of another number of columns");
        return load_growth(growth, shared.codes, read_target(*shared.codes, response, weight, settings),
                           std::move(tree), settings);
    });
}

}  // namespace

void bind_model(nb::module_& m) {
    nb::class_<Settings>(m, "Settings")
        .def("__init__", &make_settings, nb::kw_only(), nb::arg("missing"), nb::arg("criterion"),
             nb::arg("n_classes"), nb::arg("max_depth"), nb::arg("min_samples_leaf"),
             nb::arg("split_on_missing"), nb::arg("max_surrogates"), nb::arg("missing_counts_twice") = false,
             nb::arg("max_features") = 1.0, nb::arg("seed") = 0, nb::arg("max_grown") = kNoLimit);
    nb::class_<Model>(m, "Model")
        .def("__init__", &make_model, nb::arg("codes"), nb::arg("response"), nb::arg("weight").none(),
             nb::arg("settings"), nb::arg("n_threads"), nb::arg("in_bag").none() = nb::none())
        .def("predict", &predict, nb::arg("columns"), nb::arg("n_rows"), nb::arg("n_threads"))
        .def("apply", &apply, nb::arg("columns"), nb::arg("n_rows"), nb::arg("n_threads"))
        .def("grow_some", &Model::grow_some, nb::arg("max_new_nodes"), nb::arg("n_threads"),
             nb::call_guard<nb::gil_scoped_release>())
        .def("grow_branches", &grow_branches, nb::arg("nodes"), nb::arg("sides"), nb::arg("n_threads"))
        .def("spread_of", &spread_of, nb::arg("nodes"))
        .def("lasting_spread", &lasting_spread)
        .def("importances", &importances, nb::arg("n_threads"))
        .def("detach", &Model::detach, nb::call_guard<nb::gil_scoped_release>())
        .def("tree", &Model::snapshot, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("settings", [](const Model& model) { return settings_dict(model.settings()); })
        .def_prop_ro("n_columns", &Model::n_columns)
        .def_prop_ro("n_nodes", &Model::n_nodes, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("n_grown", &Model::n_grown, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("n_ungrown", &Model::n_ungrown, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("n_cut_short", &Model::n_cut_short)
        .def_prop_ro("is_detached", &Model::is_detached, nb::call_guard<nb::gil_scoped_release>())
        .def("member_state", [](const Model& model) { return state_of(model, false); })
        .def("__setstate__", &set_member_state, nb::arg("state"), nb::arg("codes"), nb::arg("response"),
             nb::arg("weight").none())
        .def("__getstate__", &get_state)
        .def("__setstate__", &set_state);
}

}  // namespace tritree::bind
