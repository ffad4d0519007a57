#include "tree/tree.hpp"

#include "bind/arrays.hpp"

namespace tritree::bind {

void bind_tree(nb::module_& m) {
    nb::class_<Tree> tree(m, "Tree");
    tree.def_ro("n_fitted", &Tree::n_fitted);
    // Read-only views that keep the tree alive. Which member an array is, is found by its offset.
    const Tree example;
    const auto add = [&](const char* name, const auto& member) {
        const auto offset = reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(&example);
        using Array = std::remove_cvref_t<decltype(member)>;
        const bool is_value = static_cast<const void*>(&member) == &example.value;
        tree.def_prop_ro(name, [offset, is_value](nb::handle self) {
            const auto& t = nb::cast<const Tree&>(self);
            const auto& data = *reinterpret_cast<const Array*>(reinterpret_cast<const char*>(&t) + offset);
            using View = nb::ndarray<nb::numpy, const typename Array::value_type>;
            if (is_value) return View(data.data(), {t.size(), static_cast<std::size_t>(t.n_outputs)}, self);
            return View(data.data(), {data.size()}, self);
        });
    };
    for_each_node_array(add, example);
    for_each_surrogate_array(add, example);
    add("sets", example.sets);
    add("surrogate_begin", example.surrogate_begin);
}

}  // namespace tritree::bind
