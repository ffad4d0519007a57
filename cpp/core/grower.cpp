#include "grower.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "parallel.hpp"

namespace tritree {
namespace {

// While it grows, a tree holds numbers for each row of the nodes at hand, and histograms and rows of nodes
// that are likely to be wanted next. What does not fit in here is counted or looked for again.
constexpr std::size_t kBatchRows = std::size_t{1} << 20;     // at least, in one batch of nodes
constexpr std::size_t kWarmIntegers = std::size_t{1} << 24;  // 128 MB of histograms
constexpr std::size_t kKeptRows = std::size_t{1} << 24;      // 64 MB of row numbers

}  // namespace

Grower::Grower(std::shared_ptr<const Codes> codes, Target target, const Settings& settings)
    : shared_codes_(std::move(codes)),
      codes_(*shared_codes_),
      target_(std::move(target)),
      settings_(settings),
      scanner_(codes_, target_, settings_, false),
      complete_scanner_(codes_, target_, settings_, true) {
    tree.n_outputs = settings.n_outputs();
}

Sprout Grower::make_root() {
    Sprout root;
    all_rows_ = target_.counted_rows();
    root.base.path = settings_.seed;
    if (settings_.missing == Strategy::Fractional)
        root.shared = {all_rows_, std::vector<double>(all_rows_.size(), 1.0)};
    root.base.rows = all_rows_;
    return root;
}

/// Return the daughter on one side, without its rows.
Sprout Grower::make_daughter(std::int32_t node, Branch side) const {
    const auto& [number, rung] = places[node];
    const Base& from = bases[number];
    Sprout daughter;
    daughter.depth = tree.depth[node] + 1;
    daughter.parent_frame = &from.frame;
    daughter.base.branch = {node, side};
    daughter.base.unusable = from.unusable;
    daughter.base.path = path_below(from.path, rung, side);
    for (std::int32_t k = 0; k < rung; ++k) daughter.base.unusable.push_back(from.ladder[k].column);
    return daughter;
}

/// Find the rungs beyond the first of bases that only know that one, before third branches are opened there.
void Grower::complete_ladders(std::span<const Wanted> wanted, int n_threads) {
    std::vector<std::int32_t> numbers;
    for (const auto& [node, side] : wanted)
        if (side == Branch::Third && bases[places[node].base].partial) numbers.push_back(places[node].base);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    for (const std::int32_t number : numbers) rows_of(number);
    std::vector<std::vector<Rung>> rest(numbers.size());
    parallel_for(numbers.size(), n_threads, [&](std::size_t i) {
        const Base& base = bases[numbers[i]];
        rest[i] = scanner().scan_rest(base, frame_above(base));
    });
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        Base& base = bases[numbers[i]];
        make_room(base.ladder, rest[i].size());
        for (Rung& rung : rest[i]) base.ladder.push_back(std::move(rung));
        base.partial = false;
    }
}

void Grower::open_third(std::int32_t node) {
    const Place place = places[node];
    const auto& ladder = bases[place.base].ladder;
    const bool splits = static_cast<std::size_t>(place.rung) + 1 < ladder.size();
    tree.make_room(1, splits ? ladder[place.rung + 1].sets.words().size() : 0);
    make_room(places, 1);
    const std::int32_t opened = tree.add_third(node);
    tree.set_child(node, Branch::Third, opened);
    places.push_back({place.base, place.rung + 1});
    if (splits) tree.set_split(opened, ladder[place.rung + 1]);
}

/// Write the sprouts into the tree, in their order.
void Grower::settle(std::vector<Sprout>& sprouts) {
    std::size_t words = 0, surrogates = 0;
    for (const Sprout& sprout : sprouts) {
        if (!sprout.base.ladder.empty()) words += sprout.base.ladder[0].sets.words().size();
        for (const Surrogate& surrogate : sprout.surrogates) words += surrogate.sets.words().size();
        surrogates += sprout.surrogates.size();
    }
    tree.make_room(sprouts.size(), words, surrogates);
    make_room(places, sprouts.size());
    make_room(bases, sprouts.size());
    make_room(unfinished_, sprouts.size());
    make_room(keepers_, sprouts.size());
    for (Sprout& sprout : sprouts) {
        const std::int32_t node = tree.add_leaf(sprout.summary, sprout.depth);
        const auto base = static_cast<std::int32_t>(bases.size());
        tree.add_surrogates(sprout.surrogates);
        const Wanted branch = sprout.base.branch;
        if (branch.node != kNone) tree.set_child(branch.node, branch.side, node);
        sprout.base.node = node;
        places.push_back({base, 0});
        auto kept = std::move(sprout.base.kept);
        if (!kept.empty()) sprout.base.rows = {};
        bases.push_back(std::move(sprout.base));
        if (bases[base].ladder.empty()) continue;
        tree.set_split(node, bases[base].ladder[0]);
        unfinished_.push_back(base);
        // Where daughters will be leaves, cells will most likely be enough for them, too.
        const bool told = sprout.summary.by_cell && !bases[base].ladder[0].sides.empty();
        const bool needed = splits_below(sprout.depth) || !told;
        if (splits_below(sprout.depth))
            for (Rung& rung : bases[base].ladder) rung.sides = Cell();
        if (!kept.empty() && needed) keep_rows(base, std::move(kept));
    }
}

void Grower::grow_first_rungs(int n_threads, const std::function<void()>& between_levels) {
    std::vector<Sprout> level;
    level.push_back(make_root());
    std::vector<Family> families(1);
    families[0].larger = &level[0];
    std::vector<Histograms> parents;
    std::vector<Twig> firsts;
    while (!level.empty()) {
        if (between_levels) between_levels();
        planned_integers_ = 0;
        for (Sprout& sprout : level)
            sprout.keeps_histograms = settings_.missing != Strategy::Fractional &&
                                      keeps_histograms(sprout.depth, sprout.base.rows.size());
        scanner_.scan(level, families, n_threads);
        const auto first = static_cast<std::int32_t>(tree.size());
        settle(level);
        parents.clear();
        for (Sprout& sprout : level) parents.push_back(std::move(sprout.histograms));
        level = make_daughters(level, first);
        if (scanner_.grows_thickets()) take_small(level, firsts);
        families = make_families(level, parents, first);
    }
    grow_thickets(firsts, n_threads, between_levels);
    scanner_.rest();
}

/// Say whether a node with at most this many rows is to keep its histograms for its daughters: as long as
/// those of all that do are not too many.
bool Grower::keeps_histograms(std::int32_t depth, std::size_t n_rows) {
    if (!splits_below(depth) || planned_integers_ >= kWarmIntegers) return false;
    planned_integers_ += scanner().most_kept(n_rows);
    return planned_integers_ <= kWarmIntegers;
}

/// Return the daughters, left and right, of those of a level that split; `first` is the number of its first
/// node.
std::vector<Sprout> Grower::make_daughters(const std::vector<Sprout>& level, std::int32_t first) {
    std::vector<Sprout> daughters;
    daughters.reserve(2 *
                      static_cast<std::size_t>(std::count_if(
                          level.begin(), level.end(), [](const Sprout& sprout) { return !sprout.leaf; })));
    for (std::size_t s = 0; s < level.size(); ++s) {
        const std::int32_t node = first + static_cast<std::int32_t>(s);
        if (tree.is_leaf(node)) continue;
        const Base& base = bases[places[node].base];
        for (const Branch side : {Branch::Left, Branch::Right}) {
            Sprout daughter = make_daughter(node, side);
            if (settings_.missing == Strategy::Fractional) {
                daughter.shared = rows_shared(level[s].shared, codes_, base.ladder[0], side);
                daughter.base.rows = daughter.shared.rows;
            } else {
                daughter.base.rows = side == Branch::Left
                                         ? base.rows.first(base.parts.left)
                                         : base.rows.subspan(base.parts.left, base.parts.right);
            }
            daughters.push_back(std::move(daughter));
        }
    }
    return daughters;
}

/// Return the daughters of a level in pairs, with the histograms of their parents.
std::vector<Family> Grower::make_families(std::vector<Sprout>& daughters,
                                          const std::vector<Histograms>& parents, std::int32_t first) const {
    std::vector<Family> families;
    families.reserve(daughters.size() / 2);
    for (std::size_t d = 0; d < daughters.size(); d += 2) {
        Family family;
        family.node = daughters[d].base.branch.node;
        family.smaller = &daughters[d];
        family.larger = &daughters[d + 1];
        if (family.smaller->base.rows.size() > family.larger->base.rows.size())
            std::swap(family.smaller, family.larger);
        const Histograms& histograms = parents[family.node - first];
        if (!histograms.empty()) {
            const Base& base = bases[places[family.node].base];
            family.parent = &histograms;
            family.others.rows = base.rows.subspan(base.parts.left + base.parts.right);
        }
        families.push_back(std::move(family));
    }
    return families;
}

void Grower::grow_all(std::int64_t at_most, int n_threads) {
    if (!std::exchange(complete_, true)) warm_.clear();  // they have other cells
    grow_wanted(find_ungrown(at_most), n_threads);
}

void Grower::grow(std::vector<Wanted> wanted, int n_threads) {
    if (std::exchange(complete_, false)) warm_.clear();
    grow_wanted(std::move(wanted), n_threads);
}

void Grower::grow_wanted(std::vector<Wanted> wanted, int n_threads) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::erase_if(wanted, [&](const Wanted& w) { return tree.child(w.node, w.side) != kUngrown; });
    complete_ladders(wanted, n_threads);
    for (const auto& [node, side] : wanted)
        if (side == Branch::Third) open_third(node);
    std::erase_if(wanted, [](const Wanted& w) { return w.side == Branch::Third; });
    if (wanted.empty()) return;

    // Those that will split first, and all that is wanted of one base together.
    auto base_of = [&](const Wanted& w) { return places[w.node].base; };
    auto splits = [&](const Wanted& w) { return splits_below(tree.depth[w.node]); };
    std::stable_sort(wanted.begin(), wanted.end(), [&](const Wanted& a, const Wanted& b) {
        return std::tuple(!splits(a), base_of(a)) < std::tuple(!splits(b), base_of(b));
    });
    auto known = std::exchange(warm_, {});
    planned_integers_ = 0;
    const std::size_t enough = std::max(codes_.n_rows, kBatchRows);
    std::size_t begin = 0, rows = 0;
    for (std::size_t end = 0; end < wanted.size();) {
        const std::int32_t base = base_of(wanted[end]);
        const bool splitting = splits(wanted[end]);
        for (; end < wanted.size() && base_of(wanted[end]) == base; ++end)
            rows += static_cast<std::size_t>(tree.rows[wanted[end].node]);
        if (rows < enough && end < wanted.size() && splits(wanted[end]) == splitting) continue;
        const auto batch = std::span(wanted).subspan(begin, end - begin);
        drop_old_rows();
        splitting ? grow_daughters(batch, known, n_threads) : grow_leaves(batch, n_threads);
        for (const Wanted& w : batch) known.erase(base_of(w));
        begin = end;
        rows = 0;
    }
    drop_old_rows();
    scanner().rest();
}

/// Grow daughters that are as deep as may be: nothing is needed of them but what is true of their rows.
void Grower::grow_leaves(std::span<const Wanted> wanted, int n_threads) {
    std::vector<std::optional<Summary>> leaves(wanted.size());
    auto summarise_cells = [&](std::size_t begin, std::size_t end) {
        for (std::size_t w = begin; w < end; ++w) {
            const auto& [number, rung] = places[wanted[w].node];
            const Base& base = bases[number];
            const std::span<const std::int64_t> sides = base.ladder[rung].sides;
            if (sides.empty()) continue;
            const std::size_t width = sides.size() / 2, side = wanted[w].side == Branch::Left ? 0 : 1;
            leaves[w] = scanner_.reader().summarise_cell(sides.subspan(side * width, width), base.frame);
        }
    };
    parallel_blocks(wanted.size(), 256, n_threads, summarise_cells);
    summarise_rows(wanted, leaves, n_threads);
    tree.make_room(wanted.size(), 0);
    make_room(places, wanted.size());
    for (std::size_t w = 0; w < wanted.size(); ++w) {
        const auto& [node, side] = wanted[w];
        tree.set_child(node, side, tree.add_leaf(*leaves[w], tree.depth[node] + 1));
        places.push_back({kNone, 0});
        const auto& [base, rung] = places[node];
        if (tree.left[node] >= 0 && tree.right[node] >= 0) bases[base].ladder[rung].sides = Cell();
    }
}

/// Summarise the leaves whose cells did not say enough.
void Grower::summarise_rows(std::span<const Wanted> wanted, std::span<std::optional<Summary>> leaves,
                            int n_threads) {
    // A task is a few leaves of one base, whose responses are gathered once for all of them.
    constexpr std::size_t kLeaves = 16;
    std::vector<std::vector<std::size_t>> tasks;
    for (std::size_t w = 0; w < wanted.size(); ++w) {
        if (leaves[w]) continue;
        const std::int32_t base = places[wanted[w].node].base;
        const bool open = !tasks.empty() && tasks.back().size() < kLeaves &&
                          places[wanted[tasks.back()[0]].node].base == base;
        if (!open) {
            rows_of(base);
            tasks.emplace_back();
        }
        tasks.back().push_back(w);
    }
    parallel_for(tasks.size(), n_threads, [&](std::size_t t) {
        thread_local GatheredResponses of_base;
        const Base& base = bases[places[wanted[tasks[t][0]].node].base];
        scanner_.reader().gather(base.rows, of_base);
        std::int32_t parted = kNone;
        std::array<Responses, 2> sides;
        for (const std::size_t w : tasks[t]) {
            const auto& [node, side] = wanted[w];
            if (parted != node)
                sides = part_responses(base.rows, of_base.view(), codes_, base.ladder[places[node].rung]);
            parted = node;
            leaves[w] = scanner_.reader().summarise_leaf(sides[static_cast<std::size_t>(side)], base.frame);
        }
        of_base.trim();
    });
}

void Grower::grow_daughters(std::span<const Wanted> wanted, KnownHistograms& known, int n_threads) {
    std::vector<Sprout> sprouts;
    sprouts.reserve(wanted.size());  // families point into it
    std::vector<Family> families;
    for (const auto& [node, side] : wanted) {
        if (families.empty() || families.back().node != node) {
            rows_of(places[node].base);
            families.emplace_back().node = node;
        }
        Sprout& daughter = sprouts.emplace_back(make_daughter(node, side));
        daughter.keeps_histograms =
            keeps_histograms(daughter.depth, static_cast<std::size_t>(tree.rows[node]));
        (families.back().smaller == nullptr ? families.back().smaller : families.back().larger) = &daughter;
    }
    parallel_for(families.size(), n_threads, [&](std::size_t f) { take_rows(families[f]); });
    count_bases(families, known, n_threads);
    for (Family& family : families) {
        const auto found = known.find(places[family.node].base);
        if (found != known.end()) family.parent = &found->second;
    }
    scanner().scan(sprouts, families, n_threads);
    const auto first = static_cast<std::int32_t>(bases.size());
    settle(sprouts);
    for (std::size_t s = 0; s < sprouts.size(); ++s) {
        if (sprouts[s].histograms.empty()) continue;
        warm_.emplace(first + static_cast<std::int32_t>(s), std::move(sprouts[s].histograms));
    }
}

/// Return the rows of a base as one of its rungs parts them.
RowParts Grower::parts_of(const Base& base, std::int32_t rung) const {
    const bool sorted = !base.kept.empty();
    return tritree::parts_of(base.rows, sorted, codes_, base.ladder[rung]);
}

/// Part the rows of the base among a family of daughters grown on demand.
void Grower::take_rows(Family& family) const {
    const auto& [number, rung] = places[family.node];
    RowParts parts = parts_of(bases[number], rung);
    auto give = [&](Sprout* daughter) {
        if (daughter == nullptr) return;
        const Branch side = daughter->base.branch.side;
        daughter->base.kept = std::move(side == Branch::Left ? parts.left : parts.right);
        daughter->base.rows = daughter->base.kept;
    };
    const bool left_smaller = parts.left.size() <= parts.right.size();
    give(family.smaller);
    give(family.larger);
    if (family.larger == nullptr) {
        // one daughter alone: the rows of the other have to be counted if it is larger
        const bool is_smaller = (family.smaller->base.branch.side == Branch::Left) == left_smaller;
        if (is_smaller) return;
        std::swap(family.smaller, family.larger);
        family.other_rows = std::move(left_smaller ? parts.left : parts.right);
    } else if (!left_smaller) {
        std::swap(family.smaller, family.larger);
    }
    family.other_rows.insert(family.other_rows.end(), parts.third.begin(), parts.third.end());
    family.others.rows = family.other_rows;
}

/// Count the histograms of bases that are not known any more, where that saves more than it costs.
void Grower::count_bases(std::span<const Family> families, KnownHistograms& known, int n_threads) {
    std::vector<std::int32_t> numbers;
    std::vector<const Base*> counted;
    for (std::size_t begin = 0, end; begin < families.size(); begin = end) {
        const std::int32_t base = places[families[begin].node].base;
        std::size_t saved = 0;  // rows that need not be counted then
        for (end = begin; end < families.size() && places[families[end].node].base == base; ++end) {
            const Family& family = families[end];
            if (family.larger == nullptr) continue;
            const std::size_t rows = family.larger->base.rows.size();
            saved += rows - std::min(rows, family.others.rows.size());
        }
        if (known.contains(base) || 4 * saved < 5 * bases[base].rows.size()) continue;
        numbers.push_back(base);
        counted.push_back(&bases[base]);
    }
    auto histograms = scanner().count(counted, n_threads);
    for (std::size_t b = 0; b < numbers.size(); ++b) known.emplace(numbers[b], std::move(histograms[b]));
}

/// Return at most `at_most` known branches that are not grown yet, those of the newest bases first: their
/// histograms are still at hand.
std::vector<Wanted> Grower::find_ungrown(std::int64_t at_most) {
    std::vector<Wanted> wanted;
    auto room = [&] { return static_cast<std::int64_t>(wanted.size()) < at_most; };
    std::size_t at = unfinished_.size();
    while (at > 0 && room()) {
        --at;
        bool all = true;
        for (std::int32_t node = bases[unfinished_[at]].node; node >= 0; node = tree.third[node])
            for (const Branch side : {Branch::Left, Branch::Right, Branch::Third}) {
                if (tree.child(node, side) != kUngrown) continue;
                all = false;
                if (room()) wanted.push_back({node, side});
            }
        if (all) unfinished_.erase(unfinished_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return wanted;
}

std::span<const std::uint32_t> Grower::rows_of(std::int32_t number) {
    std::vector<std::int32_t> path;  // bases without rows, up to one that has them
    for (std::int32_t b = number; bases[b].rows.empty(); b = places[bases[b].branch.node].base)
        path.push_back(b);
    // Those in between are kept for others to come, unless they are so many that memory could not hold them.
    constexpr std::size_t kLongPath = 32;
    const bool is_long = path.size() > kLongPath;
    std::vector<std::uint32_t> found;
    for (; !path.empty(); path.pop_back()) {
        const auto& [node, side] = bases[path.back()].branch;
        const auto& [number_above, rung] = places[node];
        const Base& above = bases[number_above];
        RowParts parts = found.empty() ? parts_of(above, rung)
                                       : tritree::parts_of(found, true, codes_, above.ladder[rung]);
        found = std::move(side == Branch::Left ? parts.left : parts.right);
        if (found.empty()) return {};
        if (!is_long || path.size() == 1) keep_rows(path.back(), std::exchange(found, {}));
    }
    return bases[number].rows;
}

void Grower::keep_rows(std::int32_t number, std::vector<std::uint32_t> rows) {
    Base& base = bases[number];
    base.kept = std::move(rows);
    base.rows = base.kept;
    keepers_.push_back(number);
    n_kept_ += base.kept.size();
}

void Grower::drop_old_rows() {
    std::size_t n_dropped = 0;
    while (n_kept_ > kKeptRows) {
        Base& base = bases[keepers_[n_dropped++]];
        n_kept_ -= base.kept.size();
        base.kept = std::vector<std::uint32_t>();  // not {}, which would keep the memory
        base.rows = {};
    }
    keepers_.erase(keepers_.begin(), keepers_.begin() + static_cast<std::ptrdiff_t>(n_dropped));
}

void Grower::restore_rows() {
    all_rows_ = target_.counted_rows();
    bases[0].rows = all_rows_;
    bases[0].path = settings_.seed;
    // Parents come before their children.
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(tree.size()); ++node) {
        const auto& [number, rung] = places[node];
        if (number == kNone) continue;
        Base& base = bases[number];
        const bool first_rung = rung == 0 && !base.rows.empty();
        if (rung == 0) {
            base.node = node;
            if (!base.ladder.empty()) unfinished_.push_back(number);
        }
        if (first_rung && !base.ladder.empty()) base.parts = part_rows(base.rows, codes_, base.ladder[0], {});
        for (const Branch side : {Branch::Left, Branch::Right}) {
            const std::int32_t child = tree.child(node, side);
            if (child < 0 || places[child].base == kNone) continue;
            Base& below = bases[places[child].base];
            below.branch = {node, side};
            below.path = path_below(base.path, rung, side);
            if (first_rung)
                below.rows = side == Branch::Left ? base.rows.first(base.parts.left)
                                                  : base.rows.subspan(base.parts.left, base.parts.right);
        }
    }
}

}  // namespace tritree
