#pragma once

#include <stdexcept>
#include <string>

namespace tritree {

/// Throw std::invalid_argument unless a condition holds: the check of whatever comes from outside the core.
inline void require(bool holds, const char* error) {
    if (!holds) throw std::invalid_argument(error);
}

/// Throw std::invalid_argument unless `error`, from a function `validate`, is empty or null.
inline void require_valid(const std::string& error) { require(error.empty(), error.c_str()); }
inline void require_valid(const char* error) { require(error == nullptr, error); }

}  // namespace tritree
