#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "common/parameters.hpp"
#include "model/loss.hpp"

namespace tritree::bind {

// Python names of the enumerations of the core.

inline constexpr std::array kStrategies{std::pair{"trinary", Strategy::Trinary},
                                        std::pair{"trinary_mia", Strategy::TrinaryMia},
                                        std::pair{"mia", Strategy::Mia},
                                        std::pair{"majority", Strategy::Majority},
                                        std::pair{"fractional", Strategy::Fractional},
                                        std::pair{"surrogate", Strategy::Surrogate}};

inline constexpr std::array kCriteria{std::pair{"squared_error", CriterionKind::SquaredError},
                                      std::pair{"entropy", CriterionKind::Entropy},
                                      std::pair{"gini", CriterionKind::Gini}};

inline constexpr std::array kLosses{std::pair{"squared_error", LossKind::SquaredError},
                                    std::pair{"absolute_error", LossKind::AbsoluteError},
                                    std::pair{"quantile", LossKind::Quantile},
                                    std::pair{"poisson", LossKind::Poisson},
                                    std::pair{"gamma", LossKind::Gamma},
                                    std::pair{"log_loss", LossKind::LogLoss},
                                    std::pair{"softmax", LossKind::Softmax}};

template <class Names>
auto from_name(const std::string& name, const Names& names) {
    for (const auto& [known, value] : names)
        if (name == known) return value;
    throw nanobind::value_error(("unknown name: " + name).c_str());
}

template <class T, class Names>
const char* to_name(T value, const Names& names) {
    return std::find_if(names.begin(), names.end(), [&](const auto& pair) { return pair.second == value; })
        ->first;
}

}  // namespace tritree::bind
