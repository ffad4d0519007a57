#include "core/tree.hpp"

#include "arrays.hpp"

namespace tritree::bind {
namespace {

/// Bind one array of the tree as a read-only view that keeps the tree alive.
template <class F>
void bind_array(nb::class_<Tree>& tree, const char* name, F&& array_of) {
    tree.def_prop_ro(name, [array_of](nb::handle self) {
        auto& data = array_of(nb::cast<Tree&>(self));
        using T = typename std::remove_reference_t<decltype(data)>::value_type;
        return nb::ndarray<nb::numpy, const T>(data.data(), {data.size()}, self);
    });
}

}  // namespace

void bind_tree(nb::module_& m) {
    nb::class_<Tree> tree(m, "Tree");
    bind_array(tree, "column", [](Tree& t) -> auto& { return t.split.column; });
    bind_array(tree, "threshold", [](Tree& t) -> auto& { return t.split.threshold; });
    bind_array(tree, "set_begin", [](Tree& t) -> auto& { return t.split.set_begin; });
    bind_array(tree, "set_words", [](Tree& t) -> auto& { return t.split.set_words; });
    bind_array(tree, "left", [](Tree& t) -> auto& { return t.left; });
    bind_array(tree, "right", [](Tree& t) -> auto& { return t.right; });
    bind_array(tree, "third", [](Tree& t) -> auto& { return t.third; });
    bind_array(tree, "missing_to", [](Tree& t) -> auto& { return t.missing_to; });
    bind_array(tree, "larger", [](Tree& t) -> auto& { return t.larger; });
    bind_array(tree, "share", [](Tree& t) -> auto& { return t.share; });
    bind_array(tree, "depth", [](Tree& t) -> auto& { return t.depth; });
    bind_array(tree, "rows", [](Tree& t) -> auto& { return t.rows; });
    bind_array(tree, "weight", [](Tree& t) -> auto& { return t.weight; });
    bind_array(tree, "loss", [](Tree& t) -> auto& { return t.loss; });
    bind_array(tree, "sets", [](Tree& t) -> auto& { return t.sets; });
    bind_array(tree, "surrogate_begin", [](Tree& t) -> auto& { return t.surrogate_begin; });
    bind_array(tree, "surrogate_column", [](Tree& t) -> auto& { return t.surrogate.column; });
    bind_array(tree, "surrogate_threshold", [](Tree& t) -> auto& { return t.surrogate.threshold; });
    bind_array(tree, "surrogate_below", [](Tree& t) -> auto& { return t.surrogate_below; });
    bind_array(tree, "surrogate_set_begin", [](Tree& t) -> auto& { return t.surrogate.set_begin; });
    bind_array(tree, "surrogate_set_words", [](Tree& t) -> auto& { return t.surrogate.set_words; });
    tree.def_prop_ro("value", [](nb::handle self) {
        auto& t = nb::cast<Tree&>(self);
        return nb::ndarray<nb::numpy, const double>(t.value.data(),
                                                    {t.size(), static_cast<std::size_t>(t.n_outputs)}, self);
    });
}

}  // namespace tritree::bind
