#pragma once

#include <cstdint>
#include <limits>

namespace tritree {

/// How missing cells are handled; the words of the paper and of the Python parameter `missing`.
enum class Strategy : std::uint8_t { Trinary, TrinaryMia, Mia, Majority, Fractional, Surrogate };

/// The last one is not offered to users: runs behind the paper's figure multiplied the cross-entropy of a
/// node once more by its rows, and can be repeated with it.
enum class Criterion : std::uint8_t { SquaredError, Entropy, Gini, EntropyTimesRows };

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
    /// Whether missing rows count wholly on both sides of a fractional split where `min_samples_leaf` is
    /// asked for. Not offered to users either: so it was in the runs behind the paper's figure. Such trees
    /// are grown whole at once, so it is not saved.
    bool missing_counts_twice = false;
    double max_features = 1;  ///< the share of columns, drawn by the seed and the node, that a split may use
    std::uint64_t seed = 0;   ///< 0 unless the tree is one of a forest
    std::int64_t max_grown = std::numeric_limits<std::int64_t>::max();  ///< nodes to be grown on demand

    /// One of many trees keeps only what it needs for complete rows: the rungs beyond the first, one for each
    /// column, would more than double its memory, and most are never asked for.
    bool keeps_first_rungs_only() const { return seed != 0; }
    int n_outputs() const { return n_classes > 0 ? n_classes : 1; }
    bool has_third() const { return missing == Strategy::Trinary || missing == Strategy::TrinaryMia; }
    bool may_send_missing(Branch to) const {
        switch (missing) {
            case Strategy::Trinary:
                return to == Branch::Third;
            case Strategy::TrinaryMia:
                return to == Branch::Left || to == Branch::Right || to == Branch::Third;
            case Strategy::Mia:
            case Strategy::Majority:
                return to == Branch::Left || to == Branch::Right;
            case Strategy::Fractional:
                return to == Branch::Both;
            case Strategy::Surrogate:
                return to == Branch::Surrogates;
        }
        return false;
    }
    /// Return what is wrong with the settings, or nothing.
    const char* validate() const {
        if (missing < Strategy::Trinary || missing > Strategy::Surrogate) return "an unknown strategy";
        if (criterion < Criterion::SquaredError || criterion > Criterion::EntropyTimesRows)
            return "an unknown criterion";
        if (n_classes < 0 || (criterion == Criterion::SquaredError) != (n_classes == 0))
            return "the criterion does not fit the number of classes";
        if (max_depth < 0 || min_samples_leaf < 1 || max_surrogates < 0) return "settings out of range";
        if (!(max_features > 0) || max_features > 1 || max_grown < 0) return "settings out of range";
        return nullptr;
    }
};

}  // namespace tritree
