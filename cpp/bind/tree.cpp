#include "core/tree.hpp"

#include "arrays.hpp"
#include "core/state.hpp"

namespace tritree::bind {
void bind_tree(nb::module_& m) {
    nb::class_<Tree> tree(m, "Tree");
    // Views, read-only, that keep the tree alive. Which member an array is, is found by its place in
    // each_array.
    const Tree names;
    each_array(names, [&](const char* name, const auto& member) {
        const auto offset = reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(&names);
        using Array = std::remove_cvref_t<decltype(member)>;
        const bool is_value = static_cast<const void*>(&member) == &names.value;
        tree.def_prop_ro(name, [offset, is_value](nb::handle self) {
            const auto& t = nb::cast<const Tree&>(self);
            const auto& data = *reinterpret_cast<const Array*>(reinterpret_cast<const char*>(&t) + offset);
            using View = nb::ndarray<nb::numpy, const typename Array::value_type>;
            if (is_value) return View(data.data(), {t.size(), static_cast<std::size_t>(t.n_outputs)}, self);
            return View(data.data(), {data.size()}, self);
        });
    });
}

}  // namespace tritree::bind
