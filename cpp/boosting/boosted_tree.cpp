#include "boosted_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tritree::boosting {
namespace {

/// Lead rows whose codes begin at `row_of(i)` until none of them moves.
template <class F>
void lead_all(const BoostedTree& tree, std::size_t n, std::int32_t* at, F&& row_of) {
    bool moved = n > 0;
    if (tree.has_categories) {
        while (moved) {
            moved = false;
            for (std::size_t i = 0; i < n; ++i) {
                const std::int32_t to = tree.next(at[i], row_of(i)[tree.steps[at[i]].column]);
                moved |= to != at[i];
                at[i] = to;
            }
        }
        return;
    }
    const Step* const steps = tree.steps.data();
    while (moved) {
        std::int32_t changes = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const Step& step = steps[at[i]];
            const std::uint32_t code = row_of(i)[step.column];
            const std::int32_t to = step.next[(code >= step.begin) + (code == step.missing)];
            changes |= to ^ at[i];
            at[i] = to;
        }
        moved = changes != 0;
    }
}

}  // namespace

std::int32_t BoostedTree::add_leaf(double value, const Info& info) {
    const auto node = static_cast<std::int32_t>(size());
    Step step;
    std::fill(std::begin(step.next), std::end(step.next), node);
    steps.push_back(step);
    values.push_back(value);
    infos.push_back(info);
    return node;
}

void BoostedTree::split(std::int32_t node, const Cut& cut, const Bins& bins, const Plan& plan) {
    const auto column = static_cast<std::size_t>(cut.column);
    Info parent = infos[static_cast<std::size_t>(node)];
    parent.gain = cut.gain;
    parent.larger = cut.larger;
    if (cut.categorical) {
        has_categories = true;
        parent.set = static_cast<std::int64_t>(sets.size());
        sets.insert(sets.end(), cut.sets.words().begin(), cut.sets.words().end());
    }
    infos[static_cast<std::size_t>(node)] = parent;
    std::int32_t daughters[2];
    for (const bool right : {false, true}) {
        Info info;
        info.path = mixed(parent.path, right ? 1 : 0);
        info.parent = node;
        info.depth = parent.depth + 1;
        info.bounds = parent.bounds;
        daughters[right] = add_leaf(right ? cut.right_value : cut.left_value, info);
    }
    Bounds& left = infos[static_cast<std::size_t>(daughters[0])].bounds;
    Bounds& right = infos[static_cast<std::size_t>(daughters[1])].bounds;
    if (plan.is_bound(column)) {  // both sides stay on their side of what lies between their values
        const bool rises = plan.monotonic[column] > 0;
        const double middle = std::midpoint(cut.left_value, cut.right_value);
        (rises ? left.high : left.low) = middle;
        (rises ? right.low : right.high) = middle;
    }
    Step& step = steps[static_cast<std::size_t>(node)];
    step.column = static_cast<std::uint16_t>(column);
    // of a categorical cut it says nothing: it may be that of another column, tried before
    step.begin = cut.categorical ? std::uint16_t{0} : static_cast<std::uint16_t>(cut.begin);
    step.missing = static_cast<std::uint16_t>(bins.columns[column].missing());
    step.categorical = cut.categorical;
    step.missing_to = cut.missing_to;
    step.next[0] = daughters[0];
    step.next[1] = daughters[1];
    step.next[2] = cut.missing_to >= Branch::Third ? node : daughters[cut.missing_to == Branch::Right];
}

void BoostedTree::average(std::int32_t first) {
    for (auto node = static_cast<std::int32_t>(size()) - 1; node >= first; --node) {
        const Step& step = steps[static_cast<std::size_t>(node)];
        if (step.is_leaf()) continue;
        const auto left = static_cast<std::size_t>(step.next[0]),
                   right = static_cast<std::size_t>(step.next[1]);
        const double n_left = weights.empty() ? static_cast<double>(infos[left].rows) : weights[left];
        const double n_right = weights.empty() ? static_cast<double>(infos[right].rows) : weights[right];
        values[static_cast<std::size_t>(node)] =
            (n_left * values[left] + n_right * values[right]) / (n_left + n_right);
    }
}

std::int32_t BoostedTree::next_of_category(std::int32_t node, std::uint32_t code) const {
    const Step& step = steps[static_cast<std::size_t>(node)];
    const Info& info = infos[static_cast<std::size_t>(node)];
    const std::size_t words = (std::size_t{step.missing} + 63) / 64;
    const std::uint64_t* const left = sets.data() + info.set;
    if (code < step.missing) {
        const std::uint64_t bit = std::uint64_t{1} << (code % 64);
        if (left[code / 64] & bit) return step.next[0];
        if (left[words + code / 64] & bit) return step.next[1];
    }
    return step.missing_to >= Branch::Third ? step.next[2] : step.next[info.larger == Branch::Right];
}

void BoostedTree::lead(const CodeRows& codes, std::span<const std::uint32_t> rows, std::int32_t* at) const {
    codes.visit([&](const auto* first) {
        lead_all(*this, rows.size(), at,
                 [&](std::size_t i) { return first + std::size_t{rows[i]} * codes.width(); });
    });
}

void BoostedTree::lead(const CodeRows& codes, std::size_t begin, std::size_t end, std::int32_t* at) const {
    codes.visit([&](const auto* first) {
        const auto* const block = first + begin * codes.width();
        lead_all(*this, end - begin, at, [&](std::size_t i) { return block + i * codes.width(); });
    });
}

std::string BoostedTree::validate(const Bins& bins, const Plan& plan) const {
    const auto n = static_cast<std::int32_t>(size());
    if (n == 0 || infos.size() != steps.size() || values.size() != steps.size() || n_fitted < 1 ||
        n_fitted > n)
        return "a tree without nodes";
    const bool fractional = plan.missing == Strategy::Fractional;
    if (shares.size() != (fractional ? size() : 0) || weights.size() != shares.size())
        return "arrays of different lengths";
    for (const double weight : weights)
        if (!(weight >= 0) || !std::isfinite(weight)) return "a weight out of range";
    std::vector<std::int8_t> has_parent(size(), 0);
    has_parent[0] = 1;
    std::vector<std::int32_t> part(size(), 0);  // the root of the binary part that a node is in
    for (std::int32_t node = 0; node < n; ++node) {
        const Step& step = steps[static_cast<std::size_t>(node)];
        const Info& info = infos[static_cast<std::size_t>(node)];
        if (!std::isfinite(values[static_cast<std::size_t>(node)]) || !std::isfinite(info.doubt) ||
            info.rows < 0)
            return "a value that is no number";
        if (!has_parent[static_cast<std::size_t>(node)]) return "a node that nothing leads to";
        // the nodes of a part were grown at once, so they lie together; those of the fit are the first
        const bool begins = part[static_cast<std::size_t>(node)] == node;
        if (!begins && part[static_cast<std::size_t>(node)] != part[static_cast<std::size_t>(node) - 1])
            return "nodes out of order";
        if ((part[static_cast<std::size_t>(node)] == 0) != (node < n_fitted)) return "nodes out of order";
        if (step.is_leaf()) {
            for (const std::int32_t to : step.next)
                if (to != node) return "a leaf that leads on";
            if (step.column != 0) return "a leaf with a column";
            continue;
        }
        if (step.column >= bins.n_columns()) return "a column that there is not";
        const ColumnBins& column = bins.columns[step.column];
        if (step.missing != column.missing() || step.categorical != column.categorical)
            return "a split of another kind than its column";
        if (!plan.may_send_missing(step.missing_to)) return "missing values led astray";
        if (fractional &&
            !(shares[static_cast<std::size_t>(node)] > 0 && shares[static_cast<std::size_t>(node)] < 1))
            return "a share out of range";
        for (int side = 0; side < 3; ++side) {
            const std::int32_t to = step.next[side];
            if (side == 2 && fractional && to != node) return "missing values led astray";
            if (side == 2 && step.missing_to < Branch::Third) {
                if (to != step.next[step.missing_to == Branch::Right]) return "missing values led astray";
                continue;
            }
            if (side == 2 && to == node) continue;
            if (to <= node || to >= n || has_parent[static_cast<std::size_t>(to)]++)
                return "nodes out of order";
            if (infos[static_cast<std::size_t>(to)].parent != node) return "a daughter of another node";
            part[static_cast<std::size_t>(to)] = side == 2 ? to : part[static_cast<std::size_t>(node)];
        }
        if (step.categorical) {
            const auto words = static_cast<std::int64_t>(2 * ((std::size_t{step.missing} + 63) / 64));
            if (info.set < 0 || info.set > static_cast<std::int64_t>(sets.size()) - words)
                return "sets out of range";
        }
        if (info.larger != Branch::Left && info.larger != Branch::Right) return "a side that there is not";
    }
    return {};
}

}  // namespace tritree::boosting
