#include "state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

namespace tritree {
namespace {

void require(bool holds, const char* wrong) {
    if (!holds) throw std::invalid_argument(wrong);
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

/// Take the next `n` items off a long array.
template <class T>
std::vector<T> take(const std::vector<T>& all, std::size_t& at, std::size_t n) {
    require(at <= all.size() && n <= all.size() - at, "an array is too short");
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    at += n;
    return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

void check_begins(const std::vector<std::int32_t>& begin, std::size_t n, std::size_t end) {
    require(begin.size() == n + 1 && begin.front() == 0 && static_cast<std::size_t>(begin.back()) == end &&
                std::is_sorted(begin.begin(), begin.end()),
            "array offsets do not fit");
}

}  // namespace

Codes load_codes(const GrowthState& state) {
    const std::size_t p = state.column_n_codes.size();
    require(
        state.n_rows > 0 && state.n_rows < std::int64_t{1} << 31 && state.column_is_categorical.size() == p,
        "codes of the wrong shape");
    Codes codes{static_cast<std::size_t>(state.n_rows), std::vector<CodedColumn>(p)};
    std::size_t narrow = 0, wide = 0, values = 0;
    for (std::size_t j = 0; j < p; ++j) {
        require(state.column_n_codes[j] >= 0 && state.column_n_codes[j] <= kMaxCodes, "too many codes");
        CodedColumn& column = codes.columns[j];
        column.categorical = state.column_is_categorical[j] != 0;
        column.n_codes = static_cast<std::uint32_t>(state.column_n_codes[j]);
        if (column.is_narrow())
            column.narrow = take(state.narrow, narrow, codes.n_rows);
        else
            column.wide = take(state.wide, wide, codes.n_rows);
        column.visit([&](const auto* c) {
            require(std::all_of(c, c + codes.n_rows, [&](auto code) { return code <= column.missing(); }),
                    "a code out of range");
        });
        if (column.categorical) continue;
        std::size_t again = values;
        column.smallest = take(state.smallest, values, column.n_codes);
        column.largest = take(state.largest, again, column.n_codes);
        double last = -std::numeric_limits<double>::infinity();
        for (std::uint32_t code = 0; code < column.n_codes; ++code) {
            require(std::isfinite(column.largest[code]) && last < column.smallest[code] &&
                        column.smallest[code] <= column.largest[code],
                    "values that are not in the order of their codes");
            last = column.largest[code];
        }
    }
    require(narrow == state.narrow.size() && wide == state.wide.size() && values == state.smallest.size() &&
                values == state.largest.size(),
            "more codes than there are columns for");
    return codes;
}

namespace {

Target load_target(const GrowthState& state, const Settings& settings) {
    const auto n = static_cast<std::size_t>(state.n_rows);
    Target target{settings.n_classes, state.y, state.labels, state.sample_weight, {}};
    require(target.n_rows() == n && (target.weight.empty() || target.weight.size() == n) &&
                (settings.n_classes > 0 ? target.y.empty() : target.labels.empty()),
            "responses do not fit");
    for (const double y : target.y) require(std::isfinite(y), "a response that is not a number");
    for (const double w : target.weight) require(std::isfinite(w) && w >= 0, "a weight out of range");
    require(target.weight.empty() || *std::max_element(target.weight.begin(), target.weight.end()) > 0,
            "no row has weight");
    for (const std::int32_t label : target.labels)
        require(label >= 0 && label < settings.n_classes, "a class number out of range");
    return target;
}

std::vector<Rung> load_ladder(const GrowthState& state, const Codes& codes, std::size_t begin,
                              std::size_t end, std::size_t& words) {
    std::vector<Rung> ladder;
    for (std::size_t r = begin; r < end; ++r) {
        Rung rung;
        rung.column = state.rung_column[r];
        require(rung.column >= 0 && static_cast<std::size_t>(rung.column) < codes.columns.size(),
                "a column out of range");
        require(state.rung_missing_to[r] >= 0 && state.rung_missing_to[r] <= 2 && state.rung_larger[r] >= 0 &&
                    state.rung_larger[r] <= 1,
                "an unknown branch");
        const CodedColumn& column = codes.columns[rung.column];
        rung.gain = state.rung_gain[r];
        rung.categorical = column.categorical;
        rung.missing_alone = state.rung_missing_alone[r] != 0;
        require(state.rung_low[r] >= 0 && state.rung_low[r] <= kMaxCodes, "a code out of range");
        if (!column.categorical && state.rung_missing_alone[r] == 0)
            require(state.rung_low[r] < column.n_codes &&
                        column.largest[state.rung_low[r]] < state.rung_threshold[r],
                    "a threshold that is not behind its code");
        rung.low = static_cast<std::uint32_t>(state.rung_low[r]);
        rung.threshold = state.rung_threshold[r];
        rung.share = state.rung_share[r];
        require(rung.share >= 0 && rung.share <= 1 && std::isfinite(rung.gain), "a share out of range");
        rung.missing_to = static_cast<Branch>(state.rung_missing_to[r]);
        rung.larger = static_cast<Branch>(state.rung_larger[r]);
        if (rung.categorical) {
            const CategorySets empty(column.n_codes);
            rung.sets = CategorySets(take(state.rung_sets, words, empty.words().size()));
        }
        ladder.push_back(std::move(rung));
    }
    return ladder;
}

void load_bases(const GrowthState& state, Grower& grower) {
    const std::size_t n_bases = state.base_center.size(), n_rungs = state.rung_column.size();
    check_begins(state.base_unusable_begin, n_bases, state.base_unusable.size());
    check_begins(state.base_ladder_begin, n_bases, n_rungs);
    require(n_bases > 0 && state.base_sum_scale.size() == n_bases &&
                state.base_square_scale.size() == n_bases && state.base_weight_scale.size() == n_bases,
            "bases of the wrong shape");
    for (const std::size_t size :
         {state.rung_gain.size(), state.rung_threshold.size(), state.rung_share.size(),
          state.rung_missing_alone.size(), state.rung_missing_to.size(), state.rung_larger.size(),
          state.rung_low.size()})
        require(size == n_rungs, "ladders of the wrong shape");
    std::size_t words = 0;
    for (std::size_t b = 0; b < n_bases; ++b) {
        Base base;
        for (const double scale :
             {state.base_sum_scale[b], state.base_square_scale[b], state.base_weight_scale[b]})
            require(std::isfinite(scale) && scale > 0, "a frame without a unit");
        require(std::isfinite(state.base_center[b]), "a frame without a centre");
        base.frame = {state.base_center[b], state.base_sum_scale[b], state.base_square_scale[b],
                      state.base_weight_scale[b]};
        base.unusable.assign(state.base_unusable.begin() + state.base_unusable_begin[b],
                             state.base_unusable.begin() + state.base_unusable_begin[b + 1]);
        base.ladder = load_ladder(state, grower.codes(), static_cast<std::size_t>(state.base_ladder_begin[b]),
                                  static_cast<std::size_t>(state.base_ladder_begin[b + 1]), words);
        grower.bases.push_back(std::move(base));
    }
    require(words == state.rung_sets.size(), "more category sets than there are rungs for");
}

/// Say whether a node splits by a rung.
bool is_split_of(const Rung& rung, const Tree& tree, std::size_t node) {
    if (rung.column != tree.split.column[node] ||
        static_cast<std::int8_t>(rung.missing_to) != tree.missing_to[node])
        return false;
    if (!rung.categorical) return rung.threshold == tree.split.threshold[node];
    const auto& words = rung.sets.words();
    return tree.split.set_begin[node] >= 0 &&
           2 * static_cast<std::size_t>(tree.split.set_words[node]) == words.size() &&
           std::equal(words.begin(), words.end(), tree.sets.begin() + tree.split.set_begin[node]);
}

/// Check that every node stands where its parent says: a daughter on a base of its own, a third branch one
/// rung up.
void check_places(const Grower& grower) {
    const Tree& tree = grower.tree;
    const auto n_bases = static_cast<std::int32_t>(grower.bases.size());
    require(grower.places.size() == tree.size(), "places of the wrong shape");
    std::int32_t n_taken = 0;  // bases are numbered as their nodes are
    for (std::size_t node = 0; node < tree.size(); ++node) {
        const auto [base, rung] = grower.places[node];
        if (base == kNone && tree.is_leaf(node) && rung == 0 && node > 0) continue;
        require(base >= 0 && base < n_bases && rung >= 0, "a place out of range");
        const auto n_rungs = static_cast<std::int32_t>(grower.bases[base].ladder.size());
        require(tree.is_leaf(node) ? rung >= n_rungs : rung < n_rungs, "a split without a rung");
        require(rung > 0 || base == n_taken, "a base out of its order");
        if (rung == 0) ++n_taken;
        if (!tree.is_leaf(node))
            require(is_split_of(grower.bases[base].ladder[rung], tree, node), "a rung that is not the split");
        for (const std::int32_t child : {tree.left[node], tree.right[node]}) {
            if (child < 0) continue;
            require(grower.places[child].rung == 0, "a daughter out of place");
            if (grower.places[child].base < 0 || grower.places[child].base >= n_bases) continue;
            auto used = grower.bases[base].unusable;
            for (std::int32_t k = 0; k < rung; ++k) used.push_back(grower.bases[base].ladder[k].column);
            require(grower.bases[grower.places[child].base].unusable == used, "columns used up elsewhere");
        }
        const std::int32_t third = tree.third[node];
        require(third < 0 || (grower.places[third].base == base && grower.places[third].rung == rung + 1),
                "a third branch out of place");
    }
    require(grower.places[0].base == 0 && grower.places[0].rung == 0 && grower.bases[0].unusable.empty(),
            "a root out of place");
    require(n_taken == n_bases, "a base without a node");
}

/// Say whether a split leaves some of the rows on either side.
bool parts_rows(const Rung& rung, const CodedColumn& column, std::span<const std::uint32_t> rows) {
    bool left = false, right = false;
    column.visit([&](const auto* codes) {
        for (std::size_t i = 0; i < rows.size() && !(left && right); ++i) {
            const Branch to = rung.branch(codes[rows[i]], column.missing());
            left = left || to == Branch::Left;
            right = right || to == Branch::Right;
        }
    });
    return left && right;
}

/// Check that every rung, climbed or not, is one that growth could have found in its base.
void check_ladders(Grower& grower) {
    for (std::int32_t number = 0; number < static_cast<std::int32_t>(grower.bases.size()); ++number) {
        const Base& base = grower.bases[number];
        grower.drop_old_rows();
        require(grower.fits(number), "a unit too small for its rows");
        std::vector<std::int32_t> used = base.unusable;
        for (const Rung& rung : base.ladder) {
            require(std::find(used.begin(), used.end(), rung.column) == used.end(), "a column used twice");
            used.push_back(rung.column);
            require(grower.settings().may_send_missing(rung.missing_to) &&
                        (!rung.missing_alone || rung.missing_to == Branch::Left),
                    "a rung that sends missing where its strategy does not");
            grower.drop_old_rows();
            require(parts_rows(rung, grower.codes().columns[rung.column], grower.rows_of(number)),
                    "a side without rows");
        }
    }
}

}  // namespace

GrowthState save_codes(const Codes& codes) {
    GrowthState state;
    state.n_rows = static_cast<std::int64_t>(codes.n_rows);
    for (const CodedColumn& column : codes.columns) {
        state.column_is_categorical.push_back(column.categorical);
        state.column_n_codes.push_back(column.n_codes);
        append(state.narrow, column.narrow);
        append(state.wide, column.wide);
        append(state.smallest, column.smallest);
        append(state.largest, column.largest);
    }
    return state;
}

GrowthState save_growth(const Grower& grower, bool with_table) {
    GrowthState state;
    if (with_table) {
        state = save_codes(grower.codes());
        state.y = grower.target().y;
        state.labels = grower.target().labels;
        state.sample_weight = grower.target().weight;
    }
    state.in_bag = grower.target().in_bag;
    const bool partial =
        std::any_of(grower.bases.begin(), grower.bases.end(), [](const Base& base) { return base.partial; });
    if (partial)
        for (const Base& base : grower.bases) state.base_partial.push_back(base.partial);
    for (const Place& place : grower.places) {
        state.place_base.push_back(place.base);
        state.place_rung.push_back(place.rung);
    }
    state.base_unusable_begin.push_back(0);
    state.base_ladder_begin.push_back(0);
    for (const Base& base : grower.bases) {
        append(state.base_unusable, base.unusable);
        state.base_unusable_begin.push_back(static_cast<std::int32_t>(state.base_unusable.size()));
        state.base_center.push_back(base.frame.center);
        state.base_sum_scale.push_back(base.frame.sum_scale);
        state.base_square_scale.push_back(base.frame.square_scale);
        state.base_weight_scale.push_back(base.frame.weight_scale);
        for (const Rung& rung : base.ladder) {
            state.rung_column.push_back(rung.column);
            state.rung_gain.push_back(rung.gain);
            state.rung_threshold.push_back(rung.threshold);
            state.rung_share.push_back(rung.share);
            state.rung_missing_alone.push_back(rung.missing_alone);
            state.rung_missing_to.push_back(static_cast<std::int8_t>(rung.missing_to));
            state.rung_larger.push_back(static_cast<std::int8_t>(rung.larger));
            state.rung_low.push_back(rung.low);
            append(state.rung_sets, rung.sets.words());
        }
        state.base_ladder_begin.push_back(static_cast<std::int32_t>(state.rung_column.size()));
    }
    return state;
}

std::unique_ptr<Grower> load_growth(const GrowthState& state, Tree tree, const Settings& settings) {
    auto codes = std::make_shared<const Codes>(load_codes(state));
    return load_growth(state, std::move(codes), load_target(state, settings), std::move(tree), settings);
}

std::unique_ptr<Grower> load_growth(const GrowthState& state, std::shared_ptr<const Codes> codes,
                                    Target target, Tree tree, const Settings& settings) {
    require(settings.has_third(), "a tree without third branches has nothing left to grow");
    for (std::size_t i = 0; i < state.in_bag.size(); ++i)
        require(state.in_bag[i] < codes->n_rows && (i == 0 || state.in_bag[i - 1] <= state.in_bag[i]),
                "rows out of range, or out of order");
    target.in_bag = state.in_bag;
    auto grower = std::make_unique<Grower>(std::move(codes), std::move(target), settings);
    grower->tree = std::move(tree);
    load_bases(state, *grower);
    require(state.base_partial.empty() || state.base_partial.size() == grower->bases.size(),
            "bases of the wrong shape");
    for (std::size_t b = 0; b < state.base_partial.size(); ++b) {
        grower->bases[b].partial = state.base_partial[b] != 0;
        require(!grower->bases[b].partial || grower->bases[b].ladder.size() <= 1,
                "a ladder that is not partial");
    }
    require(state.place_base.size() == state.place_rung.size(), "places of the wrong shape");
    for (std::size_t node = 0; node < state.place_base.size(); ++node)
        grower->places.push_back({state.place_base[node], state.place_rung[node]});
    check_places(*grower);
    grower->restore_rows();
    check_ladders(*grower);
    return grower;
}

}  // namespace tritree
