#include "tree.hpp"

#include <limits>

#include "items.hpp"

namespace tritree {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void Tree::make_room(std::size_t nodes, std::size_t words, std::size_t surrogates) {
    for (auto* array : {&split.column, &split.set_words, &left, &right, &third, &depth, &surrogate_begin})
        tritree::make_room(*array, nodes);
    for (auto* array : {&split.threshold, &share, &weight, &loss}) tritree::make_room(*array, nodes);
    for (auto* array : {&missing_to, &larger}) tritree::make_room(*array, nodes);
    for (auto* array : {&split.set_begin, &rows}) tritree::make_room(*array, nodes);
    tritree::make_room(value, nodes * static_cast<std::size_t>(n_outputs));
    tritree::make_room(sets, words);
    for (auto* array : {&surrogate.column, &surrogate.set_words}) tritree::make_room(*array, surrogates);
    tritree::make_room(surrogate.threshold, surrogates);
    tritree::make_room(surrogate.set_begin, surrogates);
    tritree::make_room(surrogate_below, surrogates);
}

std::int32_t Tree::add_leaf(const Summary& summary, std::int32_t at_depth) {
    const auto node = static_cast<std::int32_t>(size());
    for (auto* array : {&split.column, &left, &right, &third}) array->push_back(kNone);
    for (auto* array : {&missing_to, &larger}) array->push_back(static_cast<std::int8_t>(Branch::None));
    split.threshold.push_back(kNan);
    split.set_begin.push_back(-1);
    split.set_words.push_back(0);
    share.push_back(0);
    depth.push_back(at_depth);
    rows.push_back(summary.rows);
    weight.push_back(summary.weight);
    loss.push_back(summary.loss);
    value.insert(value.end(), summary.value.begin(), summary.value.end());
    surrogate_begin.push_back(surrogate_begin.back());
    return node;
}

std::int32_t Tree::add_third(std::int32_t base) {
    Summary same;
    same.rows = rows[base];
    same.weight = weight[base];
    same.loss = loss[base];
    const auto from = value.begin() + static_cast<std::ptrdiff_t>(base) * n_outputs;
    same.value.assign(from, from + n_outputs);
    return add_leaf(same, depth[base]);
}

std::int64_t Tree::add_sets(const CategorySets& category_sets) {
    const auto begin = static_cast<std::int64_t>(sets.size());
    sets.insert(sets.end(), category_sets.words().begin(), category_sets.words().end());
    return begin;
}

void Tree::set_split(std::int32_t node, const Rung& rung) {
    split.column[node] = rung.column;
    split.threshold[node] = rung.categorical ? kNan : rung.threshold;
    if (rung.categorical) {
        split.set_begin[node] = add_sets(rung.sets);
        split.set_words[node] = static_cast<std::int32_t>(rung.sets.words().size() / 2);
    }
    left[node] = right[node] = kUngrown;
    third[node] = rung.missing_to == Branch::Third ? kUngrown : kNone;
    missing_to[node] = static_cast<std::int8_t>(rung.missing_to);
    larger[node] = static_cast<std::int8_t>(rung.larger);
    share[node] = rung.share;
}

void Tree::add_surrogates(const std::vector<Surrogate>& surrogates) {
    for (const Surrogate& s : surrogates) {
        surrogate.column.push_back(s.column);
        surrogate.threshold.push_back(s.categorical ? kNan : s.threshold);
        surrogate.set_begin.push_back(s.categorical ? add_sets(s.sets) : -1);
        surrogate.set_words.push_back(static_cast<std::int32_t>(s.sets.words().size() / 2));
        surrogate_below.push_back(static_cast<std::int8_t>(s.below));
    }
    surrogate_begin.back() += static_cast<std::int32_t>(surrogates.size());
}

namespace {

std::string check_splits(const SplitArrays& split, std::size_t n, std::int32_t n_columns,
                         std::size_t n_words) {
    if (split.column.size() != n || split.threshold.size() != n || split.set_begin.size() != n ||
        split.set_words.size() != n)
        return "arrays of different lengths";
    for (std::size_t i = 0; i < n; ++i) {
        if (split.column[i] < kNone || split.column[i] >= n_columns) return "a column out of range";
        if (split.set_begin[i] < -1 || split.set_words[i] < 0) return "a category set out of range";
        if (split.set_begin[i] == -1 && split.set_words[i] > 0) return "a category set without a place";
        if (split.set_begin[i] >= 0) {
            const auto begin = static_cast<std::uint64_t>(split.set_begin[i]);
            const std::uint64_t words = 2 * static_cast<std::uint64_t>(split.set_words[i]);
            if (begin > n_words || words > n_words - begin) return "a category set out of range";
        }
    }
    return "";
}

}  // namespace

std::string Tree::validate(const Settings& settings, std::int32_t n_columns) const {
    const std::size_t n = size();
    if (n == 0 || n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        return "no nodes, or too many";
    if (n_outputs < 1 || value.size() != n * static_cast<std::size_t>(n_outputs))
        return "values of the wrong shape";
    if (right.size() != n || third.size() != n || missing_to.size() != n || larger.size() != n ||
        share.size() != n || depth.size() != n || rows.size() != n || weight.size() != n || loss.size() != n)
        return "arrays of different lengths";
    if (auto wrong = check_splits(split, n, n_columns, sets.size()); !wrong.empty()) return wrong;
    if (surrogate_begin.size() != n + 1 || surrogate_begin.front() != 0)
        return "surrogates of the wrong shape";
    for (std::size_t i = 0; i < n; ++i)
        if (surrogate_begin[i] > surrogate_begin[i + 1]) return "surrogates of the wrong shape";
    const auto n_surrogates = static_cast<std::size_t>(surrogate_begin.back());
    if (surrogate_below.size() != n_surrogates) return "surrogates of the wrong shape";
    if (auto wrong = check_splits(surrogate, n_surrogates, n_columns, sets.size()); !wrong.empty())
        return wrong;
    for (const std::int32_t column : surrogate.column)
        if (column < 0) return "a surrogate without a column";

    for (const std::int8_t below : surrogate_below)
        if (below != static_cast<std::int8_t>(Branch::Left) &&
            below != static_cast<std::int8_t>(Branch::Right))
            return "a surrogate that points nowhere";

    if (depth[0] != 0) return "a depth of the root that is not 0";
    std::vector<std::uint8_t> parents(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        if (parents[i] != (i > 0)) return "a node without a parent";  // they come before their children
        const bool leaf = is_leaf(i);
        if (missing_to[i] < -1 || missing_to[i] > 4 || larger[i] < -1 || larger[i] > 1)
            return "an unknown branch";
        if (!leaf && (larger[i] < 0 || !settings.may_send_missing(static_cast<Branch>(missing_to[i]))))
            return "a split that sends missing where its strategy does not";
        if (!leaf && (left[i] == kNone || right[i] == kNone)) return "a split without daughters";
        if (!(share[i] >= 0 && share[i] <= 1)) return "a share out of range";
        if (rows[i] < 1 || !(weight[i] >= 0) || !(loss[i] >= 0)) return "a node without rows, weight or loss";
        if ((third[i] != kNone) != (missing_to[i] == static_cast<std::int8_t>(Branch::Third)))
            return "a third branch where none belongs";
        for (const Branch side : {Branch::Left, Branch::Right, Branch::Third}) {
            const std::int32_t child = this->child(i, side);
            if (child == kNone || (child == kUngrown && settings.has_third() && !leaf)) continue;
            if (leaf || child <= static_cast<std::int32_t>(i) || child >= static_cast<std::int32_t>(n))
                return "a child out of range";
            if (parents[child]++ > 0) return "a node with two parents";
            if (depth[child] != depth[i] + (side != Branch::Third))
                return "a depth that does not follow from the branches above it";
        }
    }
    return "";
}

}  // namespace tritree
