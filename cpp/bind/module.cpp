#include "arrays.hpp"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of tritree: codes, growth, prediction.";
    tritree::bind::bind_codes(m);
    tritree::bind::bind_tree(m);
    tritree::bind::bind_model(m);
}
