#include "grower.hpp"

#include <algorithm>
#include <numeric>

#include "parallel.hpp"

namespace tritree {

/// A node that is being grown.
struct Grower::Sprout {
    Wanted wanted{kNone, Branch::None};  // its place under its parent; the root has none
    std::int32_t depth = 0;
    Base base;
    const Frame* parent_frame = nullptr;
    NodeRows data;
    Summary summary;
    bool leaf = false;
    std::vector<std::optional<Rung>> best;  // per column
    std::vector<Histogram> histograms;      // per column, where they are kept for the daughters
    std::vector<Surrogate> surrogates;
    RowList shared;  // fractional: the rows of this node, from which its daughters take theirs
};

/// Two daughters, and what their parent's histograms say of the larger one once the rest is counted.
struct Grower::Family {
    Sprout* smaller;
    Sprout* larger;
    std::vector<Histogram> histograms;  // the parent's; empty where not kept
    NodeRows third;                     // rows of the parent that went to neither
    bool related = false;               // both use the parent's frame, so that integers can be subtracted
};

Grower::Grower(std::shared_ptr<const Codes> codes, Target target, const Settings& settings)
    : shared_codes_(std::move(codes)),
      codes_(*shared_codes_),
      target_(std::move(target)),
      settings_(settings),
      reader_(target_, settings_) {
    tree.n_outputs = settings.n_outputs();
}

std::span<std::uint32_t> Grower::own(std::vector<std::uint32_t> rows) {
    return lists_.emplace_back(std::move(rows));
}

Grower::Sprout Grower::make_root() {
    Sprout root;
    std::vector<std::uint32_t> rows(codes_.n_rows);
    std::iota(rows.begin(), rows.end(), 0u);
    if (settings_.missing == Strategy::Fractional)
        root.shared = {rows, std::vector<double>(rows.size(), 1.0)};
    root.base.rows = own(std::move(rows));
    return root;
}

Grower::Sprout Grower::make_daughter(std::int32_t node, Branch side) {
    const Place place = places[node];
    const Base& from = bases[place.base];
    Sprout daughter;
    daughter.wanted = {node, side};
    daughter.depth = tree.depth[node] + 1;
    daughter.parent_frame = &from.frame;
    daughter.base.unusable = from.unusable;
    for (std::int32_t k = 0; k < place.rung; ++k) daughter.base.unusable.push_back(from.ladder[k].column);
    const auto& parts = from.parts;
    if (place.rung == 0)
        daughter.base.rows =
            side == Branch::Left ? from.rows.first(parts.left) : from.rows.subspan(parts.left, parts.right);
    return daughter;
}

void Grower::open_third(std::int32_t node) {
    const Place place = places[node];
    const auto& ladder = bases[place.base].ladder;
    const std::int32_t opened = tree.add_third(node);
    tree.set_child(node, Branch::Third, opened);
    places.push_back({place.base, place.rung + 1});
    if (static_cast<std::size_t>(place.rung) + 1 < ladder.size())
        tree.set_split(opened, ladder[place.rung + 1]);
}

bool Grower::is_leaf(const Sprout& sprout) const {
    return sprout.depth >= settings_.max_depth || sprout.summary.pure ||
           sprout.summary.members <= static_cast<double>(settings_.min_samples_leaf) + kMembershipSlack;
}

void Grower::scan_column(Sprout& sprout, std::size_t j, Histogram* keep) {
    thread_local Histogram scratch;
    thread_local Cells cells;
    const CodedColumn& column = codes_.columns[j];
    const Layout& layout = reader_.layout();
    Histogram& histogram = keep != nullptr ? *keep : scratch;
    if (keep != nullptr && !keep->empty())
        cells.from_histogram(histogram, column.n_codes, layout);
    else
        cells.read(column, sprout.data, layout, histogram);
    sprout.best[j] = best_split(settings_, column, static_cast<std::int32_t>(j), cells, sprout.data, layout,
                                sprout.summary);
}

void Grower::scan_family(Family& family, std::size_t j, bool keep_histograms) {
    const CodedColumn& column = codes_.columns[j];
    const Layout& layout = reader_.layout();
    Sprout &smaller = *family.smaller, &larger = *family.larger;
    const std::size_t size = (std::size_t{column.n_codes} + 1) * layout.width;
    // What subtracting costs (counting the third part, passing over the cells) against counting the larger
    // part.
    const bool subtracting = family.related && !family.histograms.empty() && !family.histograms[j].empty() &&
                             !larger.leaf && family.third.size() + size < larger.data.size();
    Histogram of_smaller, of_larger;
    if (subtracting) {
        of_smaller.assign(size, 0);
        count_rows(column, smaller.data, layout, of_smaller);
        of_larger = std::move(family.histograms[j]);
        subtract(of_larger, of_smaller);
        if (family.third.size() > 0) {
            Histogram of_third(size, 0);
            count_rows(column, family.third, layout, of_third);
            subtract(of_larger, of_third);
        }
    }
    auto scan_one = [&](Sprout& sprout, Histogram& histogram) {
        if (sprout.leaf) return;
        const bool keep = keep_histograms && 2 * size <= sprout.data.size();
        scan_column(sprout, j, keep || !histogram.empty() ? &histogram : nullptr);
        if (keep) sprout.histograms[j] = std::move(histogram);
    };
    scan_one(smaller, of_smaller);
    scan_one(larger, of_larger);
}

void Grower::scan(std::vector<Sprout>& sprouts, std::vector<Family>& families, bool keep_histograms,
                  int n_threads) {
    const std::size_t n_columns = codes_.columns.size();
    parallel_for(sprouts.size(), n_threads, [&](std::size_t s) {
        Sprout& sprout = sprouts[s];
        if (settings_.missing == Strategy::Fractional) sprout.data.membership = sprout.shared.membership;
        sprout.data.rows = sprout.base.rows;
        reader_.read(sprout.data, sprout.parent_frame);
        sprout.base.frame = sprout.data.frame;
        sprout.summary = reader_.summarise(sprout.data);
        sprout.leaf = is_leaf(sprout);
        sprout.best.resize(sprout.leaf ? 0 : n_columns);
        sprout.histograms.resize(keep_histograms && !sprout.leaf ? n_columns : 0);
    });
    for (Family& family : families) {
        family.related = family.smaller->data.frame == *family.smaller->parent_frame &&
                         family.larger->data.frame == *family.larger->parent_frame;
        if (!family.related || family.histograms.empty() || family.third.rows.empty()) continue;
        family.third.frame = family.larger->data.frame;
        reader_.read_in_frame(family.third);
    }
    auto usable = [&](const Sprout& sprout, std::size_t j) {
        const auto& unusable = sprout.base.unusable;
        return std::find(unusable.begin(), unusable.end(), static_cast<std::int32_t>(j)) == unusable.end();
    };
    if (families.empty()) {
        parallel_for(sprouts.size() * n_columns, n_threads, [&](std::size_t task) {
            Sprout& sprout = sprouts[task / n_columns];
            const std::size_t j = task % n_columns;
            if (sprout.leaf || !usable(sprout, j)) return;
            scan_column(sprout, j, keep_histograms ? &sprout.histograms[j] : nullptr);
        });
    } else {
        parallel_for(families.size() * n_columns, n_threads, [&](std::size_t task) {
            Family& family = families[task / n_columns];
            if (usable(*family.smaller, task % n_columns))
                scan_family(family, task % n_columns, keep_histograms);
        });
    }
    parallel_for(sprouts.size(), n_threads, [&](std::size_t s) { finish(sprouts[s]); });
}

/// Turn the scanned columns into a ladder and part the rows by its first rung.
void Grower::finish(Sprout& sprout) {
    auto& ladder = sprout.base.ladder;
    for (auto& rung : sprout.best)
        if (rung) ladder.push_back(std::move(*rung));
    sprout.best.clear();
    sort_ladder(ladder, settings_, sprout.summary.scan_loss);
    if (!settings_.has_third() && ladder.size() > 1) ladder.resize(1);
    ladder.shrink_to_fit();
    if (!ladder.empty()) {
        if (settings_.missing == Strategy::Surrogate)
            sprout.surrogates = find_surrogates(settings_, codes_, sprout.data, ladder[0]);
        if (settings_.missing != Strategy::Fractional)
            sprout.base.parts = part_rows(sprout.base.rows, codes_, ladder[0], sprout.surrogates);
    }
    sprout.data = NodeRows{};
}

/// Write the sprouts into the tree, in their order.
void Grower::settle(std::vector<Sprout>& sprouts) {
    for (Sprout& sprout : sprouts) {
        const std::int32_t node = tree.add_leaf(sprout.summary, sprout.depth);
        tree.add_surrogates(sprout.surrogates);
        if (!sprout.base.ladder.empty()) tree.set_split(node, sprout.base.ladder[0]);
        if (sprout.wanted.node != kNone) tree.set_child(sprout.wanted.node, sprout.wanted.side, node);
        places.push_back({static_cast<std::int32_t>(bases.size()), 0});
        bases.push_back(std::move(sprout.base));
    }
}

void Grower::grow_first_rungs(int n_threads, const std::function<void()>& between_levels) {
    std::vector<Sprout> level;
    level.push_back(make_root());
    std::vector<Family> families;
    while (!level.empty()) {
        if (between_levels) between_levels();
        const bool deepest = level[0].depth + 1 >= settings_.max_depth;
        scan(level, families, !deepest && settings_.missing != Strategy::Fractional, n_threads);
        const auto first = static_cast<std::int32_t>(tree.size());
        settle(level);
        std::vector<Sprout> next = make_daughters(level, first);
        families = make_families(level, first, next);
        level = std::move(next);
    }
}

/// Return the daughters, left and right, of those of a level that split; `first` is the number of its first
/// node.
std::vector<Grower::Sprout> Grower::make_daughters(const std::vector<Sprout>& level, std::int32_t first) {
    std::vector<Sprout> daughters;
    for (std::size_t s = 0; s < level.size(); ++s) {
        const std::int32_t node = first + static_cast<std::int32_t>(s);
        if (tree.is_leaf(node)) continue;
        for (const Branch side : {Branch::Left, Branch::Right}) {
            Sprout daughter = make_daughter(node, side);
            if (settings_.missing == Strategy::Fractional) {
                const Rung& rung = bases[places[node].base].ladder[0];
                daughter.shared = rows_shared(level[s].shared, codes_, rung, side);
                daughter.base.rows = daughter.shared.rows;
            }
            daughters.push_back(std::move(daughter));
        }
    }
    return daughters;
}

/// Return the daughters in pairs, with their parents' histograms.
std::vector<Grower::Family> Grower::make_families(std::vector<Sprout>& level, std::int32_t first,
                                                  std::vector<Sprout>& daughters) {
    std::vector<Family> families;
    if (settings_.missing == Strategy::Fractional) return families;  // its daughters share rows
    for (std::size_t d = 0; d < daughters.size(); d += 2) {
        Sprout *left = &daughters[d], *right = &daughters[d + 1];
        if (left->base.rows.size() > right->base.rows.size()) std::swap(left, right);
        const std::int32_t parent = left->wanted.node;
        Family family{left, right, std::move(level[parent - first].histograms), {}, false};
        const Base& base = bases[places[parent].base];
        family.third.rows = base.rows.subspan(base.parts.left + base.parts.right);
        families.push_back(std::move(family));
    }
    return families;
}

void Grower::grow(std::vector<Wanted> wanted, int n_threads) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::erase_if(wanted, [&](const Wanted& w) { return tree.child(w.node, w.side) != kUngrown; });
    // While they are scanned, nodes hold numbers for each of their rows: not all at once.
    const std::size_t enough = std::max<std::size_t>(4 * codes_.n_rows, 1 << 20);
    std::vector<Sprout> sprouts;
    std::size_t rows = 0;
    for (const auto& [node, side] : wanted) {
        if (side == Branch::Third) {
            open_third(node);
            continue;
        }
        sprouts.push_back(make_daughter(node, side));
        rows += bases[places[node].base].rows.size();
        if (rows < enough) continue;
        grow_daughters(sprouts, n_threads);
        sprouts.clear();
        rows = 0;
    }
    grow_daughters(sprouts, n_threads);
}

void Grower::grow_daughters(std::vector<Sprout>& sprouts, int n_threads) {
    std::vector<std::vector<std::uint32_t>> lists(sprouts.size());
    parallel_for(sprouts.size(), n_threads, [&](std::size_t s) {
        const auto& [node, side] = sprouts[s].wanted;
        const auto& [base, rung] = places[node];
        if (rung > 0) lists[s] = rows_on_side(bases[base].rows, codes_, bases[base].ladder[rung], side);
    });
    for (std::size_t s = 0; s < sprouts.size(); ++s)
        if (places[sprouts[s].wanted.node].rung > 0) sprouts[s].base.rows = own(std::move(lists[s]));
    std::vector<Family> none;
    scan(sprouts, none, false, n_threads);
    settle(sprouts);
}

void Grower::restore_rows() {
    std::vector<std::uint32_t> rows(codes_.n_rows);
    std::iota(rows.begin(), rows.end(), 0u);
    bases[0].rows = own(std::move(rows));
    // Parents come before their children, and a base's own node before its third branches.
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(tree.size()); ++node) {
        const auto& [number, rung] = places[node];
        Base& base = bases[number];
        if (rung == 0 && !base.ladder.empty()) base.parts = part_rows(base.rows, codes_, base.ladder[0], {});
        for (const Branch side : {Branch::Left, Branch::Right}) {
            const std::int32_t child = tree.child(node, side);
            if (child < 0) continue;
            Base& below = bases[places[child].base];
            below.rows = rung > 0 ? own(rows_on_side(base.rows, codes_, base.ladder[rung], side))
                         : side == Branch::Left ? base.rows.first(base.parts.left)
                                                : base.rows.subspan(base.parts.left, base.parts.right);
        }
    }
}

}  // namespace tritree
