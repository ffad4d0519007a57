#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/codes.hpp"
#include "core/predict.hpp"

namespace tritree::bind {

namespace nb = nanobind;

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Codes as Python holds them; models that grow on the same codes share them.
struct SharedCodes {
    std::shared_ptr<const Codes> codes;
};

/// Return a NumPy array that takes over the memory of a vector.
template <class T>
nb::ndarray<nb::numpy, T> hand_over(std::vector<T> data) {
    auto* owned = new std::vector<T>(std::move(data));
    const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    const std::size_t n = owned->size();
    return nb::ndarray<nb::numpy, T>(owned->data(), 1, &n, owner);
}

/// Return a NumPy array of this shape that takes over memory.
template <class T>
nb::ndarray<nb::numpy, T> hand_over(std::unique_ptr<T[]> data, std::vector<std::size_t> shape) {
    T* owned = data.release();
    const nb::capsule owner(owned, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(owned, shape.size(), shape.data(), owner);
}

/// Return a vector with a copy of a NumPy array.
template <class T>
std::vector<T> copy_in(const Vector<T>& array) {
    return {array.data(), array.data() + array.shape(0)};
}

/// Return views of the user's columns, each n_rows long, given one by one or as an array with two dimensions;
/// they are valid while `columns` lives.
std::vector<ColumnView> view_columns(const nb::object& columns, std::size_t n_rows,
                                     std::vector<AnyArray>& keep);

void bind_codes(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_model(nb::module_& m);
void bind_boosting(nb::module_& m);

}  // namespace tritree::bind
