#include "common/parameters.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "bind/arrays.hpp"
#include "bind/names.hpp"

namespace tritree::bind {
namespace {

struct ToDict {
    nb::dict& fields;

    void operator()(const char* name, const Strategy& value) const {
        fields[name] = to_name(value, kStrategies);
    }
    void operator()(const char* name, const CriterionKind& value) const {
        fields[name] = to_name(value, kCriteria);
    }
    template <class T>
    void operator()(const char* name, const T& value) const {
        fields[name] = value;
    }
};

/// Parameters that files of earlier versions do not have: they take their default. Add new ones here.
constexpr std::array<std::string_view, 5> kAbsentInEarlierFiles{
    "as_in_paper_runs", "split_penalty", "category_penalty", "surrogate_rows", "min_missing_third"};

/// Reads the entries of a dict; absent ones keep their default, if that is allowed.
struct FromDict {
    const nb::dict& fields;
    bool allow_absent;
    std::size_t& n_read;

    template <class T>
    void operator()(const char* name, T& value) const {
        if (read(name, value))
            ++n_read;
        else if (!allow_absent && std::find(kAbsentInEarlierFiles.begin(), kAbsentInEarlierFiles.end(),
                                            name) == kAbsentInEarlierFiles.end())
            throw nb::value_error((std::string(name) + " is absent").c_str());
    }
    template <class T>
    bool read(const char* name, T& value) const {
        return read_entry(fields, name, value);
    }
    bool read(const char* name, Strategy& value) const { return read_name(name, value, kStrategies); }
    bool read(const char* name, CriterionKind& value) const { return read_name(name, value, kCriteria); }
    template <class T, class Names>
    bool read_name(const char* name, T& value, const Names& names) const {
        std::string text;
        const bool found = read_entry(fields, name, text);
        if (found) value = from_name(text, names);
        return found;
    }
};

}  // namespace

nb::dict params_to_dict(const GrowthParameters& params) {
    nb::dict fields;
    for_each_parameter(ToDict{fields}, params);
    return fields;
}

GrowthParameters params_from_dict(const nb::dict& fields, bool allow_absent) {
    GrowthParameters params;
    std::size_t n_read = 0;
    for_each_parameter(FromDict{fields, allow_absent, n_read}, params);
    if (n_read != fields.size()) throw nb::value_error("unknown growth parameter");
    if (const char* error = params.validate()) throw nb::value_error(error);
    return params;
}

void bind_parameters(nb::module_& m) {
    nb::class_<GrowthParameters>(m, "GrowthParameters")
        .def("__init__",
             [](GrowthParameters* self, const nb::kwargs& fields) {
                 new (self) GrowthParameters(params_from_dict(fields, true));
             })
        .def("to_dict", &params_to_dict);
}

}  // namespace tritree::bind
