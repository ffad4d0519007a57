#include "arrays.hpp"

NB_MODULE(_core, m) {
    // A daemon thread may hold a model when the interpreter ends, which is no fault to report to the user.
    nanobind::set_leak_warnings(false);
    m.doc() = "The compiled core of tritree: codes, growth, prediction.";
    tritree::bind::bind_codes(m);
    tritree::bind::bind_tree(m);
    tritree::bind::bind_model(m);
    tritree::bind::bind_boosting(m);
}
