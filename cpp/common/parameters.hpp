#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tritree {

/// How missing values are handled; the values of the Python parameter `missing`.
enum class Strategy : std::uint8_t { Trinary, TrinaryMia, Mia, Majority, Fractional, Surrogate };

/// Split criterion of single trees and forests.
enum class CriterionKind : std::uint8_t { SquaredError, Entropy, Gini };

/// Where a split sends a row.
enum class Branch : std::int8_t { None = -1, Left = 0, Right = 1, Third = 2, Both = 3, Surrogates = 4 };

/// A gain, or a difference between gains, of at most this fraction of the node's loss counts as rounding
/// error.
inline constexpr double kNegligible = 1e-12;

/// Tolerance in comparing a sum of fractional memberships with a number of rows.
inline constexpr double kMembershipTolerance = 1e-9;

/// Upper limit of depth parameters, small enough that the sum of two does not overflow.
inline constexpr int kMaxDepth = 1 << 29;

/// Upper limit of the number of leaves: a tree has at most 2^31 nodes.
inline constexpr std::int64_t kMaxLeafNodes = std::int64_t{1} << 31;

inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Growth parameters of a tree, a forest or a boosted ensemble.
struct GrowthParameters {
    Strategy missing = Strategy::Trinary;
    int max_depth = 5;
    std::int64_t max_leaf_nodes = 0;  ///< 0: no limit
    std::int64_t min_samples_leaf = 20;
    double max_features = 1;  ///< fraction of the columns that a split may use, sampled by seed and node
    bool split_on_missing = true;
    /// Gain that a split of categories must exceed for each category beyond two, in multiples of the gain by
    /// chance of one parameter (in single trees and forests the loss of the node per row).
    double category_penalty = 0;
    std::uint64_t seed = 0;
    std::int64_t max_third_nodes = kNoLimit;  ///< nodes grown on demand per tree

    // single trees and forests
    CriterionKind criterion = CriterionKind::SquaredError;
    int n_classes = 0;  ///< 0 in regression
    int max_surrogates = 5;
    /// Forests: maximum number of rows of a node that its surrogates are found on; 0 finds them as R's rpart
    /// does.
    std::int64_t surrogate_rows = 0;
    /// Forests: minimum fraction of the rows of a node that lack the value of its split, for the split to
    /// have a third branch. At other splits rows that lack it go both ways, as their other values suggest. 0:
    /// all splits have third branches.
    double min_missing_third = 0;
    /// Forests: keep the best split of a node only. The rest of its ladder, one split per column, would more
    /// than double the memory, and most of it is never needed.
    bool keep_best_split_only = false;
    /// For the reproduction of the paper only: whether to grow as the runs behind its figure did. They
    /// multiplied the cross-entropy of a node by its number of rows once more, and in fractional splits
    /// counted missing rows fully on both sides for `min_samples_leaf`.
    bool as_in_paper_runs = false;

    // boosting
    double l2 = 0;
    // gain that a split must exceed, in multiples of the gain by chance of one parameter
    double split_penalty = 0;  ///< times log(number of rows / smallest number of rows of a split node)
    double min_gain = 0;       ///< of a split; third branches only
    std::vector<std::int8_t> monotonic;  ///< per column 1, -1 or 0; empty if unconstrained
    int third_depth_extra = 0;
    std::int64_t third_rows = 1000;   ///< maximum number of rows that a third branch is fitted to
    bool estimates_variance = false;  ///< whether third branches estimate the variance of the prediction

    /// Return the parameters of third branches of boosting. These are fitted to predictions of the tree
    /// itself: what the other columns cannot explain of these is noise to them. So they have small leaves
    /// (3 to 8 % less error than with 20 rows on three datasets) and no regularisation, but a larger penalty
    /// of splits.
    GrowthParameters for_third_branches() const {
        GrowthParameters params = *this;
        params.l2 = params.category_penalty = 0;
        params.split_penalty *= 4;
        params.max_features = 1;
        params.min_samples_leaf = std::min<std::int64_t>(min_samples_leaf, 2);
        return params;
    }
    int n_outputs() const { return n_classes > 0 ? n_classes : 1; }
    bool has_third() const { return missing == Strategy::Trinary || missing == Strategy::TrinaryMia; }
    bool weighs_evidence() const { return has_third() && min_missing_third > 0; }
    bool is_constrained(std::size_t column) const { return !monotonic.empty() && monotonic[column] != 0; }
    bool may_split_on_missing() const {
        return split_on_missing && (missing == Strategy::Mia || missing == Strategy::TrinaryMia);
    }
    bool may_send_missing(Branch to) const {
        switch (missing) {
            case Strategy::Trinary:
                return to == Branch::Third || (to == Branch::Both && weighs_evidence());
            case Strategy::TrinaryMia:
                return to == Branch::Left || to == Branch::Right || to == Branch::Third ||
                       (to == Branch::Both && weighs_evidence());
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
    /// Return an error message, or null if the parameters are valid.
    const char* validate() const {
        if (missing < Strategy::Trinary || missing > Strategy::Surrogate) return "unknown strategy";
        if (criterion < CriterionKind::SquaredError || criterion > CriterionKind::Gini)
            return "unknown criterion";
        if (n_classes < 0 || (criterion == CriterionKind::SquaredError) != (n_classes == 0))
            return "the criterion does not match the number of classes";
        if (max_depth < 0 || max_leaf_nodes < 0 || max_leaf_nodes > kMaxLeafNodes || min_samples_leaf < 1 ||
            max_surrogates < 0 || surrogate_rows < 0 || max_third_nodes < 0 || third_depth_extra < 0 ||
            third_depth_extra > kMaxDepth || third_rows < 1)
            return "growth parameters out of range";
        if (!(max_features > 0) || max_features > 1) return "max_features out of range";
        if (!(min_missing_third >= 0) || min_missing_third > 1) return "min_missing_third out of range";
        if (!(l2 >= 0) || !std::isfinite(l2)) return "l2 out of range";
        if (!(split_penalty >= 0) || !std::isfinite(split_penalty)) return "split_penalty out of range";
        if (!(category_penalty >= 0) || !std::isfinite(category_penalty))
            return "category_penalty out of range";
        return nullptr;
    }
    /// The same for a boosted ensemble on `n_columns` columns.
    const char* validate_boosting(std::size_t n_columns) const {
        if (missing == Strategy::Surrogate) return "boosting does not support surrogate splits";
        if (max_depth > kMaxDepth) return "growth parameters out of range";
        if (!monotonic.empty() && monotonic.size() != n_columns)
            return "monotonic constraints do not match the columns";
        return validate();
    }
};

/// Call `f(name, field)` for every growth parameter: the one list of them, for arguments, pickles and files.
template <class F, class Parameters>
void for_each_parameter(F&& f, Parameters& p) {
    f("missing", p.missing);
    f("max_depth", p.max_depth);
    f("max_leaf_nodes", p.max_leaf_nodes);
    f("min_samples_leaf", p.min_samples_leaf);
    f("max_features", p.max_features);
    f("split_on_missing", p.split_on_missing);
    f("seed", p.seed);
    f("max_third_nodes", p.max_third_nodes);
    f("criterion", p.criterion);
    f("n_classes", p.n_classes);
    f("max_surrogates", p.max_surrogates);
    f("surrogate_rows", p.surrogate_rows);
    f("min_missing_third", p.min_missing_third);
    f("keep_best_split_only", p.keep_best_split_only);
    f("as_in_paper_runs", p.as_in_paper_runs);
    f("l2", p.l2);
    f("split_penalty", p.split_penalty);
    f("category_penalty", p.category_penalty);
    f("monotonic", p.monotonic);
    f("third_depth_extra", p.third_depth_extra);
    f("third_rows", p.third_rows);
    f("estimates_variance", p.estimates_variance);
}

}  // namespace tritree
