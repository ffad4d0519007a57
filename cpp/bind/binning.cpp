#include "data/binning.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "bind/arrays.hpp"
#include "common/parallel.hpp"
#include "common/require.hpp"
#include "data/binning_in_parts.hpp"
#include "data/content_sampling.hpp"
#include "data/masked_copies.hpp"
#include "data/row_selection.hpp"
#include "model/serialization.hpp"

namespace tritree::bind {

void check_signals() {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::function<void()> check_signals_at_intervals() {
    using Clock = std::chrono::steady_clock;
    return [last = Clock::now()]() mutable {
        const auto now = Clock::now();
        if (now - last < std::chrono::milliseconds(20)) return;
        last = now;
        check_signals();
    };
}

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
    if (reinterpret_cast<std::uintptr_t>(view.data) % array.itemsize() != 0)
        throw nb::type_error("a column is not aligned in memory");
    view.stride = array.stride(0) * static_cast<std::ptrdiff_t>(array.itemsize());
    return view;
}

}  // namespace

TableView view_table(const nb::object& columns, std::size_t n_rows, std::vector<AnyArray>& keep) {
    TableView table{{}, n_rows};
    if (AnyArray matrix; nb::try_cast(columns, matrix)) {
        if (matrix.ndim() != 2 || matrix.shape(0) != n_rows)
            throw nb::value_error("columns of different lengths");
        ColumnView view = view_of(matrix);
        for (std::size_t j = 0; j < matrix.shape(1);
             ++j, view.data += matrix.stride(1) * static_cast<std::ptrdiff_t>(matrix.itemsize()))
            table.columns.push_back(view);
        keep.push_back(matrix);
        return table;
    }
    for (const nb::handle item : columns) {
        if (item.is_none()) {
            table.columns.emplace_back();
            continue;
        }
        const auto array = cast_array<AnyArray>(item);
        if (array.ndim() != 1 || array.shape(0) != n_rows)
            throw nb::value_error("columns of different lengths");
        table.columns.push_back(view_of(array));
        keep.push_back(array);
    }
    return table;
}

namespace {

void make_columns(SharedColumns* self, const nb::sequence& columns,
                  const std::vector<std::int64_t>& n_categories, std::uint32_t max_bins, int n_threads) {
    if (nb::len(columns) == 0 || nb::len(columns) != n_categories.size()) throw nb::value_error("no columns");
    const auto first = cast_array<AnyArray>(columns[0]);
    const std::size_t n_rows = first.ndim() == 1 ? first.shape(0) : 0;
    std::vector<AnyArray> keep;
    const TableView table = view_table(columns, n_rows, keep);
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
        const bool is_category = table.columns[j].type == ColumnView::Type::Category;
        if (table.columns[j].type == ColumnView::Type::Absent || is_category != (n_categories[j] >= 0))
            throw nb::type_error("the dtype of a column does not match its number of categories");
    }
    nb::gil_scoped_release release;
    new (self) SharedColumns{
        std::make_shared<const BinnedColumns>(bin_columns(table, n_categories, max_bins, n_threads))};
}

const BinnedColumn& column_at(const SharedColumns& shared, std::size_t column) {
    if (column >= shared.binned->columns.size()) throw nb::index_error("column index out of range");
    return shared.binned->columns[column];
}

using Bounds = std::vector<std::uint64_t>;

void add_part(TableCounts& counts, const nb::sequence& columns, std::size_t n_rows, int n_threads) {
    std::vector<AnyArray> keep;
    const TableView part = view_table(columns, n_rows, keep);
    nb::gil_scoped_release release;
    counts.add(part, n_threads);
}

nb::object bounds_of(const TableCounts& counts, std::size_t column, std::size_t n_rows,
                     std::uint32_t max_bins) {
    std::optional<Bounds> bounds;
    {
        nb::gil_scoped_release release;
        bounds = counts.bounds(column, n_rows, max_bins);
    }
    return bounds ? nb::cast(to_numpy(*std::move(bounds))) : nb::none();
}

auto sort_bounds(const AnyArray& values, std::uint32_t max_bins) {
    if (values.ndim() != 1) throw nb::value_error("values must be one column");
    const ColumnView view = view_of(values);
    if (view.type == ColumnView::Type::Category) throw nb::type_error("values must be numbers");
    Bounds bounds;
    {
        nb::gil_scoped_release release;
        bounds = sorted_bounds(view, values.shape(0), max_bins);
    }
    return to_numpy(std::move(bounds));
}

void make_binner(TableBinner* self, std::size_t n_rows, const std::vector<Vector<std::uint64_t>>& bounds,
                 const std::vector<std::int64_t>& n_categories, const std::shared_ptr<Scratch>& scratch,
                 bool also_rows) {
    std::vector<Bounds> copied;
    for (const auto& one : bounds) copied.push_back(to_vector(one));
    nb::gil_scoped_release release;
    new (self) TableBinner(n_rows, copied, n_categories, scratch, also_rows);
}

void append_part(TableBinner& binner, const nb::sequence& columns, std::size_t n_rows, int n_threads) {
    std::vector<AnyArray> keep;
    const TableView part = view_table(columns, n_rows, keep);
    nb::gil_scoped_release release;
    binner.append(part, n_threads);
}

// States have NumPy arrays, so that they are pickled without copies.

nb::tuple counts_state(const TableCounts& counts) {
    nb::list columns;
    for (ValueCounts::State& column : counts.state())
        columns.append(nb::make_tuple(column.dropped_bits, to_numpy(std::move(column.keys)),
                                      to_numpy(std::move(column.counts))));
    return nb::make_tuple(columns);
}

void add_counts(TableCounts& counts, const nb::tuple& state) {
    std::vector<ValueCounts::State> columns;
    for (const nb::handle column : state[0]) {
        const auto [dropped_bits, keys, n] =
            nb::cast<std::tuple<int, Vector<std::uint64_t>, Vector<std::uint64_t>>>(column);
        columns.push_back({dropped_bits, to_vector(keys), to_vector(n)});
    }
    nb::gil_scoped_release release;
    counts.add(columns);
}

nb::tuple columns_state(const SharedColumns& shared) {
    nb::list columns;
    for (const BinnedColumn& column : shared.binned->columns) {
        const nb::object bins = column.visit([&](const auto* values) {
            return nb::cast(to_numpy(std::vector(values, values + shared.binned->n_rows)));
        });
        columns.append(nb::make_tuple(column.categorical, column.n_bins, bins, to_numpy(column.bin_min),
                                      to_numpy(column.bin_max)));
    }
    return nb::make_tuple(shared.binned->n_rows, columns);
}

BinnedColumn column_from_state(const nb::handle& state, std::size_t n_rows) {
    using Fields = std::tuple<bool, std::uint32_t, nb::object, Vector<double>, Vector<double>>;
    const auto [categorical, n_bins, bins, bin_min, bin_max] = nb::cast<Fields>(state);
    require(n_bins <= kMaxBins, "too many bins");
    BinnedColumn column;
    column.categorical = categorical;
    column.n_bins = n_bins;
    const auto read = [&](const auto& values, auto& own) {
        own.assign(values.data(), values.data() + values.size());
    };
    if (column.fits_uint8())
        read(nb::cast<Vector<std::uint8_t>>(bins, false), column.bins8);
    else
        read(nb::cast<Vector<std::uint16_t>>(bins, false), column.bins16);
    column.bin_min = to_vector(bin_min);
    column.bin_max = to_vector(bin_max);
    const std::size_t n_bounds = categorical ? 0 : n_bins;
    require(column.bin_min.size() == n_bounds && column.bin_max.size() == n_bounds, "bounds of other bins");
    const bool is_valid = column.visit([&](const auto* values) {
        return (column.fits_uint8() ? column.bins8.size() : column.bins16.size()) == n_rows &&
               std::all_of(values, values + n_rows, [&](auto bin) { return bin <= n_bins; });
    });
    require(is_valid, "bins out of range");
    return column;
}

void set_columns(SharedColumns& shared, const nb::tuple& state) {
    BinnedColumns binned{nb::cast<std::size_t>(state[0]), {}};
    for (const nb::handle column : state[1])
        binned.columns.push_back(column_from_state(column, binned.n_rows));
    new (&shared) SharedColumns{std::make_shared<const BinnedColumns>(std::move(binned))};
}

SharedColumns join_parts(const std::vector<SharedColumns>& parts) {
    std::vector<std::shared_ptr<const BinnedColumns>> binned;
    for (const SharedColumns& part : parts) binned.push_back(part.binned);
    nb::gil_scoped_release release;
    return {std::make_shared<const BinnedColumns>(join_rows(binned))};
}

nb::tuple sample_hashes(const Vector<std::uint64_t>& hashes, const std::optional<Vector<double>>& weight,
                        std::size_t n) {
    require(!weight || weight->size() == hashes.size(), "hashes and weights of different lengths");
    SampledRows sampled;
    {
        nb::gil_scoped_release release;
        sampled =
            sample_by_hash({hashes.data(), hashes.size()},
                           weight ? std::span(weight->data(), weight->size()) : std::span<const double>(), n);
    }
    return nb::make_tuple(to_numpy(std::move(sampled.keys)), to_numpy(std::move(sampled.rows)));
}

void bind_parts(nb::class_<SharedColumns>& columns, nb::module_& m) {
    columns.def("__getstate__", &columns_state)
        .def("__setstate__", &set_columns)
        .def_static("join", &join_parts, nb::arg("parts"))
        .def(
            "take",
            [](const SharedColumns& shared, const Vector<std::int64_t>& rows) {
                nb::gil_scoped_release release;
                return SharedColumns{std::make_shared<const BinnedColumns>(
                    take_rows(*shared.binned, {rows.data(), rows.size()}))};
            },
            nb::arg("rows"))
        .def(
            "hash_rows",
            [](const SharedColumns& shared, std::uint64_t seed, int n_threads) {
                return to_numpy(hash_rows(*shared.binned, seed, n_threads));
            },
            nb::arg("seed"), nb::arg("n_threads"));
    m.def("sample_by_hash", &sample_hashes, nb::arg("hashes"), nb::arg("weight").none(), nb::arg("n"));
}

void bind_scratch(nb::module_& m) {
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const ScratchError& e) {
            PyErr_SetObject(PyExc_OSError, nb::make_tuple(e.code, e.what()).ptr());
        }
    });
    nb::class_<Scratch>(m, "Scratch").def(nb::init<std::string>(), nb::arg("folder"));
}

void bind_binning_in_parts(nb::module_& m) {
    nb::class_<TableCounts>(m, "TableCounts")
        .def(nb::init<std::size_t>(), nb::arg("n_columns"))
        .def("add", &add_part, nb::arg("columns"), nb::arg("n_rows"), nb::arg("n_threads"))
        .def("bounds", &bounds_of, nb::arg("column"), nb::arg("n_rows"), nb::arg("max_bins"))
        .def(
            "merge",
            [](TableCounts& counts, const TableCounts& other) {
                nb::gil_scoped_release release;
                counts.add(other.state());
            },
            nb::arg("other"))
        .def("__getstate__", &counts_state)
        .def("__setstate__", [](TableCounts& counts, const nb::tuple& state) {
            new (&counts) TableCounts(nb::len(nb::handle(state[0])));
            add_counts(counts, state);
        });
    m.def("sorted_bounds", &sort_bounds, nb::arg("values"), nb::arg("max_bins"));
    nb::class_<TableBinner>(m, "TableBinner")
        .def("__init__", &make_binner, nb::arg("n_rows"), nb::arg("bounds"), nb::arg("n_categories"),
             nb::arg("scratch") = nb::none(), nb::arg("also_rows") = false)
        .def("append", &append_part, nb::arg("columns"), nb::arg("n_rows"), nb::arg("n_threads"))
        .def(
            "finish",
            [](TableBinner& binner, bool every_bin_occurs) {
                nb::gil_scoped_release release;
                return SharedColumns{
                    std::make_shared<const BinnedColumns>(std::move(binner).finish(every_bin_occurs))};
            },
            nb::arg("every_bin_occurs") = true);
}

}  // namespace

void bind_binning(nb::module_& m) {
    // never released: it is still in use when the interpreter exits
    static PyObject* const error =
        nb::exception<InfiniteValueError>(m, "InfiniteValueError", PyExc_ValueError).inc_ref().ptr();
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const InfiniteValueError& e) {
            PyErr_SetObject(error, nb::make_tuple(e.column, e.row, e.value).ptr());
        }
    });
    m.def("hardware_threads", &hardware_threads);
    bind_scratch(m);
    bind_binning_in_parts(m);
    nb::class_<SharedColumns> columns(m, "BinnedColumns");
    columns
        .def("__init__", &make_columns, nb::arg("columns"), nb::arg("n_categories"), nb::arg("max_bins"),
             nb::arg("n_threads"))
        .def_prop_ro("n_rows", [](const SharedColumns& shared) { return shared.binned->n_rows; })
        .def_prop_ro("n_bins",
                     [](const SharedColumns& shared) {
                         std::vector<std::uint32_t> n;
                         for (const BinnedColumn& column : shared.binned->columns) n.push_back(column.n_bins);
                         return n;
                     })
        .def(
            "bins",
            [](const SharedColumns& shared, std::size_t column) {
                return to_numpy(column_at(shared, column).visit([&](const auto* bins) {
                    return std::vector<std::uint16_t>(bins, bins + shared.binned->n_rows);
                }));
            },
            nb::arg("column"))
        .def(
            "bounds",
            [](const SharedColumns& shared, std::size_t column) {
                const BinnedColumn& binned = column_at(shared, column);
                return std::make_pair(to_numpy(binned.bin_min), to_numpy(binned.bin_max));
            },
            nb::arg("column"))
        .def(
            "with_masked_copies",
            [](const SharedColumns& shared, std::size_t n_copies, std::uint64_t seed, int n_threads) {
                nb::gil_scoped_release release;
                return SharedColumns{std::make_shared<const BinnedColumns>(
                    with_masked_copies(*shared.binned, n_copies, seed, n_threads))};
            },
            nb::arg("n_copies"), nb::arg("seed"), nb::arg("n_threads"));
    bind_parts(columns, m);
}

}  // namespace tritree::bind
