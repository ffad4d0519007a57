#include "core/codes.hpp"

#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "core/parallel.hpp"
#include "core/state.hpp"

namespace tritree::bind {

namespace {

ColumnView view_of(const AnyArray& array) {
    ColumnView view;
    if (array.dtype() == nb::dtype<double>())
        view.type = ColumnView::Type::Float64;
    else if (array.dtype() == nb::dtype<float>())
        view.type = ColumnView::Type::Float32;
    else if (array.dtype() == nb::dtype<std::int32_t>())
        view.type = ColumnView::Type::Category;
    else
        throw nb::type_error("a column must be float64, float32 or int32");
    view.data = static_cast<const char*>(array.data());
    view.stride = array.stride(0) * static_cast<std::ptrdiff_t>(array.itemsize());
    return view;
}

}  // namespace

std::vector<ColumnView> view_columns(const nb::object& columns, std::size_t n_rows,
                                     std::vector<AnyArray>& keep) {
    std::vector<ColumnView> views;
    if (AnyArray matrix; nb::try_cast(columns, matrix)) {
        if (matrix.ndim() != 2 || matrix.shape(0) != n_rows)
            throw nb::value_error("columns of different lengths");
        ColumnView view = view_of(matrix);
        for (std::size_t j = 0; j < matrix.shape(1);
             ++j, view.data += matrix.stride(1) * static_cast<std::ptrdiff_t>(matrix.itemsize()))
            views.push_back(view);
        keep.push_back(matrix);
        return views;
    }
    for (const nb::handle item : columns) {
        if (item.is_none()) {
            views.emplace_back();
            continue;
        }
        const auto array = nb::cast<AnyArray>(item);
        if (array.ndim() != 1 || array.shape(0) != n_rows)
            throw nb::value_error("columns of different lengths");
        views.push_back(view_of(array));
        keep.push_back(array);
    }
    return views;
}

namespace {

void make_codes(SharedCodes* self, const nb::sequence& columns, const std::vector<std::int64_t>& n_categories,
                std::uint32_t max_bins, int n_threads) {
    if (nb::len(columns) == 0 || nb::len(columns) != n_categories.size()) throw nb::value_error("no columns");
    const auto n_rows = static_cast<std::size_t>(nb::cast<AnyArray>(columns[0]).shape(0));
    std::vector<AnyArray> keep;
    const auto views = view_columns(columns, n_rows, keep);
    for (std::size_t j = 0; j < views.size(); ++j) {
        const bool is_category = views[j].type == ColumnView::Type::Category;
        if (views[j].type == ColumnView::Type::Absent || is_category != (n_categories[j] >= 0))
            throw nb::type_error("a column of another kind than its number of categories says");
    }
    nb::gil_scoped_release release;
    new (self)
        SharedCodes{std::make_shared<const Codes>(encode(views, n_categories, n_rows, max_bins, n_threads))};
}

const CodedColumn& column_at(const SharedCodes& shared, std::size_t column) {
    if (column >= shared.codes->columns.size()) throw nb::index_error("no such column");
    return shared.codes->columns[column];
}

auto codes_of(const SharedCodes& codes, std::size_t column) {
    return hand_over(column_at(codes, column).visit([&](const auto* c) {
        return std::vector<std::uint16_t>(c, c + codes.codes->n_rows);
    }));
}

auto bounds_of(const SharedCodes& codes, std::size_t column) {
    const CodedColumn& coded = column_at(codes, column);
    return std::make_pair(hand_over(coded.smallest), hand_over(coded.largest));
}

std::vector<std::uint32_t> n_codes_of(const SharedCodes& shared) {
    std::vector<std::uint32_t> n;
    for (const CodedColumn& column : shared.codes->columns) n.push_back(column.n_codes);
    return n;
}

/// Call `f(name, array)` for the arrays that hold codes.
template <class State, class F>
void each_codes_array(State& state, F&& f) {
    f("column_is_categorical", state.column_is_categorical);
    f("column_n_codes", state.column_n_codes);
    f("codes_narrow", state.narrow);
    f("codes_wide", state.wide);
    f("code_smallest", state.smallest);
    f("code_largest", state.largest);
}

nb::dict codes_state(const SharedCodes& shared) {
    GrowthState state = save_codes(*shared.codes);
    nb::dict arrays;
    each_codes_array(state, [&](const char* name, auto& data) { arrays[name] = hand_over(std::move(data)); });
    arrays["n_rows"] = state.n_rows;
    return arrays;
}

void set_codes_state(SharedCodes* self, const nb::dict& arrays) {
    GrowthState state;
    state.n_rows = nb::cast<std::int64_t>(arrays["n_rows"]);
    each_codes_array(state, [&](const char* name, auto& data) {
        using Item = typename std::remove_reference_t<decltype(data)>::value_type;
        data = copy_in(nb::cast<Vector<Item>>(arrays[name], false));
    });
    new (self) SharedCodes{std::make_shared<const Codes>(load_codes(state))};
}

}  // namespace

void bind_codes(nb::module_& m) {
    // never released: it is still in use when the interpreter ends
    static PyObject* const bad_value =
        nb::exception<BadValue>(m, "BadValue", PyExc_ValueError).inc_ref().ptr();
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const BadValue& e) {
            PyErr_SetObject(bad_value, nb::make_tuple(e.column, e.row, e.value).ptr());
        }
    });
    m.def("hardware_threads", &hardware_threads);
    nb::class_<SharedCodes>(m, "Codes")
        .def("__init__", &make_codes, nb::arg("columns"), nb::arg("n_categories"), nb::arg("max_bins"),
             nb::arg("n_threads"))
        .def_prop_ro("n_rows", [](const SharedCodes& shared) { return shared.codes->n_rows; })
        .def_prop_ro("n_codes", &n_codes_of)
        .def("codes", &codes_of, nb::arg("column"))
        .def("bounds", &bounds_of, nb::arg("column"))
        .def("__getstate__", &codes_state)
        .def("__setstate__", &set_codes_state);
}

}  // namespace tritree::bind
