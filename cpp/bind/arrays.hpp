#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/parameters.hpp"
#include "data/binning.hpp"

namespace tritree::bind {

namespace nb = nanobind;

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Binned columns owned by Python and shared with models.
struct SharedColumns {
    std::shared_ptr<const BinnedColumns> binned;
};

/// Return a NumPy array that owns the memory of a vector.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> data) {
    auto* owned = new std::vector<T>(std::move(data));
    const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    const std::size_t n = owned->size();
    return nb::ndarray<nb::numpy, T>(owned->data(), 1, &n, owner);
}

/// Return a NumPy array of the given shape that owns the memory.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::unique_ptr<T[]> data, std::vector<std::size_t> shape) {
    T* owned = data.release();
    const nb::capsule owner(owned, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(owned, shape.size(), shape.data(), owner);
}

/// Return an object as an array of this type; throws a TypeError if it is none.
template <class Array>
Array cast_array(const nb::handle& object) {
    Array array;
    if (!nb::try_cast(object, array)) throw nb::type_error("not an array of the expected type");
    return array;
}

template <class T>
std::vector<T> to_vector(const Vector<T>& array) {
    return {array.data(), array.data() + array.shape(0)};
}

/// Read an entry of a dict, which must have exactly this type; return whether there is one.
template <class T>
bool read_entry(const nb::dict& from, const char* name, T& into) {
    const nb::handle found = PyDict_GetItemString(from.ptr(), name);
    if (!found) return false;
    if (!nb::try_cast(found, into, false))
        throw nb::value_error((std::string(name) + " has the wrong dtype").c_str());
    return true;
}

/// Return an entry of a dict, which must have exactly this type.
template <class T>
T entry(const nb::dict& from, const char* name) {
    T found;
    if (!read_entry(from, name, found)) throw nb::value_error((std::string(name) + " is absent").c_str());
    return found;
}

/// Return a function for the `for_each_..._array` lists that reads arrays from a dict; absent ones stay
/// empty.
inline auto reads_from(const nb::dict& from) {
    return [&from](const char* name, auto& array) {
        using T = typename std::remove_reference_t<decltype(array)>::value_type;
        if (from.contains(name)) array = to_vector(entry<Vector<T>>(from, name));
    };
}

/// The same to write arrays to a dict; empty ones are left out.
inline auto writes_to(nb::dict& into) {
    return [&into](const char* name, auto& array) {
        if (!array.empty()) into[name] = to_numpy(std::move(array));
    };
}

/// Throw KeyboardInterrupt if Ctrl-C was pressed.
void check_signals();
/// Return a function that does so at most every 20 ms: it may be called often, and waits for the GIL seldom.
std::function<void()> check_signals_at_intervals();

/// Return views of the user's columns of length `n_rows`, given as a sequence or as a matrix; `keep` keeps
/// their memory alive.
TableView view_table(const nb::object& columns, std::size_t n_rows, std::vector<AnyArray>& keep);

nb::dict params_to_dict(const GrowthParameters& params);
/// Return parameters by name; `allow_absent`: those that are not given have their default.
GrowthParameters params_from_dict(const nb::dict& fields, bool allow_absent = false);

void bind_binning(nb::module_& m);
void bind_parameters(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_model(nb::module_& m);
void bind_booster(nb::module_& m);

}  // namespace tritree::bind
