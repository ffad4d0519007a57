#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "boosting/booster.hpp"
#include "boosting/ensemble.hpp"
#include "boosting/ensemble_state.hpp"

namespace tritree::bind {
namespace {

using namespace boosting;

constexpr std::array kStrategies{std::pair{"trinary_mia", Strategy::TrinaryMia},
                                 std::pair{"trinary", Strategy::Trinary}, std::pair{"mia", Strategy::Mia},
                                 std::pair{"majority", Strategy::Majority},
                                 std::pair{"fractional", Strategy::Fractional}};
constexpr std::array kLosses{std::pair{"squared_error", LossKind::SquaredError},
                             std::pair{"absolute_error", LossKind::AbsoluteError},
                             std::pair{"quantile", LossKind::Quantile},
                             std::pair{"poisson", LossKind::Poisson},
                             std::pair{"gamma", LossKind::Gamma},
                             std::pair{"log_loss", LossKind::LogLoss},
                             std::pair{"softmax", LossKind::Softmax}};

template <class Names>
auto named(const std::string& name, const Names& names) {
    for (const auto& [known, value] : names)
        if (name == known) return value;
    throw nb::value_error(("unknown: " + name).c_str());
}

/// Let Ctrl-C end a long call.
void check_signals() {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void make_plan(Plan* self, const std::string& missing, int max_depth, std::int64_t max_leaf_nodes,
               std::int64_t min_samples_leaf, double l2, double max_features,
               const std::vector<std::int8_t>& monotonic, int third_depth_extra, std::int64_t third_rows,
               std::int64_t max_third_nodes, bool measures_doubt, std::uint64_t seed) {
    new (self) Plan{named(missing, kStrategies),
                    max_depth,
                    max_leaf_nodes,
                    min_samples_leaf,
                    l2,
                    max_features,
                    monotonic,
                    third_depth_extra,
                    third_rows,
                    max_third_nodes,
                    measures_doubt,
                    seed};
}

std::shared_ptr<Ensemble> make_ensemble(const SharedCodes& shared, const Plan& plan,
                                        const std::vector<double>& baseline) {
    Bins bins(*shared.codes);
    if (bins.n_columns() > 65535) throw nb::value_error("more than 65,535 columns");
    if (const char* wrong = plan.validate(bins.n_columns())) throw nb::value_error(wrong);
    if (baseline.empty()) throw nb::value_error("no outputs");
    return std::make_shared<Ensemble>(std::move(bins), plan, baseline);
}

void keep_background(Ensemble& ensemble, const SharedCodes& shared,
                     const std::optional<Vector<double>>& weight, std::size_t most, int n_threads) {
    std::vector<double> all;
    if (weight) all = copy_in(*weight);
    nb::gil_scoped_release release;
    const auto drawn = draw_rows(shared.codes->n_rows, most, ensemble.plan().seed);
    std::vector<double> weights;
    if (!all.empty())
        for (const std::uint32_t row : drawn) weights.push_back(all[row]);
    // so that the unit of weights does not matter
    const double mean =
        std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
    if (mean > 0 && std::isfinite(mean))
        for (double& w : weights) w /= mean;
    ensemble.set_background(std::make_shared<const Background>(
        rows_of(*shared.codes, ensemble.bins(), &drawn, n_threads), std::move(weights), ensemble.bins()));
}

CodeRows read_rows(const Ensemble& ensemble, const nb::object& columns, std::size_t n_rows, int n_threads) {
    std::vector<AnyArray> keep;
    const RowsToPredict table{view_columns(columns, n_rows, keep), n_rows};
    if (table.columns.size() != ensemble.bins().n_columns())
        throw nb::value_error("another number of columns");
    nb::gil_scoped_release release;
    return encode_rows(table, ensemble.bins(), n_threads);
}

/// Return the sums over the trees of some rounds, and what is left open of them: None if that is not
/// measured.
nb::tuple predict(Ensemble& ensemble, const nb::object& columns, std::size_t n_rows, std::size_t begin,
                  std::size_t end, int n_threads) {
    const CodeRows rows = read_rows(ensemble, columns, n_rows, n_threads);
    const std::size_t k = ensemble.n_outputs();
    std::unique_ptr<double[]> raw(new double[n_rows * k]), doubt;
    if (ensemble.plan().measures_doubt) doubt.reset(new double[n_rows * k]());
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < n_rows * k; ++i) raw[i] = begin == 0 ? ensemble.baseline()[i % k] : 0;
        ensemble.add_to(rows, begin, end, raw.get(), doubt.get(), n_threads, &check_signals);
    }
    nb::object open = nb::none();
    if (doubt) open = nb::cast(hand_over(std::move(doubt), {n_rows, k}));
    return nb::make_tuple(hand_over(std::move(raw), {n_rows, k}), open);
}

auto apply(Ensemble& ensemble, const nb::object& columns, std::size_t n_rows, int n_threads) {
    const CodeRows rows = read_rows(ensemble, columns, n_rows, n_threads);
    const std::size_t n_trees = ensemble.n_trees();
    std::unique_ptr<std::int32_t[]> nodes(new std::int32_t[std::max<std::size_t>(n_rows * n_trees, 1)]);
    {
        nb::gil_scoped_release release;
        ensemble.apply(rows, 0, n_trees / ensemble.n_outputs(), nodes.get(), n_threads, &check_signals);
    }
    return hand_over(std::move(nodes), {n_rows, n_trees});
}

/// Return where parts of rows end, one tree after the other: where those of each tree begin, and the row, the
/// node and the share of each.
nb::tuple ends(const Ensemble& ensemble, const nb::object& columns, std::size_t n_rows, int n_threads) {
    if (ensemble.plan().missing != Strategy::Fractional) throw nb::value_error("no row goes both ways");
    const CodeRows rows = read_rows(ensemble, columns, n_rows, n_threads);
    std::vector<std::int64_t> begin(1, 0), row;
    std::vector<std::int32_t> node;
    std::vector<double> share;
    {
        nb::gil_scoped_release release;
        for (const std::vector<End>& of_tree : ensemble.ends(rows, n_threads)) {
            for (const End& end : of_tree) {
                row.push_back(end.row);
                node.push_back(end.node);
                share.push_back(end.share);
            }
            begin.push_back(static_cast<std::int64_t>(row.size()));
        }
    }
    return nb::make_tuple(hand_over(std::move(begin)), hand_over(std::move(row)), hand_over(std::move(node)),
                          hand_over(std::move(share)));
}

/// `data` are the codes that the ensemble was made with, or columns to go on with.
std::shared_ptr<Booster> make_booster(const nb::object& data, std::shared_ptr<Ensemble> ensemble,
                                      const std::string& loss, double quantile, const Vector<double>& y,
                                      const std::optional<Vector<double>>& weight, double learning_rate,
                                      double subsample, const std::optional<Vector<double>>& raw,
                                      int n_threads) {
    Loss what{named(loss, kLosses), quantile, static_cast<int>(ensemble->n_outputs()), copy_in(y), {}};
    if (weight) what.weight = copy_in(*weight);
    const std::size_t n = what.n_rows(), k = ensemble->n_outputs();
    std::shared_ptr<const Codes> codes;
    CodeRows rows;
    if (nb::isinstance<SharedCodes>(data))
        codes = nb::cast<const SharedCodes&>(data).codes;
    else
        rows = read_rows(*ensemble, data, n, n_threads);
    if ((codes && codes->n_rows != n) || (weight && what.weight.size() != n) ||
        (raw && raw->shape(0) != n * k))
        throw nb::value_error("columns, response and weights of different lengths");
    std::vector<double> so_far;
    if (raw)
        so_far = copy_in(*raw);
    else
        for (std::size_t i = 0; i < n * k; ++i) so_far.push_back(ensemble->baseline()[i / n]);
    nb::gil_scoped_release release;
    if (codes) rows = rows_of(*codes, ensemble->bins(), nullptr, n_threads);
    return std::make_shared<Booster>(std::move(rows), std::move(codes), std::move(what),
                                     Pace{learning_rate, subsample}, std::move(ensemble), std::move(so_far),
                                     n_threads);
}

nb::dict tree_arrays(const Ensemble& ensemble, std::size_t number) {
    BoostedTree tree;
    {
        nb::gil_scoped_release release;
        ensemble.inspect([&](const std::vector<BoostedTree>& trees) {
            if (number >= trees.size()) throw nb::index_error("no such tree");
            tree = trees[number];
        });
    }
    const std::size_t n = tree.size();
    std::vector<std::int32_t> column(n), begin(n), left(n), right(n), third(n), depth(n), missing_to(n);
    std::vector<std::int64_t> rows(n), set(n);
    std::vector<double> gain(n);
    for (std::size_t i = 0; i < n; ++i) {
        const Step& step = tree.steps[i];
        const Info& info = tree.infos[i];
        const auto self = static_cast<std::int32_t>(i);
        const bool leaf = step.is_leaf();
        column[i] = leaf ? -1 : step.column;
        begin[i] = step.begin;
        left[i] = leaf ? -1 : step.next[0];
        right[i] = leaf ? -1 : step.next[1];
        third[i] = leaf || step.missing_to != Branch::Third ? -1 : step.next[2] == self ? -2 : step.next[2];
        missing_to[i] = static_cast<std::int32_t>(step.missing_to);
        depth[i] = info.depth;
        rows[i] = info.rows;
        set[i] = info.set;
        gain[i] = info.gain;
    }
    nb::dict arrays;
    arrays["column"] = hand_over(std::move(column));
    arrays["begin"] = hand_over(std::move(begin));
    arrays["left"] = hand_over(std::move(left));
    arrays["right"] = hand_over(std::move(right));
    arrays["third"] = hand_over(std::move(third));
    arrays["missing_to"] = hand_over(std::move(missing_to));
    arrays["depth"] = hand_over(std::move(depth));
    arrays["rows"] = hand_over(std::move(rows));
    arrays["set"] = hand_over(std::move(set));
    arrays["gain"] = hand_over(std::move(gain));
    arrays["value"] = hand_over(std::move(tree.values));
    arrays["sets"] = hand_over(std::move(tree.sets));
    arrays["n_fitted"] = tree.n_fitted;
    return arrays;
}

nb::dict plan_dict(const Plan& plan) {
    nb::dict fields;
    fields["missing"] = std::find_if(kStrategies.begin(), kStrategies.end(), [&](const auto& pair) {
                            return pair.second == plan.missing;
                        })->first;
    fields["max_depth"] = plan.max_depth;
    fields["max_leaf_nodes"] = plan.max_leaf_nodes;
    fields["min_samples_leaf"] = plan.min_samples_leaf;
    fields["l2"] = plan.l2;
    fields["max_features"] = plan.max_features;
    fields["monotonic"] = plan.monotonic;
    fields["third_depth_extra"] = plan.third_depth_extra;
    fields["third_rows"] = plan.third_rows;
    fields["max_third_nodes"] = plan.max_third_nodes;
    fields["measures_doubt"] = plan.measures_doubt;
    fields["seed"] = plan.seed;
    return fields;
}

/// Return all of an ensemble as arrays and plain numbers; without its background rows if so asked.
nb::dict get_state(const Ensemble& ensemble, bool with_background) {
    TreesState trees;
    RowsState rows;
    {
        nb::gil_scoped_release release;
        trees = save_trees(ensemble);
        rows = save_rows(ensemble, with_background);
    }
    nb::dict state, of_trees, of_rows;
    each_trees_array(trees,
                     [&](const char* name, auto& array) { of_trees[name] = hand_over(std::move(array)); });
    each_rows_array(rows,
                    [&](const char* name, auto& array) { of_rows[name] = hand_over(std::move(array)); });
    if (ensemble.plan().missing == Strategy::Fractional)
        each_shared_array(
            trees, [&](const char* name, auto& array) { of_trees[name] = hand_over(std::move(array)); });
    state["plan"] = plan_dict(ensemble.plan());
    state["baseline"] = ensemble.baseline();
    state["trees"] = of_trees;
    state["rows"] = of_rows;
    return state;
}

/// Return an entry of a state as it must be, without converting it.
template <class T>
T entry(const nb::dict& from, const char* name) {
    T found;
    if (!from.contains(name)) throw nb::value_error((std::string("no ") + name).c_str());
    if (!nb::try_cast(from[name], found, false))
        throw nb::value_error((std::string(name) + " is not of its type").c_str());
    return found;
}

std::shared_ptr<Ensemble> from_state(const nb::dict& state) {
    const auto fields = entry<nb::dict>(state, "plan");
    Plan plan;
    plan.missing = named(entry<std::string>(fields, "missing"), kStrategies);
    plan.max_depth = entry<int>(fields, "max_depth");
    plan.max_leaf_nodes = entry<std::int64_t>(fields, "max_leaf_nodes");
    plan.min_samples_leaf = entry<std::int64_t>(fields, "min_samples_leaf");
    plan.l2 = entry<double>(fields, "l2");
    plan.max_features = entry<double>(fields, "max_features");
    plan.monotonic = entry<std::vector<std::int8_t>>(fields, "monotonic");
    plan.third_depth_extra = entry<int>(fields, "third_depth_extra");
    plan.third_rows = entry<std::int64_t>(fields, "third_rows");
    plan.max_third_nodes = entry<std::int64_t>(fields, "max_third_nodes");
    plan.measures_doubt = entry<bool>(fields, "measures_doubt");
    plan.seed = entry<std::uint64_t>(fields, "seed");
    const auto of_trees = entry<nb::dict>(state, "trees"), of_rows = entry<nb::dict>(state, "rows");
    TreesState trees;
    RowsState rows;
    const auto read = [](const nb::dict& from) {
        return [&from](const char* name, auto& array) {
            using Item = typename std::remove_reference_t<decltype(array)>::value_type;
            array = copy_in(entry<Vector<Item>>(from, name));
        };
    };
    each_trees_array(trees, read(of_trees));
    if (plan.missing == Strategy::Fractional) each_shared_array(trees, read(of_trees));
    each_rows_array(rows, read(of_rows));
    auto baseline = entry<std::vector<double>>(state, "baseline");
    nb::gil_scoped_release release;
    return load_ensemble(trees, rows, plan, std::move(baseline));
}

}  // namespace

void bind_boosting(nb::module_& m) {
    nb::class_<Plan>(m, "Plan").def("__init__", &make_plan, nb::kw_only(), nb::arg("missing"),
                                    nb::arg("max_depth"), nb::arg("max_leaf_nodes"),
                                    nb::arg("min_samples_leaf"), nb::arg("l2"), nb::arg("max_features"),
                                    nb::arg("monotonic"), nb::arg("third_depth_extra"), nb::arg("third_rows"),
                                    nb::arg("max_third_nodes"), nb::arg("measures_doubt"), nb::arg("seed"));
    nb::class_<Ensemble>(m, "Ensemble")
        .def(nb::new_(&make_ensemble), nb::arg("codes"), nb::arg("plan"), nb::arg("baseline"))
        .def("keep_background", &keep_background, nb::arg("codes"), nb::arg("weight").none(), nb::arg("most"),
             nb::arg("n_threads"))
        .def("predict", &predict, nb::arg("columns"), nb::arg("n_rows"), nb::arg("begin"), nb::arg("end"),
             nb::arg("n_threads"))
        .def("apply", &apply, nb::arg("columns"), nb::arg("n_rows"), nb::arg("n_threads"))
        .def("ends", &ends, nb::arg("columns"), nb::arg("n_rows"), nb::arg("n_threads"))
        .def("tree", &tree_arrays, nb::arg("number"))
        .def("state", &get_state, nb::arg("with_background"))
        .def_static("from_state", &from_state, nb::arg("state"))
        .def("keep_rounds", &Ensemble::keep_rounds, nb::arg("n_rounds"))
        .def("detach", &Ensemble::detach)
        .def_prop_ro("goes_both_ways",
                     [](const Ensemble& ensemble) { return ensemble.plan().missing == Strategy::Fractional; })
        .def_prop_ro("n_trees", &Ensemble::n_trees)
        .def_prop_ro("n_outputs", &Ensemble::n_outputs)
        .def_prop_ro("n_nodes", &Ensemble::n_nodes)
        .def_prop_ro("n_grown", &Ensemble::n_grown)
        .def_prop_ro("n_cut_short", &Ensemble::n_cut_short)
        .def_prop_ro("is_detached", &Ensemble::is_detached);
    nb::class_<Booster>(m, "Booster")
        .def(nb::new_(&make_booster), nb::arg("data"), nb::arg("ensemble"), nb::arg("loss"),
             nb::arg("quantile"), nb::arg("y"), nb::arg("weight").none(), nb::arg("learning_rate"),
             nb::arg("subsample"), nb::arg("raw").none(), nb::arg("n_threads"))
        .def("boost",
             [](Booster& booster) {
                 nb::gil_scoped_release release;
                 booster.boost(&check_signals);
             })
        .def("raw", [](const Booster& booster) {
            return hand_over(std::vector<double>(booster.raw().begin(), booster.raw().end()));
        });
}

}  // namespace tritree::bind
