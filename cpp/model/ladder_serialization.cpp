#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "model/ladder_checks.hpp"
#include "model/state_arrays.hpp"

namespace tritree {
namespace {

// ---- training rows and ladders ----

Target load_target(const DataState& state, const GrowthParameters& params) {
    Target target{params.n_classes, state.y, state.labels, state.weight};
    require_valid(target.validate(static_cast<std::size_t>(state.n_rows)));
    return target;
}

void save_ladders(const LadderGrower& grower, LaddersState& state) {
    state.n_in_bag.push_back(static_cast<std::int64_t>(grower.in_bag().size()));
    append(state.in_bag, grower.in_bag());
    state.n_ladders.push_back(static_cast<std::int64_t>(grower.ladders.size()));
    for (const LadderPosition& position : grower.positions) {
        state.position_ladder.push_back(position.ladder);
        state.position_rank.push_back(position.rank);
    }
    for (const Ladder& ladder : grower.ladders) {
        append(state.used_columns, ladder.used_columns);
        state.used_columns_begin.push_back(static_cast<std::int64_t>(state.used_columns.size()));
        state.center.push_back(ladder.scale.center);
        state.sum_scale.push_back(ladder.scale.sum_scale);
        state.square_scale.push_back(ladder.scale.square_scale);
        state.weight_scale.push_back(ladder.scale.weight_scale);
        state.first_split_only.push_back(ladder.first_split_only);
        for (const SplitInfo& split : ladder.splits) {
            state.column.push_back(split.column);
            state.gain.push_back(split.gain);
            state.threshold.push_back(split.threshold);
            state.left_fraction.push_back(split.left_fraction);
            state.missing_vs_observed.push_back(split.missing_vs_observed);
            state.missing_to.push_back(static_cast<std::int8_t>(split.missing_to));
            state.larger_side.push_back(static_cast<std::int8_t>(split.larger_side));
            state.threshold_bin.push_back(split.threshold_bin);
            append(state.sets, split.sets.words());
        }
        state.splits_begin.push_back(static_cast<std::int64_t>(state.column.size()));
    }
}

void check_begins(const std::vector<std::int64_t>& begin, std::size_t n, std::size_t end) {
    require(begin.size() == n + 1 && begin.front() == 0 && static_cast<std::size_t>(begin.back()) == end &&
                std::is_sorted(begin.begin(), begin.end()),
            "array offsets do not match");
}

void check_shapes(const LaddersState& state, std::size_t n_nodes) {
    const std::size_t n_trees = state.n_ladders.size(), n_splits = state.column.size();
    std::size_t n_ladders = 0;
    for (const std::int64_t n : state.n_ladders) n_ladders += to_size(n);
    require(state.n_in_bag.size() == n_trees && state.position_ladder.size() == n_nodes &&
                state.position_rank.size() == n_nodes,
            "ladders do not match the trees");
    check_begins(state.used_columns_begin, n_ladders, state.used_columns.size());
    check_begins(state.splits_begin, n_ladders, n_splits);
    for (const std::size_t size : {state.center.size(), state.sum_scale.size(), state.square_scale.size(),
                                   state.weight_scale.size(), state.first_split_only.size()})
        require(size == n_ladders, "ladders of the wrong shape");
    for (const std::size_t size : {state.gain.size(), state.threshold.size(), state.left_fraction.size(),
                                   state.missing_vs_observed.size(), state.missing_to.size(),
                                   state.larger_side.size(), state.threshold_bin.size()})
        require(size == n_splits, "splits of the wrong shape");
}

SplitInfo load_split(const LaddersState& state, std::size_t i, const BinnedColumns& binned,
                     const GrowthParameters& params, std::size_t& word) {
    SplitInfo split;
    split.column = state.column[i];
    require(split.column >= 0 && static_cast<std::size_t>(split.column) < binned.columns.size(),
            "column index out of range");
    require(state.missing_to[i] >= 0 && state.missing_to[i] <= 3 && state.larger_side[i] >= 0 &&
                state.larger_side[i] <= 1,
            "unknown branch");
    const BinnedColumn& column = binned.columns[split.column];
    split.gain = state.gain[i];
    split.missing_to = static_cast<Branch>(state.missing_to[i]);
    split.larger_side = static_cast<Branch>(state.larger_side[i]);
    split.categorical = column.categorical;
    split.missing_vs_observed = state.missing_vs_observed[i] != 0;
    require(params.may_send_missing(split.missing_to) &&
                (!split.missing_vs_observed ||
                 (params.may_split_on_missing() && split.missing_to == Branch::Left)),
            "missing values sent to a branch that the strategy does not have");
    require(state.threshold_bin[i] >= 0 && state.threshold_bin[i] <= kMaxBins, "bin out of range");
    if (!column.categorical)
        require(split.missing_vs_observed
                    ? state.threshold[i] == -std::numeric_limits<double>::infinity()
                    : state.threshold_bin[i] < column.n_bins && std::isfinite(state.threshold[i]) &&
                          column.bin_max[state.threshold_bin[i]] < state.threshold[i],
                "threshold does not match its bin");
    split.threshold_bin = static_cast<std::uint32_t>(state.threshold_bin[i]);
    split.threshold = state.threshold[i];
    split.left_fraction = state.left_fraction[i];
    require(split.left_fraction >= 0 && split.left_fraction <= 1 && std::isfinite(split.gain),
            "left fraction or gain out of range");
    require(split.missing_to != Branch::Both || (split.left_fraction > 0 && split.left_fraction < 1),
            "left fraction or gain out of range");
    if (split.categorical) {
        split.sets = CategorySets(take(state.sets, word, CategorySets(column.n_bins).words().size()));
        const auto& words = split.sets.words();
        const char* error = check_category_sets(words.data(), words.size() / 2, split.missing_vs_observed);
        require(error == nullptr, error);
    }
    return split;
}

Ladder load_ladder(const LaddersState& state, std::size_t i, const BinnedColumns& binned,
                   const GrowthParameters& params, std::size_t& word) {
    Ladder ladder;
    for (const double scale : {state.sum_scale[i], state.square_scale[i], state.weight_scale[i]})
        require(std::isfinite(scale) && scale > 0, "fixed-point scale out of range");
    require(std::isfinite(state.center[i]), "fixed-point scale out of range");
    ladder.scale = {state.center[i], state.sum_scale[i], state.square_scale[i], state.weight_scale[i]};
    ladder.used_columns.assign(state.used_columns.begin() + state.used_columns_begin[i],
                               state.used_columns.begin() + state.used_columns_begin[i + 1]);
    for (std::int64_t split = state.splits_begin[i]; split < state.splits_begin[i + 1]; ++split)
        ladder.splits.push_back(load_split(state, static_cast<std::size_t>(split), binned, params, word));
    ladder.first_split_only = state.first_split_only[i] != 0;
    require(!ladder.first_split_only || ladder.splits.size() <= 1, "ladder with more than its first split");
    return ladder;
}

// ---- distributions ----

DistributionsState save_distributions(const std::vector<TargetDistribution>& distributions) {
    DistributionsState state;
    for (const TargetDistribution& distribution : distributions) {
        append(state.edges, distribution.edges);
        append(state.fractions, distribution.fractions);
        state.n_nodes.push_back(
            static_cast<std::int64_t>(distribution.fractions.size() / TargetDistribution::kBins));
    }
    if (state.edges.empty()) state = {};
    return state;
}

std::vector<TargetDistribution> load_distributions(const DistributionsState& state,
                                                   const std::vector<Tree>& trees, int n_classes) {
    std::vector<TargetDistribution> distributions(trees.size());
    if (state.edges.empty()) {
        require(state.n_nodes.empty() && state.fractions.empty(), "distributions without bins");
        return distributions;
    }
    require(n_classes == 0, "distributions of a target of classes");
    require(state.n_nodes.size() == trees.size(), "distributions do not match the trees");
    std::size_t edge = 0, fraction = 0;
    for (std::size_t i = 0; i < trees.size(); ++i) {
        require(to_size(state.n_nodes[i]) <= trees[i].size(), "distributions do not match the trees");
        distributions[i].edges = take(state.edges, edge, TargetDistribution::kBins + 1);
        distributions[i].fractions =
            take(state.fractions, fraction, to_size(state.n_nodes[i]) * TargetDistribution::kBins);
        require_valid(distributions[i].validate(trees[i].size()));
    }
    require(edge == state.edges.size() && fraction == state.fractions.size(),
            "more entries than the trees have");
    return distributions;
}

}  // namespace

DataState save_binned(const BinnedColumns& binned) {
    DataState state;
    state.n_rows = static_cast<std::int64_t>(binned.n_rows);
    for (const BinnedColumn& column : binned.columns) {
        state.categorical.push_back(column.categorical);
        state.n_bins.push_back(column.n_bins);
        append(state.bins8, column.bins8);
        append(state.bins16, column.bins16);
        append(state.bin_min, column.bin_min);
        append(state.bin_max, column.bin_max);
    }
    return state;
}

BinnedColumns load_binned(const DataState& state) {
    const std::size_t n_columns = state.n_bins.size();
    require(state.n_rows > 0 && state.n_rows < std::int64_t{1} << 31 && state.categorical.size() == n_columns,
            "training rows of the wrong shape");
    BinnedColumns binned{static_cast<std::size_t>(state.n_rows), std::vector<BinnedColumn>(n_columns)};
    std::size_t at8 = 0, at16 = 0, value = 0;
    for (std::size_t j = 0; j < n_columns; ++j) {
        require(state.n_bins[j] >= 0 && state.n_bins[j] <= kMaxBins, "too many bins in a column");
        BinnedColumn& column = binned.columns[j];
        column.categorical = state.categorical[j] != 0;
        column.n_bins = static_cast<std::uint32_t>(state.n_bins[j]);
        const auto copy = [&](auto& into, const auto& all, std::size_t& at) {
            const auto bins = next(all, at, binned.n_rows);
            into.assign(bins.begin(), bins.end());
        };
        column.fits_uint8() ? copy(column.bins8, state.bins8, at8) : copy(column.bins16, state.bins16, at16);
        column.visit([&](const auto* bins) {
            require(std::all_of(bins, bins + binned.n_rows,
                                [&](auto bin) { return bin <= column.missing_bin(); }),
                    "bin out of range");
        });
        if (column.categorical) continue;
        std::size_t max_value = value;
        column.bin_min = take(state.bin_min, value, column.n_bins);
        column.bin_max = take(state.bin_max, max_value, column.n_bins);
        double last = -std::numeric_limits<double>::infinity();
        for (std::uint32_t bin = 0; bin < column.n_bins; ++bin) {
            require(std::isfinite(column.bin_max[bin]) && last < column.bin_min[bin] &&
                        column.bin_min[bin] <= column.bin_max[bin],
                    "bins out of order");
            last = column.bin_max[bin];
        }
    }
    require(at8 == state.bins8.size() && at16 == state.bins16.size() && value == state.bin_min.size() &&
                value == state.bin_max.size(),
            "more bins than the columns have");
    return binned;
}

LadderModelState save_model(const LadderModel& model, bool with_rows) {
    LadderModelState state;
    model.inspect(with_rows,
                  [&](const std::vector<std::unique_ptr<LadderTree>>& trees, const TrainingData* data,
                      const std::vector<TargetDistribution>& distributions) {
                      state.distributions = save_distributions(distributions);
                      std::vector<const Tree*> arrays;
                      for (const auto& tree : trees) arrays.push_back(&tree->tree);
                      state.trees = save_trees(arrays);
                      for (const auto& tree : trees) state.trees.seed.push_back(tree->seed);
                      state.can_grow = data != nullptr;
                      if (!state.can_grow) return;
                      state.data = save_binned(*data->binned);
                      state.data.y = data->target.y;
                      state.data.labels = data->target.labels;
                      state.data.weight = data->target.weight;
                      state.ladders.used_columns_begin.push_back(0);
                      state.ladders.splits_begin.push_back(0);
                      for (const auto& tree : trees) save_ladders(*tree->grower, state.ladders);
                  });
    return state;
}

std::shared_ptr<LadderModel> load_model(const LadderModelState& state, const GrowthParameters& params,
                                        std::size_t n_columns, const CheckSignals& check_signals) {
    std::vector<Tree> trees = load_trees(state.trees, params, params.n_outputs(), n_columns);
    for (const Tree& tree : trees) require(tree.gain.empty(), "boosted trees in a model that is not boosted");
    require(!params.estimates_variance && params.monotonic.empty(),
            "boosting parameters in a model that is not boosted");
    std::vector<TargetDistribution> distributions =
        load_distributions(state.distributions, trees, params.n_classes);
    std::shared_ptr<const TrainingData> data;
    if (state.can_grow) {
        require(params.has_third(), "a model without third branches does not grow");
        require(state.data.n_bins.size() == n_columns, "training rows do not match the columns");
        auto binned = std::make_shared<const BinnedColumns>(load_binned(state.data));
        data = std::make_shared<const TrainingData>(
            TrainingData{std::move(binned), load_target(state.data, params)});
        std::size_t n_nodes = 0;
        for (const Tree& tree : trees) n_nodes += tree.size();
        require(state.ladders.n_ladders.size() == trees.size(), "ladders do not match the trees");
        check_shapes(state.ladders, n_nodes);
    }
    auto model = std::make_shared<LadderModel>(params, n_columns, data);
    std::size_t node = 0, in_bag = 0, ladder = 0, word = 0;
    for (std::size_t i = 0; i < trees.size(); ++i) {
        auto tree = std::make_unique<LadderTree>();
        tree->seed = state.trees.seed[i];
        tree->tree = std::move(trees[i]);
        tree->distribution = std::move(distributions[i]);
        if (data != nullptr) {
            std::vector<std::uint32_t> rows =
                take(state.ladders.in_bag, in_bag, to_size(state.ladders.n_in_bag[i]));
            for (std::size_t r = 0; r < rows.size(); ++r)
                require(rows[r] < data->binned->n_rows && (r == 0 || rows[r - 1] <= rows[r]),
                        "sampled rows out of range or out of order");
            GrowthParameters own = params;
            own.seed = tree->seed;
            tree->grower = std::make_unique<LadderGrower>(data, own, std::move(rows), tree->tree);
            for (std::size_t n = 0; n < tree->tree.size(); ++n, ++node)
                tree->grower->positions.push_back(
                    {state.ladders.position_ladder[node], state.ladders.position_rank[node]});
            for (std::int64_t n = 0; n < state.ladders.n_ladders[i]; ++n)
                tree->grower->ladders.push_back(
                    load_ladder(state.ladders, ladder++, *data->binned, params, word));
            check_positions(*tree->grower);
            tree->grower->restore_rows(check_signals);
            check_ladders(*tree->grower, check_signals);
        }
        model->add_tree(std::move(tree));
    }
    require(in_bag == state.ladders.in_bag.size() && word == state.ladders.sets.size(),
            "more entries than the trees have");
    return model;
}

}  // namespace tritree
