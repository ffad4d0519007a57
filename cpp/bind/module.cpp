#include "bind/arrays.hpp"

NB_MODULE(_core, m) {
    // A daemon thread may hold a model when the interpreter exits, which is not a leak.
    nanobind::set_leak_warnings(false);
    m.doc() = "The compiled core of tritree: binning, growth, prediction.";
    tritree::bind::bind_binning(m);
    tritree::bind::bind_parameters(m);
    tritree::bind::bind_tree(m);
    tritree::bind::bind_model(m);
    tritree::bind::bind_booster(m);
}
