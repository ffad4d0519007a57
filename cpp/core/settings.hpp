#pragma once

#include <cstdint>

namespace tritree {

/// How missing cells are handled; the words of the paper and of the Python parameter `missing`.
enum class Strategy : std::uint8_t { Trinary, TrinaryMia, Mia, Majority, Fractional, Surrogate };

enum class Criterion : std::uint8_t { SquaredError, Entropy, Gini };

/// Where a split sends the rows whose value is missing.
enum class Branch : std::int8_t { None = -1, Left = 0, Right = 1, Third = 2, Both = 3, Surrogates = 4 };

/// A gain, or a difference between two gains, of at most this share of the node's loss counts as nothing.
/// It stops growth on rounding noise and makes ties of equal splits independent of it.
inline constexpr double kNegligible = 1e-12;

/// Slack in comparing a sum of fractional memberships with a whole number of rows.
inline constexpr double kMembershipSlack = 1e-9;

/// How to grow, as one frozen object.
struct Settings {
    Strategy missing = Strategy::Trinary;
    Criterion criterion = Criterion::SquaredError;
    int n_classes = 0;  ///< 0 in regression
    int max_depth = 5;
    std::int64_t min_samples_leaf = 20;
    bool split_on_missing = true;
    int max_surrogates = 5;
    int n_threads = 1;

    int n_outputs() const { return n_classes > 0 ? n_classes : 1; }
    bool has_third() const { return missing == Strategy::Trinary || missing == Strategy::TrinaryMia; }
};

}  // namespace tritree
