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

Loss make_loss(const std::string& name, double quantile, const Vector<double>& y,
               const std::optional<Vector<double>>& weight) {
    return {from_name(name, kLosses), quantile, 1, to_vector(y),
            weight ? to_vector(*weight) : std::vector<double>()};
}

std::shared_ptr<Booster> start(const SharedColumns& shared, const std::shared_ptr<BoostedModel>& model,
                               const std::string& loss_name, double quantile, const Vector<double>& y,
                               const std::optional<Vector<double>>& weight, double learning_rate,
                               double subsample, int n_threads) {
    Loss loss = make_loss(loss_name, quantile, y, weight);
    nb::gil_scoped_release release;
    return std::make_shared<Booster>(shared.binned, std::move(loss),
                                     BoostingParameters{learning_rate, subsample}, model, n_threads);
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
             nb::arg("n_threads"))
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
