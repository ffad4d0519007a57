#include "tree/tree.hpp"

#include <span>
#include <utility>

#include "bind/arrays.hpp"
#include "tree/predictor.hpp"

namespace tritree::bind {
namespace {

nb::dict decision_paths_of(const Tree& tree, const nb::object& columns, std::size_t n_rows,
                           const Vector<std::int64_t>& rows) {
    std::vector<AnyArray> keep;
    const TableView table = view_table(columns, n_rows, keep);
    for (const std::int32_t column : tree.split.column)
        if (column >= static_cast<std::int32_t>(table.columns.size()))
            throw nb::value_error("too few columns");
    for (const std::int32_t column : tree.surrogate.column)
        if (column >= static_cast<std::int32_t>(table.columns.size()))
            throw nb::value_error("too few columns");
    const std::span<const std::int64_t> numbers(rows.data(), rows.shape(0));
    for (const std::int32_t column : tree.evidence.column)
        if (column >= static_cast<std::int32_t>(table.columns.size()))
            throw nb::value_error("too few columns");
    for (const std::int64_t row : numbers)
        if (row < 0 || static_cast<std::size_t>(row) >= n_rows)
            throw nb::index_error("row index out of range");
    DecisionPaths paths;
    {
        nb::gil_scoped_release release;
        paths = decision_paths(tree, table, numbers);
    }
    nb::dict arrays;
    arrays["level_begin"] = to_numpy(std::move(paths.level_begin));
    arrays["row"] = to_numpy(std::move(paths.row));
    arrays["origin"] = to_numpy(std::move(paths.origin));
    arrays["node"] = to_numpy(std::move(paths.node));
    arrays["to"] = to_numpy(std::move(paths.to));
    arrays["branch"] = to_numpy(std::move(paths.branch));
    arrays["fraction"] = to_numpy(std::move(paths.fraction));
    arrays["decided_by"] = to_numpy(std::move(paths.decided_by));
    arrays["lacks_value"] = to_numpy(std::move(paths.lacks_value));
    return arrays;
}

}  // namespace

void bind_tree(nb::module_& m) {
    nb::class_<Tree> tree(m, "Tree");
    tree.def_ro("n_fitted", &Tree::n_fitted);
    for (const auto& [name, side] :
         {std::pair{"missing_branch", Side::Missing}, std::pair{"unseen_branch", Side::Unseen}})
        tree.def_prop_ro(
            name, [side](const Tree& self) { return to_numpy(self.branches(side)); },
            nb::rv_policy::automatic);
    tree.def("decision_paths", &decision_paths_of, nb::arg("columns"), nb::arg("n_rows"), nb::arg("rows"));
    // Read-only views that keep the tree alive. The offset of an array identifies the member.
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
    for_each_evidence_array(add, example);
    add("sets", example.sets);
    add("surrogate_begin", example.surrogate_begin);
}

}  // namespace tritree::bind
