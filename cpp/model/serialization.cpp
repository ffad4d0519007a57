#include "model/serialization.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>

#include "common/random.hpp"
#include "model/state_arrays.hpp"

namespace tritree {

namespace {

void save_evidence(const Tree& tree, TreesState& state) {
    if (!tree.weighs_evidence) return;
    EvidenceArrays& all = state.all.evidence;
    state.n_evidence.push_back(static_cast<std::int64_t>(tree.evidence.column.size()));
    state.n_groups.push_back(static_cast<std::int64_t>(tree.evidence.key.size()));
    for_each_evidence_array([](const char*, auto& joined, const auto& own) { append(joined, own); },
                            state.all, tree);
    std::size_t n_nodes = 0;
    for (const std::int32_t n : state.n_nodes) n_nodes += static_cast<std::size_t>(n);
    all.begin.resize(n_nodes, kUngrown);
    all.end.resize(n_nodes, kUngrown);
}

/// Takes the evidence of one tree after the other.
class EvidenceLoader {
  public:
    EvidenceLoader(const TreesState& state, bool weighs_evidence) : state_(state) {
        const std::size_t n_trees = weighs_evidence ? state.n_nodes.size() : 0;
        require(state.n_evidence.size() == n_trees && state.n_groups.size() == n_trees,
                "evidence does not match the trees");
    }
    void take_next(Tree& tree) {
        const EvidenceArrays& all = state_.all.evidence;
        EvidenceArrays& own = tree.evidence;
        const std::size_t n = to_size(state_.n_evidence[number_]),
                          n_groups = to_size(state_.n_groups[number_]);
        ++number_;
        std::size_t end_at = node_, left_at = entry_, rows_at = entry_, group_end_at = entry_;
        std::size_t group_rows_at = group_, group_left_at = group_;
        own.begin = take(all.begin, node_, tree.left.size());
        own.end = take(all.end, end_at, tree.left.size());
        own.column = take(all.column, entry_, n);
        own.rows = take(all.rows, rows_at, n);
        own.left = take(all.left, left_at, n);
        own.group_end = take(all.group_end, group_end_at, n);
        own.key = take(all.key, group_, n_groups);
        own.group_rows = take(all.group_rows, group_rows_at, n_groups);
        own.group_left = take(all.group_left, group_left_at, n_groups);
    }
    void check_end() const {
        const EvidenceArrays& all = state_.all.evidence;
        const auto n_nodes = {all.begin.size(), all.end.size()};
        const auto n_entries = {all.column.size(), all.rows.size(), all.left.size(), all.group_end.size()};
        const auto n_groups = {all.key.size(), all.group_rows.size(), all.group_left.size()};
        for (const auto& [sizes, n] : {std::pair(n_nodes, node_), {n_entries, entry_}, {n_groups, group_}})
            for (const std::size_t size : sizes) require(size == n, "more entries than the trees have");
    }

  private:
    const TreesState& state_;
    std::size_t number_ = 0, node_ = 0, entry_ = 0, group_ = 0;
};

}  // namespace

TreesState save_trees(std::span<const Tree* const> trees) {
    TreesState state;
    const bool has_sets = std::any_of(trees.begin(), trees.end(),
                                      [](const Tree* tree) { return !tree->split.set_begin.empty(); });
    for (const Tree* tree : trees) {
        state.n_nodes.push_back(static_cast<std::int32_t>(tree->size()));
        state.n_fitted.push_back(tree->n_fitted);
        state.n_surrogates.push_back(static_cast<std::int32_t>(tree->surrogate_below.size()));
        state.n_words.push_back(static_cast<std::int64_t>(tree->sets.size()));
        for_each_node_array([](const char*, auto& all, const auto& own) { append(all, own); }, state.all,
                            *tree);
        for_each_surrogate_array([](const char*, auto& all, const auto& own) { append(all, own); }, state.all,
                                 *tree);
        append(state.all.sets, tree->sets);
        append(state.all.surrogate_begin, tree->surrogate_begin);
        save_evidence(*tree, state);
        if (has_sets && tree->split.set_begin.empty()) {
            state.all.split.set_begin.resize(state.all.split.set_begin.size() + tree->size(), -1);
            state.all.split.set_words.resize(state.all.split.set_words.size() + tree->size(), 0);
        }
    }
    return state;
}

std::vector<Tree> load_trees(const TreesState& state, const GrowthParameters& params, int n_outputs,
                             std::size_t n_columns) {
    const std::size_t n_trees = state.n_nodes.size();
    require(n_trees > 0 && state.n_fitted.size() == n_trees && state.n_surrogates.size() == n_trees &&
                state.n_words.size() == n_trees && state.seed.size() == n_trees,
            "arrays of different lengths");
    std::size_t n_nodes = 0;
    for (const std::int32_t n : state.n_nodes) n_nodes += to_size(n);
    std::vector<Tree> trees(n_trees);
    EvidenceLoader evidence(state, params.weighs_evidence());
    std::size_t node = 0, word = 0, surrogate = 0, begin = 0;
    for (std::size_t i = 0; i < n_trees; ++i) {
        Tree& tree = trees[i];
        tree.n_outputs = n_outputs;
        tree.n_fitted = state.n_fitted[i];
        const std::size_t n = to_size(state.n_nodes[i]), n_surrogates = to_size(state.n_surrogates[i]);
        for_each_node_array(
            [&](const char*, auto& own, const auto& all) {
                const std::size_t width =
                    static_cast<const void*>(&own) == &tree.value ? static_cast<std::size_t>(n_outputs) : 1;
                require(all.empty() || all.size() == n_nodes * width, "arrays of different lengths");
                std::size_t at = node * width;
                if (!all.empty()) own = take(all, at, n * width);
            },
            tree, state.all);
        for_each_surrogate_array(
            [&](const char*, auto& own, const auto& all) {
                std::size_t at = surrogate;
                own = take(all, at, n_surrogates);
            },
            tree, state.all);
        tree.weighs_evidence = params.weighs_evidence();
        if (tree.weighs_evidence) evidence.take_next(tree);
        tree.sets = take(state.all.sets, word, to_size(state.n_words[i]));
        if (!state.all.surrogate_begin.empty())
            tree.surrogate_begin = take(state.all.surrogate_begin, begin, n + 1);
        node += n;
        surrogate += n_surrogates;
        require_valid(tree.validate(params, static_cast<std::int32_t>(n_columns)));
        // files of format 1 have it for every strategy; a tree that grows does not
        if (params.missing != Strategy::Surrogate) tree.surrogate_begin.clear();
    }
    evidence.check_end();
    require(word == state.all.sets.size() && begin == state.all.surrogate_begin.size(),
            "more entries than the trees have");
    for_each_surrogate_array(
        [&](const char*, const auto& all) {
            require(all.size() == surrogate, "more entries than the trees have");
        },
        state.all);
    return trees;
}

namespace {

/// Check that predictions, which are sums over trees, and the variance that third branches estimate of them
/// cannot overflow.
void check_sums(const std::vector<Tree>& trees, const std::vector<double>& baseline,
                const GrowthParameters& params) {
    double values = 0, variances = 0;  // bounds of their magnitudes
    const auto add_largest = [](double& sum, const std::vector<double>& terms) {
        double largest = 0;
        for (const double term : terms) largest = std::max(largest, std::abs(term));
        sum += largest;
    };
    add_largest(values, baseline);
    for (const Tree& tree : trees) {
        add_largest(values, tree.value);
        add_largest(variances, tree.variance);
    }
    constexpr double kMaxScore = 1e100;  // log-odds and logarithms, whose variance is estimated, are far less
    require(
        std::isfinite(variances) && (params.estimates_variance ? values < kMaxScore : std::isfinite(values)),
        "sums of values are not finite");
}

BinMapper load_mapper(const BinsState& state) {
    require(!state.n_bins.empty() && state.n_bins.size() == state.categorical.size(), "no columns");
    std::vector<ColumnBins> columns;
    std::size_t at = 0;
    for (std::size_t j = 0; j < state.n_bins.size(); ++j) {
        ColumnBins column{state.categorical[j] != 0, state.n_bins[j], {}, {}};
        require(column.n_bins <= kMaxBins, "too many bins in a column");
        if (!column.categorical && column.n_bins > 1) column.edges = take(state.edges, at, column.n_bins - 1);
        columns.push_back(std::move(column));
    }
    require(at == state.edges.size(), "more bin edges than the columns have");
    BinMapper mapper(std::move(columns));
    require_valid(mapper.validate());
    return mapper;
}

std::shared_ptr<const BackgroundRows> load_background(const BinsState& state, const BinMapper& mapper) {
    const std::size_t n_bins = std::max(state.bins8.size(), state.bins16.size());
    if (n_bins == 0) return nullptr;
    require(mapper.fits_uint8() ? state.bins16.empty() : state.bins8.empty(), "bins of the wrong width");
    require(n_bins % mapper.n_columns() == 0, "incomplete background rows");
    const std::size_t n_rows = n_bins / mapper.n_columns();
    require(state.weight.empty() || state.weight.size() == n_rows, "weights do not match the rows");
    for (const double weight : state.weight)
        require(weight >= 0 && std::isfinite(weight), "weight out of range");
    require(state.weight.empty() || *std::max_element(state.weight.begin(), state.weight.end()) > 0,
            "all weights are zero");
    BinnedRows rows(n_rows, mapper);
    rows.visit([&](auto* into) {
        const auto copy = [&](const auto& from) {
            for (std::size_t i = 0; i < n_bins; ++i) {
                require(from[i] <= mapper.columns[i % mapper.n_columns()].missing_bin(), "bin out of range");
                into[i] = static_cast<std::remove_reference_t<decltype(*into)>>(from[i]);
            }
        };
        state.bins8.empty() ? copy(state.bins16) : copy(state.bins8);
    });
    return std::make_shared<const BackgroundRows>(std::move(rows), state.weight, mapper);
}

}  // namespace

BoostedModelState save_model(const BoostedModel& model, bool with_rows) {
    BoostedModelState state;
    std::shared_ptr<const BackgroundRows> background;
    model.inspect([&](const std::vector<BinnedTree>& trees, const auto& rows) {
        if (with_rows) background = rows;
        std::vector<const Tree*> arrays;
        for (const BinnedTree& tree : trees) arrays.push_back(&tree.arrays);
        state.trees = save_trees(arrays);
        state.trees.seed.assign(trees.size(), 0);
    });
    for (const ColumnBins& column : model.mapper().columns) {
        state.bins.n_bins.push_back(column.n_bins);
        state.bins.categorical.push_back(column.categorical);
        append(state.bins.edges, column.edges);
    }
    if (background == nullptr) return state;
    const std::size_t n = background->rows.n_rows() * background->rows.n_columns();
    background->rows.visit([&](const auto* bins) {
        if constexpr (sizeof(*bins) == 1)
            state.bins.bins8.assign(bins, bins + n);
        else
            state.bins.bins16.assign(bins, bins + n);
    });
    state.bins.weight = background->weight;
    return state;
}

std::shared_ptr<BoostedModel> load_model(const BoostedModelState& state, const GrowthParameters& params,
                                         std::vector<double> baseline, bool may_lack_trees) {
    BinMapper mapper = load_mapper(state.bins);
    auto model = std::make_shared<BoostedModel>(mapper, params, baseline);
    require(state.trees.n_nodes.size() % baseline.size() == 0, "incomplete iterations");
    std::vector<Tree> trees;
    if (!may_lack_trees || !state.trees.n_nodes.empty())
        trees = load_trees(state.trees, params, 1, mapper.n_columns());
    check_sums(trees, baseline, params);
    std::vector<BinnedTree> binned;
    for (std::size_t i = 0; i < trees.size(); ++i) {
        require(!trees[i].gain.empty(), "trees that are not boosted");
        require_valid(BinnedTree::validate(trees[i], mapper));
        binned.emplace_back(std::move(trees[i]), mapper, hash_seed(params.seed, i));
    }
    model->add_trees(std::move(binned));
    model->set_background(load_background(state.bins, model->mapper()));
    return model;
}

}  // namespace tritree
