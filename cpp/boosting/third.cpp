#include "third.hpp"

#include <algorithm>
#include <numeric>

namespace tritree::boosting {
namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 23;  // rows of parts; they can be found again

/// A third branch is fitted to answers of the tree itself, in which there is no noise to be fitted by
/// mistake: smaller leaves are better, as trials have shown.
constexpr std::int64_t kMinSamplesLeaf = 2;

}  // namespace

CoarseBins::CoarseBins(const Bins& fine) {
    std::vector<ColumnBins> columns;
    for (const ColumnBins& column : fine.columns) {
        const std::uint32_t n = column.n_codes;
        const std::uint32_t n_coarse = column.categorical ? n : std::min(n, kMost);
        std::vector<std::uint16_t> code(n + 1), begin(n_coarse + 1, static_cast<std::uint16_t>(n));
        for (std::uint32_t c = n; c-- > 0;) {
            code[c] = static_cast<std::uint16_t>(std::uint64_t{c} * n_coarse / n);
            begin[code[c]] = static_cast<std::uint16_t>(c);
        }
        code[n] = static_cast<std::uint16_t>(n_coarse);
        columns.push_back({column.categorical, n_coarse, {}, {}});
        code_of.push_back(std::move(code));
        begin_of.push_back(std::move(begin));
    }
    bins = Bins(std::move(columns));
}

Background::Background(CodeRows rows_, std::vector<double> weight_, const Bins& fine)
    : rows(std::move(rows_)),
      weight(std::move(weight_)),
      coarse(fine),
      coarse_rows(rows.n_rows(), coarse.bins) {
    const std::size_t width = rows.width();
    coarse_rows.visit([&](auto* into) {
        rows.visit([&](const auto* from) {
            for (std::size_t i = 0; i < rows.n_rows() * width; ++i)
                into[i] =
                    static_cast<std::remove_reference_t<decltype(*into)>>(coarse.code_of[i % width][from[i]]);
        });
    });
}

ThirdGrower::ThirdGrower(BoostedTree& tree, const Background& background, const Bins& bins, const Plan& plan,
                         std::span<const double> before)
    : tree_(tree), background_(background), bins_(bins), plan_(plan), before_(before) {
    plan_.l2 = 0;
    plan_.max_features = 1;
    plan_.min_samples_leaf = std::min(plan_.min_samples_leaf, kMinSamplesLeaf);
}

void ThirdGrower::lead(const CodeRows& codes, std::span<const std::uint32_t> rows, std::int32_t* at) {
    std::vector<std::uint32_t> left(rows.begin(), rows.end());
    std::vector<std::int32_t> standing(at, at + rows.size());
    std::vector<std::size_t> place(rows.size());
    std::iota(place.begin(), place.end(), std::size_t{0});
    for (;;) {
        tree_.lead(codes, left, standing.data());
        std::size_t n_left = 0;
        for (std::size_t i = 0; i < left.size(); ++i) {
            at[place[i]] = standing[i];
            if (tree_.steps[static_cast<std::size_t>(standing[i])].is_leaf()) continue;
            left[n_left] = left[i];
            standing[n_left] = standing[i];
            place[n_left++] = place[i];
        }
        left.resize(n_left);
        standing.resize(n_left);
        place.resize(n_left);
        if (n_left == 0 || is_full()) return;
        grow_wanted(standing);
    }
}

void ThirdGrower::grow_wanted(std::span<const std::int32_t> at) {
    std::vector<std::int32_t> wanted;
    for (const std::int32_t node : at)
        if (tree_.wants_third(node)) wanted.push_back(node);
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    for (const std::int32_t node : wanted)
        if (tree_.wants_third(node) && !is_full()) grow(node);
}

bool ThirdGrower::is_full() const {
    return static_cast<std::int64_t>(tree_.size()) - tree_.n_fitted >= plan_.max_third_nodes;
}

void ThirdGrower::grow(std::int32_t node) {
    Part third;
    third.rows = sample(node, part_of(node));
    const std::vector<double> target = answers(node, third.rows);
    const Info& parent = tree_.infos[static_cast<std::size_t>(node)];
    Info info;
    info.parent = node;
    info.depth = parent.depth;
    info.path = mixed(parent.path, 2);
    info.bounds = parent.bounds;
    third.root = tree_.add_leaf(tree_.values[static_cast<std::size_t>(node)], info);
    fit(third, target);
    tree_.set_third(node, third.root);
    n_kept_ += third.rows.size();
    parts_.insert_or_assign(third.root, std::move(third));
}

/// Return the rows that a third branch is fitted to: those of the node that go left or right (a category that
/// the fit did not draw goes neither way), or if there are too many every so-many-th of them in the order of
/// the nodes below, from a place that the path says.
std::vector<std::uint32_t> ThirdGrower::sample(std::int32_t node, const Part& part) const {
    const Step& step = tree_.steps[static_cast<std::size_t>(node)];
    const Range range = part.ranges[static_cast<std::size_t>(node - part.root)];
    std::vector<std::uint32_t> rows;
    rows.reserve(range.size());
    background_.rows.visit([&](const auto* codes) {
        for (std::size_t i = range.begin; i < range.end; ++i) {
            const auto code = codes[part.rows[i] * background_.rows.width() + step.column];
            const std::int32_t to = tree_.next(node, code);
            if (to == step.next[0] || to == step.next[1]) rows.push_back(part.rows[i]);
        }
    });
    const auto most = static_cast<std::size_t>(plan_.third_rows), n = rows.size();
    if (n <= most) return rows;
    const std::size_t shift = tree_.infos[static_cast<std::size_t>(node)].path % n;
    for (std::size_t i = 0; i < most; ++i) rows[i] = rows[(i * n + shift) / most];
    rows.resize(most);
    return rows;
}

/// Return what the left and right branch of a node say of rows whose value is observed.
std::vector<double> ThirdGrower::answers(std::int32_t node, const std::vector<std::uint32_t>& rows) {
    std::vector<std::int32_t> at(rows.size());
    const std::size_t column = tree_.steps[static_cast<std::size_t>(node)].column;
    for (std::size_t i = 0; i < rows.size(); ++i)
        at[i] = tree_.next(node, background_.rows.at(rows[i], column));
    lead(background_.rows, rows, at.data());  // rows may have holes of their own
    std::vector<double> found(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) found[i] = tree_.values[static_cast<std::size_t>(at[i])];
    return found;
}

/// Grow a third branch below its root, the newest node, by squared error.
void ThirdGrower::fit(Part& part, const std::vector<double>& target) {
    const std::size_t n = part.rows.size();
    part.ranges.assign(1, {0, n});
    if (n == 0) return;  // the root keeps the mean of its parent
    const std::size_t width = background_.rows.width();
    const Bins& bins = background_.coarse.bins;
    CodeRows local(n, bins);  // close together, they stay in the cache
    std::vector<double> first(n), second;
    if (!background_.weight.empty()) second.resize(n);
    double total = 0, weights = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double weight = second.empty() ? 1 : background_.weight[part.rows[i]];
        if (!second.empty()) second[i] = weight;
        total += weight * target[i];
        weights += weight;
    }
    const double center = weights > 0 ? total / weights : 0;
    for (std::size_t i = 0; i < n; ++i) first[i] = (center - target[i]) * (second.empty() ? 1 : second[i]);
    local.visit([&](auto* into) {
        background_.coarse_rows.visit([&](const auto* from) {
            for (std::size_t i = 0; i < n; ++i)
                std::copy_n(from + part.rows[i] * width, width, into + i * width);
        });
    });
    Gradients gradients;
    gradients.fill(first, second, n, 1);
    Info& info = tree_.infos[static_cast<std::size_t>(part.root)];
    info.bounds.low -= center;
    info.bounds.high -= center;
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    TreeGrower grower({local}, bins, gradients, plan_, 1);
    grower.grow(tree_, order, columns_of(part.root), plan_.max_depth + plan_.third_depth_extra,
                plan_.max_leaf_nodes);
    refine(part.root);
    for (std::size_t i = 0; i < grower.ranges.size(); ++i) {
        const std::size_t node = static_cast<std::size_t>(part.root) + i;
        Info& grown = tree_.infos[node];
        tree_.values[node] += center;
        grown.bounds.low += center;
        grown.bounds.high += center;
    }
    tree_.average(part.root);
    std::vector<std::uint32_t> rows(n);
    for (std::size_t i = 0; i < n; ++i) rows[i] = part.rows[order[i]];
    part.rows = std::move(rows);
    part.ranges = std::move(grower.ranges);
    if (!before_.empty()) measure_doubt(part);
}

/// Find out what the nodes of a third branch leave open. The variance of a sum over trees is the sum over
/// trees t of Cov(t, t + 2 · those before t): each tree can tell its part of it from rows whose values are
/// known.
void ThirdGrower::measure_doubt(const Part& part) {
    const std::size_t n = part.rows.size();
    std::vector<std::int32_t> at(n, 0);
    tree_.lead(background_.rows, part.rows, at.data());  // what these need was grown in training
    std::vector<double> own(n), both(n), weight(n, 1);
    for (std::size_t i = 0; i < n; ++i) {
        own[i] = tree_.values[static_cast<std::size_t>(at[i])];
        both[i] = own[i] + 2 * before_[part.rows[i]];
        if (!background_.weight.empty()) weight[i] = background_.weight[part.rows[i]];
    }
    for (std::size_t node = 0; node < part.ranges.size(); ++node) {
        const Range range = part.ranges[node];
        double weights = 0, own_sum = 0, both_sum = 0, product = 0;
        for (std::size_t i = range.begin; i < range.end; ++i) {
            weights += weight[i];
            own_sum += weight[i] * own[i];
            both_sum += weight[i] * both[i];
        }
        if (range.size() < 2 || !(weights > 0)) continue;
        for (std::size_t i = range.begin; i < range.end; ++i)
            product += weight[i] * (own[i] - own_sum / weights) * (both[i] - both_sum / weights);
        const auto m = static_cast<double>(range.size());
        tree_.infos[static_cast<std::size_t>(part.root) + node].doubt = product / weights * (m / (m - 1));
    }
}

/// Let nodes that were split by coarse codes ask for codes.
void ThirdGrower::refine(std::int32_t first) {
    for (auto node = static_cast<std::size_t>(first); node < tree_.size(); ++node) {
        Step& step = tree_.steps[node];
        if (step.is_leaf()) continue;
        step.missing = static_cast<std::uint16_t>(bins_.columns[step.column].missing());
        if (!step.categorical) step.begin = background_.coarse.begin_of[step.column][step.begin];
    }
}

std::int32_t ThirdGrower::root_of(std::int32_t node) const {
    for (;;) {
        const std::int32_t parent = parent_of(node);
        if (parent < 0) return node;
        const Step& step = tree_.steps[static_cast<std::size_t>(parent)];
        if (step.next[0] != node && step.next[1] != node) return node;
        node = parent;
    }
}

std::int32_t ThirdGrower::end_of(std::int32_t root) const {
    if (root == 0) return tree_.n_fitted;
    auto node = static_cast<std::size_t>(root) + 1;
    for (; node < tree_.size(); ++node) {
        const std::int32_t parent = parent_of(static_cast<std::int32_t>(node));
        const Step& step = tree_.steps[static_cast<std::size_t>(parent)];
        const auto number = static_cast<std::int32_t>(node);
        if (parent < root || (step.next[0] != number && step.next[1] != number)) break;
    }
    return static_cast<std::int32_t>(node);
}

/// Return the columns that a part may use: those that no third branch above it does without.
std::vector<std::int32_t> ThirdGrower::columns_of(std::int32_t root) const {
    std::vector<bool> used(bins_.n_columns());
    for (; root != 0; root = root_of(parent_of(root)))
        used[tree_.steps[static_cast<std::size_t>(parent_of(root))].column] = true;
    std::vector<std::int32_t> columns;
    for (std::size_t j = 0; j < used.size(); ++j)
        if (!used[j]) columns.push_back(static_cast<std::int32_t>(j));
    return columns;
}

const ThirdGrower::Part& ThirdGrower::part_of(std::int32_t node) {
    const std::int32_t wanted = root_of(node);
    if (const auto known = parts_.find(wanted); known != parts_.end()) return known->second;
    if (n_kept_ > kMostKept) {
        parts_.clear();
        n_kept_ = 0;
    }
    std::vector<std::int32_t> unknown{wanted};  // up to one that is known; there may be one for each column
    while (unknown.back() != 0) {
        const std::int32_t above = root_of(parent_of(unknown.back()));
        if (parts_.contains(above)) break;
        unknown.push_back(above);
    }
    for (; !unknown.empty(); unknown.pop_back()) {
        Part part = arranged(unknown.back());
        n_kept_ += part.rows.size();
        parts_.insert_or_assign(unknown.back(), std::move(part));
    }
    return parts_.at(wanted);
}

/// Return a part whose rows were dropped, with them; the part above it has its own.
ThirdGrower::Part ThirdGrower::arranged(std::int32_t root) const {
    Part part;
    part.root = root;
    if (root == 0) {
        part.rows.resize(background_.rows.n_rows());
        std::iota(part.rows.begin(), part.rows.end(), 0u);
    } else {
        const std::int32_t parent = parent_of(root);
        part.rows = sample(parent, parts_.at(root_of(parent)));
    }
    arrange(part);
    return part;
}

/// Put the rows of a part into the order of its nodes, as they were when it was grown.
void ThirdGrower::arrange(Part& part) const {
    const std::int32_t end = end_of(part.root);
    part.ranges.assign(static_cast<std::size_t>(end - part.root), {});
    part.ranges[0] = {0, part.rows.size()};
    std::array<std::vector<std::uint32_t>, 3> sides;
    for (std::int32_t node = part.root; node < end; ++node) {
        const Step& step = tree_.steps[static_cast<std::size_t>(node)];
        if (step.is_leaf()) continue;
        const Range range = part.ranges[static_cast<std::size_t>(node - part.root)];
        for (auto& side : sides) side.clear();
        for (std::size_t i = range.begin; i < range.end; ++i) {
            const std::int32_t to = tree_.next(node, background_.rows.at(part.rows[i], step.column));
            sides[to == step.next[0] ? 0 : to == step.next[1] ? 1 : 2].push_back(part.rows[i]);
        }
        std::size_t at = range.begin;
        for (int side = 0; side < 3; ++side) {
            if (side < 2)
                part.ranges[static_cast<std::size_t>(step.next[side] - part.root)] = {
                    at, at + sides[side].size()};
            at = static_cast<std::size_t>(
                std::copy(sides[side].begin(), sides[side].end(), part.rows.begin() + at) -
                part.rows.begin());
        }
    }
}

}  // namespace tritree::boosting
