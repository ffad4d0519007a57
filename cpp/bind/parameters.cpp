#include "grow/parameters.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "bind/arrays.hpp"
#include "bind/names.hpp"

namespace tritree::bind {
namespace {

void make_params(GrowthParameters* self, const std::string& missing, int max_depth,
                 std::int64_t max_leaf_nodes, std::int64_t min_samples_leaf, double max_features,
                 bool split_on_missing, std::uint64_t seed, std::int64_t max_third_nodes,
                 const std::string& criterion, int n_classes, int max_surrogates, bool keep_best_split_only,
                 bool missing_counts_on_both_sides, double l2, const std::vector<std::int8_t>& monotonic,
                 int third_depth_extra, std::int64_t third_rows, bool estimates_variance) {
    const GrowthParameters params{from_name(missing, kStrategies),
                                  max_depth,
                                  max_leaf_nodes,
                                  min_samples_leaf,
                                  max_features,
                                  split_on_missing,
                                  seed,
                                  max_third_nodes,
                                  from_name(criterion, kCriteria),
                                  n_classes,
                                  max_surrogates,
                                  keep_best_split_only,
                                  missing_counts_on_both_sides,
                                  l2,
                                  monotonic,
                                  third_depth_extra,
                                  third_rows,
                                  estimates_variance};
    if (const char* error = params.validate()) throw nb::value_error(error);
    new (self) GrowthParameters(params);
}

}  // namespace

nb::dict params_to_dict(const GrowthParameters& params) {
    nb::dict fields;
    fields["missing"] = to_name(params.missing, kStrategies);
    fields["max_depth"] = params.max_depth;
    fields["max_leaf_nodes"] = params.max_leaf_nodes;
    fields["min_samples_leaf"] = params.min_samples_leaf;
    fields["max_features"] = params.max_features;
    fields["split_on_missing"] = params.split_on_missing;
    fields["seed"] = params.seed;
    fields["max_third_nodes"] = params.max_third_nodes;
    fields["criterion"] = to_name(params.criterion, kCriteria);
    fields["n_classes"] = params.n_classes;
    fields["max_surrogates"] = params.max_surrogates;
    fields["keep_best_split_only"] = params.keep_best_split_only;
    fields["l2"] = params.l2;
    fields["monotonic"] = params.monotonic;
    fields["third_depth_extra"] = params.third_depth_extra;
    fields["third_rows"] = params.third_rows;
    fields["estimates_variance"] = params.estimates_variance;
    return fields;
}

GrowthParameters params_from_dict(const nb::dict& fields) {
    GrowthParameters params;
    params.missing = from_name(entry<std::string>(fields, "missing"), kStrategies);
    params.max_depth = entry<int>(fields, "max_depth");
    params.max_leaf_nodes = entry<std::int64_t>(fields, "max_leaf_nodes");
    params.min_samples_leaf = entry<std::int64_t>(fields, "min_samples_leaf");
    params.max_features = entry<double>(fields, "max_features");
    params.split_on_missing = entry<bool>(fields, "split_on_missing");
    params.seed = entry<std::uint64_t>(fields, "seed");
    params.max_third_nodes = entry<std::int64_t>(fields, "max_third_nodes");
    params.criterion = from_name(entry<std::string>(fields, "criterion"), kCriteria);
    params.n_classes = entry<int>(fields, "n_classes");
    params.max_surrogates = entry<int>(fields, "max_surrogates");
    params.keep_best_split_only = entry<bool>(fields, "keep_best_split_only");
    params.l2 = entry<double>(fields, "l2");
    params.monotonic = entry<std::vector<std::int8_t>>(fields, "monotonic");
    params.third_depth_extra = entry<int>(fields, "third_depth_extra");
    params.third_rows = entry<std::int64_t>(fields, "third_rows");
    params.estimates_variance = entry<bool>(fields, "estimates_variance");
    if (const char* error = params.validate()) throw nb::value_error(error);
    return params;
}

void bind_parameters(nb::module_& m) {
    const GrowthParameters defaults;
    nb::class_<GrowthParameters>(m, "GrowthParameters")
        .def("__init__", &make_params, nb::kw_only(), nb::arg("missing"), nb::arg("max_depth"),
             nb::arg("max_leaf_nodes") = defaults.max_leaf_nodes, nb::arg("min_samples_leaf"),
             nb::arg("max_features") = defaults.max_features,
             nb::arg("split_on_missing") = defaults.split_on_missing, nb::arg("seed") = defaults.seed,
             nb::arg("max_third_nodes") = defaults.max_third_nodes, nb::arg("criterion") = "squared_error",
             nb::arg("n_classes") = defaults.n_classes, nb::arg("max_surrogates") = defaults.max_surrogates,
             nb::arg("keep_best_split_only") = defaults.keep_best_split_only,
             nb::arg("missing_counts_on_both_sides") = defaults.missing_counts_on_both_sides,
             nb::arg("l2") = defaults.l2, nb::arg("monotonic") = defaults.monotonic,
             nb::arg("third_depth_extra") = defaults.third_depth_extra,
             nb::arg("third_rows") = defaults.third_rows,
             nb::arg("estimates_variance") = defaults.estimates_variance);
}

}  // namespace tritree::bind
