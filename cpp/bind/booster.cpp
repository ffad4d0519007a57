#include "model/booster.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <optional>
#include <utility>

#include "bind/arrays.hpp"
#include "bind/names.hpp"

namespace tritree::bind {
namespace {

/// `data` is the binned columns that the model was created with, or the columns of a table to continue
/// training with.
std::shared_ptr<Booster> make_booster(const nb::object& data, const std::shared_ptr<BoostedModel>& model,
                                      const std::string& loss_name, double quantile, const Vector<double>& y,
                                      const std::optional<Vector<double>>& weight, double learning_rate,
                                      double subsample, const std::optional<Vector<double>>& raw,
                                      int n_threads) {
    Loss loss{
        from_name(loss_name, kLosses), quantile, static_cast<int>(model->n_outputs()), to_vector(y), {}};
    if (weight) loss.weight = to_vector(*weight);
    const std::size_t n = loss.n_rows(), k = model->n_outputs();
    std::shared_ptr<const BinnedColumns> columns;
    TableView table;
    std::vector<AnyArray> keep;
    if (nb::isinstance<SharedColumns>(data))
        columns = nb::cast<const SharedColumns&>(data).binned;
    else
        table = view_table(data, n, keep);
    const std::size_t n_columns = columns ? columns->columns.size() : table.columns.size();
    if (n == 0 || (columns && columns->n_rows != n) || (weight && loss.weight.size() != n) ||
        (raw && raw->shape(0) != n * k) || n_columns != model->n_columns())
        throw nb::value_error("columns, target and weights of different lengths");
    std::vector<double> raw_predictions;
    if (raw)
        raw_predictions = to_vector(*raw);
    else
        for (std::size_t i = 0; i < n * k; ++i) raw_predictions.push_back(model->baseline()[i / n]);
    nb::gil_scoped_release release;
    BinnedRows rows = columns ? to_rows(*columns, model->mapper(), nullptr, n_threads)
                              : bin_rows(table, model->mapper(), n_threads);
    return std::make_shared<Booster>(std::move(rows), std::move(columns), std::move(loss),
                                     BoostingParameters{learning_rate, subsample}, model,
                                     std::move(raw_predictions), n_threads);
}

}  // namespace

void bind_booster(nb::module_& m) {
    nb::class_<Booster>(m, "Booster")
        .def(nb::new_(&make_booster), nb::arg("data"), nb::arg("model"), nb::arg("loss"), nb::arg("quantile"),
             nb::arg("y"), nb::arg("weight").none(), nb::arg("learning_rate"), nb::arg("subsample"),
             nb::arg("raw").none(), nb::arg("n_threads"))
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
