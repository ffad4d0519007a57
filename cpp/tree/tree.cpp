#include "tree/tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "common/uninitialized_vector.hpp"

namespace tritree {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMaxRows = std::int64_t{1} << 32;  // their indices have 32 bits
constexpr double kProportionTolerance = 1e-6;             // of rounding in sums of class proportions
constexpr auto kNoBranch = static_cast<std::int8_t>(Branch::None);

template <class T>
void fill_if_empty(std::vector<T>& array, std::size_t n, T value) {
    if (array.empty()) array.assign(n, value);
}

}  // namespace

void EvidenceArrays::add(std::int32_t node, const std::vector<Evidence>& found) {
    const auto place = static_cast<std::size_t>(node);
    if (begin.size() <= place) {
        begin.resize(place + 1, kUngrown);
        end.resize(place + 1, kUngrown);
    }
    std::size_t n_groups = 0;
    for (const Evidence& of_column : found) n_groups += of_column.key.size();
    for (auto* array : {&column, &rows, &left}) tritree::reserve_more(*array, found.size());
    tritree::reserve_more(group_end, found.size());
    tritree::reserve_more(key, n_groups);
    for (auto* array : {&group_rows, &group_left}) tritree::reserve_more(*array, n_groups);
    const auto first = static_cast<std::int32_t>(column.size());
    for (const Evidence& of_column : found) {
        column.push_back(of_column.column);
        rows.push_back(of_column.rows);
        left.push_back(of_column.left);
        key.insert(key.end(), of_column.key.begin(), of_column.key.end());
        group_rows.insert(group_rows.end(), of_column.group_rows.begin(), of_column.group_rows.end());
        group_left.insert(group_left.end(), of_column.group_left.begin(), of_column.group_left.end());
        group_end.push_back(static_cast<std::int64_t>(key.size()));
    }
    end[place] = static_cast<std::int32_t>(column.size());
    begin[place] = first;
}

std::int64_t Tree::n_without_evidence() const {
    std::int64_t n = 0;
    for (std::size_t node = 0; weighs_evidence && node < size(); ++node) n += lacks_evidence(node);
    return n;
}

std::int64_t Tree::n_ungrown_branches() const {
    std::int64_t n = 0;
    for (const auto* children : {&left, &right, &third})
        n += std::count(children->begin(), children->end(), kUngrown);
    return n;
}

std::vector<std::int8_t> Tree::branches(Side side) const {
    std::vector<std::int8_t> found(size());
    for (std::size_t node = 0; node < size(); ++node) {
        const auto larger = static_cast<Branch>(larger_side[node]);
        Branch branch = route(side, static_cast<Branch>(missing_to[node]), larger);
        if (branch == Branch::Surrogates && surrogate_begin[node] == surrogate_begin[node + 1])
            branch = larger;
        found[node] = static_cast<std::int8_t>(branch);
    }
    return found;
}

void Tree::reserve_more(std::size_t nodes, std::size_t words) {
    for_each_node_array(
        [&](const char*, auto& array) {
            if (array.empty() && size() > 0) return;  // does not apply to this tree
            const bool is_value = static_cast<const void*>(&array) == &value;
            tritree::reserve_more(array, is_value ? nodes * static_cast<std::size_t>(n_outputs) : nodes);
        },
        *this);
    tritree::reserve_more(sets, words);
}

std::int32_t Tree::add_leaf(const NodeStats& stats, std::int32_t at_depth) {
    const auto node = static_cast<std::int32_t>(size());
    for (auto* array : {&split.column, &left, &right, &third}) array->push_back(kNone);
    for (auto* array : {&missing_to, &larger_side}) array->push_back(kNoBranch);
    split.threshold.push_back(kNan);
    split.set_begin.push_back(-1);
    split.set_words.push_back(0);
    left_fraction.push_back(0);
    depth.push_back(at_depth);
    rows.push_back(stats.rows);
    weight.push_back(stats.weight);
    loss.push_back(stats.loss);
    value.insert(value.end(), stats.value.begin(), stats.value.end());
    return node;
}

std::int32_t Tree::add_third(std::int32_t node) {
    NodeStats same;
    same.rows = rows[node];
    same.weight = weight[node];
    same.loss = loss[node];
    const auto from = value.begin() + static_cast<std::ptrdiff_t>(node) * n_outputs;
    same.value.assign(from, from + n_outputs);
    return add_leaf(same, depth[node]);
}

std::int64_t Tree::add_sets(const CategorySets& category_sets) {
    const auto begin = static_cast<std::int64_t>(sets.size());
    sets.insert(sets.end(), category_sets.words().begin(), category_sets.words().end());
    return begin;
}

void Tree::set_split(std::int32_t node, const SplitInfo& info) {
    split.column[node] = info.column;
    split.threshold[node] = info.categorical ? kNan : info.threshold;
    if (info.categorical) {
        split.set_begin[node] = add_sets(info.sets);
        split.set_words[node] = static_cast<std::int32_t>(info.sets.words().size() / 2);
    }
    left[node] = right[node] = kUngrown;
    third[node] = info.missing_to == Branch::Third ? kUngrown : kNone;
    missing_to[node] = static_cast<std::int8_t>(info.missing_to);
    larger_side[node] = static_cast<std::int8_t>(info.larger_side);
    left_fraction[node] = info.left_fraction;
}

void Tree::set_surrogates(const std::vector<std::vector<Surrogate>>& by_node) {
    surrogate_begin.assign(1, 0);
    for (const std::vector<Surrogate>& surrogates : by_node) {
        for (const Surrogate& s : surrogates) {
            surrogate.column.push_back(s.column);
            surrogate.threshold.push_back(s.categorical ? kNan : s.threshold);
            surrogate.set_begin.push_back(s.categorical ? add_sets(s.sets) : -1);
            surrogate.set_words.push_back(static_cast<std::int32_t>(s.sets.words().size() / 2));
            surrogate_below.push_back(static_cast<std::int8_t>(s.below));
        }
        surrogate_begin.push_back(static_cast<std::int32_t>(surrogate_below.size()));
    }
}

Tree with_all_arrays(Tree tree) {
    const std::size_t n = tree.size();
    fill_if_empty(tree.split.set_begin, n, std::int64_t{-1});
    fill_if_empty(tree.split.set_words, n, 0);
    fill_if_empty(tree.left_fraction, n, 0.0);
    fill_if_empty(tree.loss, n, kNan);
    fill_if_empty(tree.surrogate_begin, n + 1, 0);
    tree.evidence.begin.resize(n, kUngrown);
    tree.evidence.end.resize(n, kUngrown);
    for (std::size_t node = 0; node < n; ++node)
        if (!tree.lacks_evidence(node) && !tree.evidence.is_found(node))
            tree.evidence.begin[node] = tree.evidence.end[node] = 0;
    fill_if_empty(tree.gain, n, kNan);
    fill_if_empty(tree.variance, n, 0.0);
    if (tree.weight.empty()) tree.weight.assign(tree.rows.begin(), tree.rows.end());
    return tree;
}

namespace {

/// Return an error message if splits are not those of `n_columns` columns. `may_split_on_missing(i)` says
/// whether a split may be one of missing against observed.
template <class F>
std::string check_splits(const SplitArrays& split, std::size_t n, std::int32_t n_columns,
                         std::span<const std::uint64_t> sets, F&& may_split_on_missing) {
    const bool has_sets = !split.set_begin.empty();
    if (split.column.size() != n || split.threshold.size() != n ||
        split.set_begin.size() != (has_sets ? n : 0) || split.set_words.size() != split.set_begin.size())
        return "arrays of different lengths";
    for (std::size_t i = 0; i < n; ++i) {
        if (split.column[i] < kNone || split.column[i] >= n_columns) return "column index out of range";
        const std::int64_t set_begin = has_sets ? split.set_begin[i] : -1;
        const std::int32_t set_words = has_sets ? split.set_words[i] : 0;
        if (set_begin < -1 || set_words < 0) return "category set out of range";
        if (set_begin == -1 && set_words > 0) return "category set without a position";
        if (split.column[i] == kNone) {
            if (set_begin != -1) return "category set of a leaf";
        } else if (set_begin == -1) {
            if (!std::isfinite(split.threshold[i]) &&
                !(split.threshold[i] == -kInfinity && may_split_on_missing(i)))
                return "threshold is not finite";
        } else {
            const auto begin = static_cast<std::size_t>(set_begin),
                       words = static_cast<std::size_t>(set_words);
            if (begin > sets.size() || 2 * words > sets.size() - begin) return "category set out of range";
            if (!std::isnan(split.threshold[i])) return "categorical split with a threshold";
            if (const char* error = check_category_sets(sets.data() + begin, words, may_split_on_missing(i)))
                return error;
        }
    }
    return "";
}

std::string check_surrogates(const Tree& tree, const GrowthParameters& params, std::int32_t n_columns) {
    const auto& begin = tree.surrogate_begin;
    if (begin.empty())
        return tree.surrogate.column.empty() && tree.surrogate_below.empty() &&
                       params.missing != Strategy::Surrogate
                   ? ""
                   : "surrogates of the wrong shape";
    if (begin.size() != tree.size() + 1 || begin.front() != 0 || !std::is_sorted(begin.begin(), begin.end()))
        return "surrogates of the wrong shape";
    const auto n = static_cast<std::size_t>(begin.back());
    if (tree.surrogate_below.size() != n) return "surrogates of the wrong shape";
    if (auto error = check_splits(tree.surrogate, n, n_columns, tree.sets, [](std::size_t) { return false; });
        !error.empty())
        return error;
    for (std::size_t node = 0; node < tree.size(); ++node)
        for (std::int32_t s = begin[node]; s < begin[node + 1]; ++s) {
            if (tree.is_leaf(node)) return "leaf with surrogates";
            if (tree.surrogate.column[s] < 0 || tree.surrogate.column[s] == tree.split.column[node])
                return "surrogate without a column of its own";
            if (tree.surrogate_below[s] != static_cast<std::int8_t>(Branch::Left) &&
                tree.surrogate_below[s] != static_cast<std::int8_t>(Branch::Right))
                return "surrogate with an unknown branch";
        }
    return "";
}

/// Return an error message if evidence is out of place, or its counts are not those of a sample.
std::string check_evidence(const Tree& tree, std::int32_t n_columns) {
    const EvidenceArrays& evidence = tree.evidence;
    const std::size_t n = evidence.column.size(), n_groups = evidence.key.size();
    const std::size_t n_nodes = tree.weighs_evidence ? tree.size() : 0;
    if (evidence.begin.size() > n_nodes || evidence.end.size() != evidence.begin.size() ||
        evidence.rows.size() != n || evidence.left.size() != n || evidence.group_end.size() != n ||
        evidence.group_rows.size() != n_groups || evidence.group_left.size() != n_groups ||
        (n == 0 ? n_groups > 0 : evidence.group_end.back() != static_cast<std::int64_t>(n_groups)))
        return "evidence of the wrong shape";
    for (std::size_t i = 0; i < n; ++i) {
        if (evidence.column[i] < 0 || evidence.column[i] >= n_columns) return "column index out of range";
        if (evidence.left[i] < 1 || evidence.left[i] >= evidence.rows[i]) return "evidence of one side only";
        const auto begin = static_cast<std::int64_t>(evidence.group_begin(i)), end = evidence.group_end[i];
        if (begin >= end || end > static_cast<std::int64_t>(n_groups)) return "evidence without groups";
        const bool is_categorical = evidence.key[begin] != -kInfinity;
        for (std::int64_t group = begin; group < end; ++group) {
            const double key = evidence.key[group];
            if (group > begin && !(evidence.key[group - 1] < key)) return "groups of evidence out of order";
            if (is_categorical ? !(key >= 0 && key <= kMaxBins && key == std::floor(key))
                               : !(group == begin || std::isfinite(key)))
                return "group of evidence out of range";
            if (evidence.group_left[group] > evidence.group_rows[group])
                return "evidence with more rows on a side than it has";
        }
    }
    for (std::size_t node = 0; node < evidence.begin.size(); ++node) {
        const std::int32_t begin = evidence.begin[node], end = evidence.end[node];
        if (begin == kUngrown && end == kUngrown) continue;
        if (begin < 0 || end < begin || end > static_cast<std::int32_t>(n)) return "evidence out of range";
        if (tree.missing_to[node] != static_cast<std::int8_t>(Branch::Both))
            return "evidence of a node that does not need it";
        for (std::int32_t i = begin; i < end; ++i)
            if (evidence.column[i] == tree.split.column[node]) return "evidence without a column of its own";
    }
    return "";
}

/// Return an error message if a number of a node is not one that a node can have.
std::string check_numbers(const Tree& tree, const GrowthParameters& params) {
    const auto all = [](const std::vector<double>& array, auto&& holds) {
        return std::all_of(array.begin(), array.end(), holds);
    };
    const auto is_finite = [](double x) { return std::isfinite(x); };
    const auto is_nonnegative = [](double x) { return x >= 0; };  // false for NaN
    if (!all(tree.value, is_finite) || !all(tree.variance, is_finite)) return "value is not finite";
    if (!all(tree.weight, is_nonnegative) || !all(tree.loss, is_nonnegative))
        return "weight or loss is negative or NaN";  // of huge targets and weights, they are infinite
    if (!all(tree.gain, is_nonnegative) || !all(tree.gain, is_finite)) return "gain out of range";
    if (!tree.gain.empty() && !all(tree.weight, is_finite)) return "weight is not finite";
    for (std::size_t i = 0; i < tree.low.size(); ++i)
        if (!(tree.low[i] <= tree.high[i]) || tree.low[i] == kInfinity || tree.high[i] == -kInfinity)
            return "bounds of values out of order";
    if (params.n_classes == 0) return "";
    for (auto node = tree.value.begin(); node != tree.value.end(); node += tree.n_outputs)
        if (!std::all_of(node, node + tree.n_outputs, is_nonnegative) ||
            std::abs(std::accumulate(node, node + tree.n_outputs, 0.0) - 1) > kProportionTolerance)
            return "class proportions do not add up to 1";
    return "";
}

/// Return an error message if the arrays of a tree are not those of its kind, or hold invalid numbers.
std::string check_arrays(const Tree& tree, const GrowthParameters& params, std::int32_t n_columns) {
    const std::size_t n = tree.size();
    if (n == 0 || n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        return "no nodes, or too many";
    if (tree.n_fitted < 1 || tree.n_fitted > static_cast<std::int32_t>(n))
        return "wrong number of fitted nodes";
    if (tree.n_outputs < 1 || tree.value.size() != n * static_cast<std::size_t>(tree.n_outputs))
        return "values of the wrong shape";
    auto has = [n](const auto& array, bool present) { return array.size() == (present ? n : 0); };
    const bool boosted = !tree.gain.empty(), constrained = boosted && !params.monotonic.empty();
    const bool weighted = !boosted || params.missing == Strategy::Fractional;
    if (!has(tree.right, true) || !has(tree.third, true) || !has(tree.missing_to, true) ||
        !has(tree.larger_side, true) || !has(tree.depth, true) || !has(tree.rows, true) ||
        !has(tree.weight, weighted) || !has(tree.left_fraction, weighted) || !has(tree.loss, !boosted) ||
        !has(tree.first_right_bin, boosted) || !has(tree.gain, boosted) ||
        !has(tree.variance, boosted && params.estimates_variance) || !has(tree.low, constrained) ||
        !has(tree.high, constrained))
        return "arrays of different lengths";
    const auto may_split_on_missing = [&](std::size_t node) {
        return params.may_split_on_missing() &&
               tree.missing_to[node] == static_cast<std::int8_t>(Branch::Left);
    };
    if (auto error = check_splits(tree.split, n, n_columns, tree.sets, may_split_on_missing); !error.empty())
        return error;
    if (auto error = check_surrogates(tree, params, n_columns); !error.empty()) return error;
    if (boosted && !tree.surrogate_begin.empty()) return "surrogates in a boosted tree";
    if (auto error = check_evidence(tree, n_columns); !error.empty()) return error;
    return check_numbers(tree, params);
}

/// Return an error message if the children of a node do not have some of its rows, and its third branch all
/// of them. Third branches of boosting are fitted to other rows.
std::string check_rows(const Tree& tree, const GrowthParameters& params, std::size_t node) {
    const bool boosted = !tree.gain.empty();
    const std::int64_t n = tree.rows[node];
    if (n < (boosted ? 0 : 1) || n > kMaxRows) return "number of rows out of range";
    const auto rows_of = [&](std::int32_t child) { return child < 0 ? 0 : tree.rows[child]; };
    const std::int64_t left = rows_of(tree.left[node]), right = rows_of(tree.right[node]);
    const bool shares_rows = params.missing == Strategy::Fractional;
    if (left < 0 || left > n || right > (shares_rows ? n : n - left)) return "more rows than the parent has";
    if (!boosted && tree.third[node] >= 0 && rows_of(tree.third[node]) != n)
        return "third branch without all rows of its node";
    return "";
}

}  // namespace

std::string Tree::validate(const GrowthParameters& params, std::int32_t n_columns) const {
    if (auto error = check_arrays(*this, params, n_columns); !error.empty()) return error;
    const std::size_t n = size();
    const bool boosted = !gain.empty();
    if (depth[0] != 0) return "the depth of the root is not 0";
    std::vector<std::uint8_t> parents(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        if (parents[i] != (i > 0)) return "node without a parent";  // parents come before their children
        const bool leaf = is_leaf(i);
        if (missing_to[i] < -1 || missing_to[i] > 4 || larger_side[i] < -1 || larger_side[i] > 1)
            return "unknown branch";
        const bool has_larger_side = larger_side[i] >= 0 || params.missing == Strategy::Surrogate;
        if (!leaf && (!has_larger_side || !params.may_send_missing(static_cast<Branch>(missing_to[i]))))
            return "missing values sent to a branch that the strategy does not have";
        if (leaf && missing_to[i] != kNoBranch) return "leaf with a branch for missing values";
        if (!leaf && (left[i] == kNone || right[i] == kNone)) return "split without children";
        if (!left_fraction.empty() && !(left_fraction[i] >= 0 && left_fraction[i] <= 1))
            return "left fraction out of range";
        const bool divides = weighs_evidence && missing_to[i] == static_cast<std::int8_t>(Branch::Both);
        if (divides && !(left_fraction[i] > 0 && left_fraction[i] < 1)) return "left fraction out of range";
        if ((third[i] != kNone) != (missing_to[i] == static_cast<std::int8_t>(Branch::Third)))
            return "third branch where none belongs";
        for (const Branch branch : {Branch::Left, Branch::Right, Branch::Third}) {
            const std::int32_t child = this->child(i, branch);
            if (child == kNone) continue;
            // fit grows left and right branches, and growth on demand all others after them
            const bool fitted = static_cast<std::int32_t>(i) < n_fitted && branch != Branch::Third;
            const bool may_be_ungrown = boosted ? branch == Branch::Third : params.has_third();
            if (child == kUngrown && may_be_ungrown && !leaf && !fitted) continue;
            if (leaf || child <= static_cast<std::int32_t>(i) || child >= static_cast<std::int32_t>(n))
                return "child out of range";
            if (fitted != (child < n_fitted)) return "wrong number of fitted nodes";
            if (parents[child]++ > 0) return "node with two parents";
            if (depth[child] != depth[i] + (branch != Branch::Third))
                return "depth does not follow from the parent";
        }
        if (auto error = check_rows(*this, params, i); !error.empty()) return error;
    }
    return "";
}

}  // namespace tritree
