#include "ensemble_state.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tritree::boosting {
namespace {

void must(bool holds, const char* wrong) {
    if (!holds) throw std::invalid_argument(wrong);
}

Bins load_bins(const RowsState& state) {
    must(!state.n_codes.empty() && state.n_codes.size() == state.categorical.size(), "no columns");
    must(state.n_codes.size() <= 65535, "more than 65,535 columns");
    std::vector<ColumnBins> columns;
    std::size_t at = 0;
    for (std::size_t j = 0; j < state.n_codes.size(); ++j) {
        ColumnBins column{state.categorical[j] != 0, state.n_codes[j], {}, {}};
        must(column.n_codes <= kMaxCodes, "more codes than a column may have");
        if (!column.categorical && column.n_codes > 1) {
            const std::size_t n = column.n_codes - 1;
            must(n <= state.edges.size() - at, "too few edges");
            column.edges.assign(state.edges.begin() + static_cast<std::ptrdiff_t>(at),
                                state.edges.begin() + static_cast<std::ptrdiff_t>(at + n));
            at += n;
        }
        columns.push_back(std::move(column));
    }
    must(at == state.edges.size(), "too many edges");
    Bins bins(std::move(columns));
    const std::string wrong = bins.validate();
    must(wrong.empty(), wrong.c_str());
    return bins;
}

std::shared_ptr<const Background> load_background(const RowsState& state, const Bins& bins) {
    const std::size_t n_codes = std::max(state.narrow.size(), state.wide.size());
    if (n_codes == 0) return nullptr;
    must((bins.is_narrow() ? state.wide : std::vector<std::uint16_t>()).empty() &&
             (bins.is_narrow() || state.narrow.empty()),
         "codes of another width");
    must(n_codes % bins.n_columns() == 0, "rows that are not whole");
    const std::size_t n_rows = n_codes / bins.n_columns();
    must(state.weight.empty() || state.weight.size() == n_rows, "weights of another number of rows");
    for (const double weight : state.weight)
        must(weight >= 0 && std::isfinite(weight), "a weight out of range");
    CodeRows rows(n_rows, bins);
    rows.visit([&](auto* into) {
        const auto copy = [&](const auto& from) {
            for (std::size_t i = 0; i < n_codes; ++i) {
                must(from[i] <= bins.columns[i % bins.n_columns()].missing(), "a code out of range");
                into[i] = static_cast<std::remove_reference_t<decltype(*into)>>(from[i]);
            }
        };
        state.narrow.empty() ? copy(state.wide) : copy(state.narrow);
    });
    return std::make_shared<const Background>(std::move(rows), state.weight, bins);
}

/// Return one tree, its nodes beginning at `first` of the arrays.
BoostedTree load_tree(const TreesState& s, std::size_t number, std::size_t first, std::size_t first_word,
                      const Bins& bins, const Plan& plan) {
    const std::int32_t n = s.n_nodes[number];
    BoostedTree tree;
    tree.n_fitted = s.n_fitted[number];
    tree.sets.assign(s.words.begin() + static_cast<std::ptrdiff_t>(first_word),
                     s.words.begin() + static_cast<std::ptrdiff_t>(first_word) + s.n_words[number]);
    for (std::int32_t node = 0; node < n; ++node) {
        const std::size_t i = first + static_cast<std::size_t>(node);
        Info info;
        info.rows = s.rows[i];
        info.gain = s.gain[i];
        info.set = s.set[i];
        if (!s.doubt.empty()) info.doubt = s.doubt[i];
        info.larger = static_cast<Branch>(s.larger[i]);
        if (!s.low.empty()) info.bounds = {s.low[i], s.high[i]};
        tree.add_leaf(s.value[i], info);
        Step& step = tree.steps.back();
        step.missing_to = static_cast<Branch>(s.missing_to[i]);
        if (step.is_leaf()) continue;
        must(s.column[i] < bins.n_columns(), "a column that there is not");
        step.column = s.column[i];
        step.begin = s.begin[i];
        step.missing = static_cast<std::uint16_t>(bins.columns[step.column].missing());
        step.categorical = bins.columns[step.column].categorical;
        tree.has_categories |= step.categorical;
        step.next[0] = s.left[i];
        step.next[1] = s.right[i];
        step.next[2] = s.third[i];
    }
    if (plan.missing == Strategy::Fractional) {
        tree.shares.assign(s.share.begin() + static_cast<std::ptrdiff_t>(first),
                           s.share.begin() + static_cast<std::ptrdiff_t>(first) + n);
        tree.weights.assign(s.weight.begin() + static_cast<std::ptrdiff_t>(first),
                            s.weight.begin() + static_cast<std::ptrdiff_t>(first) + n);
    }
    must(n > 0 && tree.n_fitted > 0 && tree.n_fitted <= n, "a tree without nodes");
    tree.infos[0].path = mixed(plan.seed, number);
    for (std::int32_t node = 0; node < n; ++node) {
        const Step& step = tree.steps[static_cast<std::size_t>(node)];
        if (step.is_leaf()) continue;
        const Info& parent = tree.infos[static_cast<std::size_t>(node)];
        for (int side = 0; side < 3; ++side) {
            const std::int32_t to = step.next[side];
            if (side == 2 && (step.missing_to != Branch::Third || to == node)) continue;
            must(to > node && to < n, "nodes out of order");
            Info& daughter = tree.infos[static_cast<std::size_t>(to)];
            daughter.parent = node;
            daughter.path = mixed(parent.path, static_cast<std::uint64_t>(side));
            daughter.depth = parent.depth + (side < 2 ? 1 : 0);
        }
    }
    const std::string wrong = tree.validate(bins, plan);
    must(wrong.empty(), wrong.c_str());
    return tree;
}

}  // namespace

TreesState save_trees(const Ensemble& ensemble) {
    TreesState s;
    const bool bound = !ensemble.plan().monotonic.empty();
    ensemble.inspect([&](const std::vector<BoostedTree>& trees) {
        for (const BoostedTree& tree : trees) {
            s.n_nodes.push_back(static_cast<std::int32_t>(tree.size()));
            s.n_fitted.push_back(tree.n_fitted);
            s.n_words.push_back(static_cast<std::int32_t>(tree.sets.size()));
            s.words.insert(s.words.end(), tree.sets.begin(), tree.sets.end());
            s.value.insert(s.value.end(), tree.values.begin(), tree.values.end());
            s.share.insert(s.share.end(), tree.shares.begin(), tree.shares.end());
            s.weight.insert(s.weight.end(), tree.weights.begin(), tree.weights.end());
            for (std::size_t i = 0; i < tree.size(); ++i) {
                const Step& step = tree.steps[i];
                const Info& info = tree.infos[i];
                s.column.push_back(step.column);
                s.begin.push_back(step.begin);
                s.missing_to.push_back(static_cast<std::int8_t>(step.missing_to));
                s.larger.push_back(static_cast<std::int8_t>(info.larger));
                s.left.push_back(step.next[0]);
                s.right.push_back(step.next[1]);
                s.third.push_back(step.next[2]);
                s.gain.push_back(info.gain);
                if (ensemble.plan().measures_doubt) s.doubt.push_back(info.doubt);
                s.rows.push_back(info.rows);
                s.set.push_back(info.set);
                if (bound) s.low.push_back(info.bounds.low), s.high.push_back(info.bounds.high);
            }
        }
    });
    return s;
}

RowsState save_rows(const Ensemble& ensemble, bool with_background) {
    RowsState s;
    for (const ColumnBins& column : ensemble.bins().columns) {
        s.n_codes.push_back(column.n_codes);
        s.categorical.push_back(column.categorical);
        s.edges.insert(s.edges.end(), column.edges.begin(), column.edges.end());
    }
    const auto background = with_background ? ensemble.background() : nullptr;
    if (background == nullptr) return s;
    const std::size_t n = background->rows.n_rows() * background->rows.width();
    background->rows.visit([&](const auto* codes) {
        if constexpr (sizeof(*codes) == 1)
            s.narrow.assign(codes, codes + n);
        else
            s.wide.assign(codes, codes + n);
    });
    s.weight = background->weight;
    return s;
}

std::shared_ptr<Ensemble> load_ensemble(const TreesState& trees, const RowsState& rows, const Plan& plan,
                                        std::vector<double> baseline) {
    Bins bins = load_bins(rows);
    if (const char* wrong = plan.validate(bins.n_columns())) throw std::invalid_argument(wrong);
    must(!baseline.empty(), "no outputs");
    for (const double value : baseline) must(std::isfinite(value), "a value that is no number");
    const std::size_t n_trees = trees.n_nodes.size();
    must(trees.n_fitted.size() == n_trees && trees.n_words.size() == n_trees, "arrays of different lengths");
    must(n_trees % baseline.size() == 0, "a round that is not whole");
    std::size_t n_nodes = 0, n_words = 0;
    for (std::size_t i = 0; i < n_trees; ++i) {
        must(trees.n_nodes[i] >= 0 && trees.n_words[i] >= 0, "a negative number of nodes");
        n_nodes += static_cast<std::size_t>(trees.n_nodes[i]);
        n_words += static_cast<std::size_t>(trees.n_words[i]);
    }
    must(trees.words.size() == n_words, "sets out of range");
    const bool bound = !plan.monotonic.empty();
    each_trees_array(trees, [&](const std::string& name, const auto& array) {
        if (name == "n_nodes" || name == "n_fitted" || name == "n_words" || name == "words") return;
        const bool absent = name == "doubt"                   ? !plan.measures_doubt
                            : name == "low" || name == "high" ? !bound
                                                              : false;
        must(array.size() == (absent ? 0 : n_nodes), "arrays of different lengths");
    });
    each_shared_array(trees, [&](const char*, const auto& array) {
        must(array.size() == (plan.missing == Strategy::Fractional ? n_nodes : 0),
             "arrays of different lengths");
    });
    auto ensemble = std::make_shared<Ensemble>(bins, plan, std::move(baseline));
    std::vector<BoostedTree> loaded;
    std::size_t node = 0, word = 0;
    for (std::size_t i = 0; i < n_trees; ++i) {
        loaded.push_back(load_tree(trees, i, node, word, bins, plan));
        node += static_cast<std::size_t>(trees.n_nodes[i]);
        word += static_cast<std::size_t>(trees.n_words[i]);
    }
    ensemble->add(std::move(loaded));
    ensemble->set_background(load_background(rows, bins));
    return ensemble;
}

}  // namespace tritree::boosting
