#include "model/booster.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "bind/arrays.hpp"
#include "bind/names.hpp"
#include "common/require.hpp"

namespace tritree::bind {
namespace {

Loss make_loss(const std::string& name, double quantile, const Vector<double>& y,
               const std::optional<Vector<double>>& weight) {
    return {from_name(name, kLosses), quantile, 1, to_vector(y),
            weight ? to_vector(*weight) : std::vector<double>()};
}

/// Combines numbers by a Python callable: `combine("sum" or "max", array)` returns the results.
class PythonCollective : public Collective {
  public:
    explicit PythonCollective(nb::callable combine) : combine_(std::move(combine)) {}
    PythonCollective(const PythonCollective&) = delete;
    PythonCollective& operator=(const PythonCollective&) = delete;
    ~PythonCollective() override {
        const nb::gil_scoped_acquire acquire;
        combine_.reset();
    }

    void sum(std::span<std::int64_t> numbers) override { combine("sum", numbers); }
    void max(std::span<double> numbers) override { combine("max", numbers); }

  private:
    template <class T>
    void combine(const char* how, std::span<T> numbers) {
        const nb::gil_scoped_acquire acquire;
        const auto combined =
            nb::cast<Vector<T>>(combine_(how, to_numpy(std::vector<T>(numbers.begin(), numbers.end()))));
        require(combined.size() == numbers.size(), "parts of a table that do not fit together");
        std::copy_n(combined.data(), numbers.size(), numbers.begin());
    }

    nb::callable combine_;
};

/// Return the part of a table that begins at a row; without `combine`, the whole table.
TablePart make_part(std::size_t first_row, std::size_t n_rows, const std::optional<nb::callable>& combine) {
    require(combine || first_row == 0, "a part of a table without the others");
    if (!combine) return TablePart::whole(n_rows);
    return {first_row, n_rows, std::make_shared<PythonCollective>(*combine)};
}

std::shared_ptr<Booster> start(const SharedColumns& shared, const std::shared_ptr<BoostedModel>& model,
                               const std::string& loss_name, double quantile, const Vector<double>& y,
                               const std::optional<Vector<double>>& weight, double learning_rate,
                               double subsample, int n_threads, std::size_t first_row,
                               std::optional<std::size_t> n_rows,
                               const std::optional<nb::callable>& combine) {
    Loss loss = make_loss(loss_name, quantile, y, weight);
    TablePart part = make_part(first_row, n_rows.value_or(loss.n_rows()), combine);
    nb::gil_scoped_release release;
    return std::make_shared<Booster>(shared.binned, std::move(loss),
                                     BoostingParameters{learning_rate, subsample}, model, std::move(part),
                                     n_threads);
}

std::shared_ptr<Booster> resume(const nb::object& columns, const Vector<double>& raw,
                                const std::shared_ptr<BoostedModel>& model, const std::string& loss_name,
                                double quantile, const Vector<double>& y,
                                const std::optional<Vector<double>>& weight, double learning_rate,
                                double subsample, int n_threads) {
    Loss loss = make_loss(loss_name, quantile, y, weight);
    std::vector<AnyArray> keep;
    const TableView table = view_table(columns, loss.n_rows(), keep);
    std::vector<double> raw_predictions = to_vector(raw);
    nb::gil_scoped_release release;
    return std::make_shared<Booster>(table, std::move(raw_predictions), std::move(loss),
                                     BoostingParameters{learning_rate, subsample}, model, n_threads);
}

}  // namespace

void bind_booster(nb::module_& m) {
    nb::class_<Booster>(m, "Booster")
        .def(nb::new_(&start), nb::arg("binned"), nb::arg("model"), nb::arg("loss"), nb::arg("quantile"),
             nb::arg("y"), nb::arg("weight").none(), nb::arg("learning_rate"), nb::arg("subsample"),
             nb::arg("n_threads"), nb::arg("first_row") = 0, nb::arg("n_rows").none() = nb::none(),
             nb::arg("combine").none() = nb::none())
        .def_static("resume", &resume, nb::arg("columns"), nb::arg("raw"), nb::arg("model"), nb::arg("loss"),
                    nb::arg("quantile"), nb::arg("y"), nb::arg("weight").none(), nb::arg("learning_rate"),
                    nb::arg("subsample"), nb::arg("n_threads"))
        .def("boost",
             [](Booster& booster) {
                 nb::gil_scoped_release release;
                 booster.boost(&check_signals);
             })
        .def("raw", [](const Booster& booster) {
            return to_numpy(std::vector<double>(booster.raw().begin(), booster.raw().end()));
        });
}

}  // namespace tritree::bind
