#include "scan.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "parallel.hpp"
#include "random.hpp"

namespace tritree {
namespace {

constexpr std::size_t kTogether = 4;  // columns counted in one pass
// Integers that a thread keeps memory for: two per code of an exact column fit, a column of many classes does
// not.
constexpr std::size_t kReusable = std::size_t{1} << 18;

bool is_scanned(const Sprout* sprout) { return sprout != nullptr && !sprout->leaf; }

bool is_scanned(const Sprout* sprout, std::int32_t column) {
    return is_scanned(sprout) && (!sprout->base.partial ||
                                  std::binary_search(sprout->columns.begin(), sprout->columns.end(), column));
}

void make_ready(Histogram& histogram) {
    if (histogram.capacity() > kReusable)
        histogram = Histogram();
    else
        histogram.clear();
}

}  // namespace

NodeRows SpareMemory::take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return {};
    NodeRows memory = std::move(spare_.back());
    spare_.pop_back();
    return memory;
}

void SpareMemory::give(NodeRows memory) {
    memory.rows = {};
    memory.membership = {};
    const bool is_small = std::max(memory.sum.capacity(), memory.label.capacity()) <= kMostRows;
    const std::lock_guard lock(mutex_);
    if (is_small && spare_.size() < kMost) spare_.push_back(std::move(memory));
}

void SpareMemory::clear() {
    const std::lock_guard lock(mutex_);
    spare_.clear();
}

/// One column of a family, while it is scanned.
struct Scanner::ColumnScan {
    std::int32_t number = 0;
    const CodedColumn* column = nullptr;
    bool derived = false;  // the larger daughter from the parent
    Histogram of_smaller, of_larger, of_others;
};

bool Scanner::is_leaf(const Summary& summary, std::int32_t depth) const {
    return depth >= settings_.max_depth || summary.pure ||
           summary.members <= static_cast<double>(settings_.min_samples_leaf) + kMembershipSlack;
}

std::vector<std::int32_t> Scanner::usable_columns(const std::vector<std::int32_t>& unusable) const {
    std::vector<std::int32_t> columns;
    columns.reserve(codes_.columns.size());
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(codes_.columns.size()); ++j)
        if (std::find(unusable.begin(), unusable.end(), j) == unusable.end()) columns.push_back(j);
    return columns;
}

std::size_t Scanner::most_kept(std::size_t n_rows) const {
    std::size_t n_integers = 0;
    for (const CodedColumn& column : codes_.columns)
        if (const std::size_t size = histogram_size(column, reader_.layout()); is_kept(size, n_rows))
            n_integers += size;
    return n_integers;
}

void Scanner::scan(std::vector<Sprout>& sprouts, std::vector<Family>& families, int n_threads) const {
    const std::size_t n_columns = codes_.columns.size();
    std::size_t n_rows = 0;
    for (const Sprout& sprout : sprouts) n_rows += sprout.base.rows.size();
    n_threads = threads_for(n_rows * n_columns, n_threads);
    // Many families: one after the other on each thread, while their rows are in its cache. Few have to give
    // work to all threads.
    if (n_threads == 1 || families.size() >= 4 * static_cast<std::size_t>(n_threads))
        return parallel_for(families.size(), n_threads, [&](std::size_t f) { scan_family(families[f]); });
    parallel_for(sprouts.size(), n_threads, [&](std::size_t s) { read(sprouts[s], false); });
    parallel_for(families.size(), n_threads, [&](std::size_t f) { relate(families[f]); });

    struct Task {
        Family* family;
        std::span<const std::int32_t> columns;
    };
    std::vector<Task> tasks;
    const bool many = families.size() * n_columns >= 16 * static_cast<std::size_t>(n_threads);
    const std::size_t together = many ? kTogether : 2;
    for (Family& family : families) {
        const std::span<const std::int32_t> columns = family.columns;
        for (std::size_t begin = 0; begin < columns.size(); begin += together)
            tasks.push_back({&family, columns.subspan(begin, std::min(together, columns.size() - begin))});
    }
    parallel_for(tasks.size(), n_threads,
                 [&](std::size_t t) { scan_columns(*tasks[t].family, tasks[t].columns); });
    parallel_for(sprouts.size(), n_threads, [&](std::size_t s) { finish(sprouts[s]); });
}

void Scanner::scan_family(Family& family) const {
    for (Sprout* sprout : family.daughters())
        if (sprout != nullptr) read(*sprout, true);
    relate(family);
    const std::span<const std::int32_t> columns = family.columns;
    for (std::size_t begin = 0; begin < columns.size(); begin += kTogether)
        scan_columns(family, columns.subspan(begin, std::min(kTogether, columns.size() - begin)));
    for (Sprout* sprout : family.daughters())
        if (sprout != nullptr) finish(*sprout);
}

/// Read the responses of a sprout's rows. Its columns are then scanned one after the other, or by many
/// threads.
void Scanner::read(Sprout& sprout, bool column_by_column) const {
    sprout.data = spare_.take();
    if (settings_.missing == Strategy::Fractional) sprout.data.membership = sprout.shared.membership;
    sprout.data.rows = sprout.base.rows;
    sprout.summary = reader_.read(sprout.data, sprout.parent_frame);
    sprout.base.frame = sprout.data.frame;
    sprout.leaf = is_leaf(sprout.summary, sprout.depth);
    if (!sprout.leaf) {
        sprout.columns = usable_columns(sprout.base.unusable);
        sprout.base.partial = settings_.keeps_first_rungs_only();
        if (settings_.max_features < 1)
            sprout.columns = draw_columns(sprout.columns, settings_.max_features, mixed(sprout.base.path, 0));
    }
    sprout.best.resize(sprout.leaf || (column_by_column && sprout.base.partial) ? 0 : codes_.columns.size());
    sprout.histograms.resize(sprout.keeps_histograms && !sprout.leaf ? codes_.columns.size() : 0);
}

/// See which columns of a family are to be scanned, and whether the larger daughter can be derived.
void Scanner::relate(Family& family) const {
    family.related = family.parent != nullptr;
    for (const Sprout* sprout : family.daughters()) {
        if (sprout == nullptr) continue;
        family.related = family.related && sprout->data.frame == *sprout->parent_frame;
        if (sprout->leaf || sprout->columns == family.columns) continue;
        if (family.columns.empty()) {
            family.columns = sprout->columns;
            continue;
        }
        std::vector<std::int32_t> both;
        both.reserve(family.columns.size() + sprout->columns.size());
        std::set_union(family.columns.begin(), family.columns.end(), sprout->columns.begin(),
                       sprout->columns.end(), std::back_inserter(both));
        family.columns = std::move(both);
    }
    family.related = family.related && is_scanned(family.larger);
    if (!family.related) family.others.rows = {};
    if (family.others.rows.empty()) return;
    family.others.frame = family.larger->data.frame;
    reader_.read_in_frame(family.others);
}

/// Find the best splits of a family on a few columns.
void Scanner::scan_columns(Family& family, std::span<const std::int32_t> columns) const {
    thread_local std::array<ColumnScan, kTogether> scratch;
    const std::span<ColumnScan> scans = std::span(scratch).first(columns.size());
    for (std::size_t k = 0; k < columns.size(); ++k) {
        scans[k].number = columns[k];
        scans[k].column = &codes_.columns[columns[k]];
        for (Histogram* histogram : {&scans[k].of_smaller, &scans[k].of_larger, &scans[k].of_others})
            make_ready(*histogram);
    }
    count_columns(family, scans);
    for (ColumnScan& scan : scans) {
        if (scan.derived) {
            scan.of_larger = (*family.parent)[scan.number];
            if (!scan.of_smaller.empty()) subtract(scan.of_larger, scan.of_smaller);
            if (!scan.of_others.empty()) subtract(scan.of_larger, scan.of_others);
        }
        if (is_scanned(family.smaller, scan.number)) find_best(*family.smaller, scan, scan.of_smaller);
        if (is_scanned(family.larger, scan.number)) find_best(*family.larger, scan, scan.of_larger);
    }
}

/// Count the rows of which histograms are needed.
void Scanner::count_columns(Family& family, std::span<ColumnScan> scans) const {
    const Layout& layout = reader_.layout();
    const Sprout *smaller = family.smaller, *larger = family.larger;
    const std::size_t extra =
        family.others.size() + (smaller == nullptr || is_scanned(smaller) ? 0 : smaller->data.size());
    std::array<Counting, kTogether> of_smaller, of_larger, of_others;
    std::size_t n_smaller = 0, n_larger = 0, n_others = 0;
    for (ColumnScan& scan : scans) {
        auto pays = [&](const Sprout* sprout) {
            return is_scanned(sprout, scan.number) &&
                   histogram_pays(sprout->data.size(), scan.column->n_codes, layout);
        };
        // What subtracting costs (counting more, passing over the cells) against counting the larger part.
        scan.derived = family.related && is_scanned(larger, scan.number) &&
                       !(*family.parent)[scan.number].empty() &&
                       extra + histogram_size(*scan.column, layout) / 4 < larger->data.size();
        if (pays(smaller) || (scan.derived && smaller != nullptr))
            of_smaller[n_smaller++] = {scan.column, &scan.of_smaller};
        if (!scan.derived && pays(larger)) of_larger[n_larger++] = {scan.column, &scan.of_larger};
        if (scan.derived && family.others.size() > 0) of_others[n_others++] = {scan.column, &scan.of_others};
    }
    if (n_smaller > 0) count_rows({of_smaller.data(), n_smaller}, smaller->data, layout);
    if (n_larger > 0) count_rows({of_larger.data(), n_larger}, larger->data, layout);
    if (n_others > 0) count_rows({of_others.data(), n_others}, family.others, layout);
}

/// Find a sprout's best split on one column: by its histogram, or by its rows if that is empty.
void Scanner::find_best(Sprout& sprout, const ColumnScan& scan, const Histogram& histogram) const {
    thread_local Cells cells;
    const Layout& layout = reader_.layout();
    if (histogram.empty())
        cells.from_rows(*scan.column, sprout.data, layout);
    else
        cells.from_histogram(histogram, scan.column->n_codes, layout);
    auto rung = best_split(settings_, *scan.column, scan.number, cells, sprout.data, layout, sprout.summary);
    if (!sprout.best.empty())
        sprout.best[scan.number] = std::move(rung);
    else if (rung)
        keep_if_first(sprout.base.ladder, std::move(*rung), sprout.summary.scan_loss);
    cells.trim(kReusable);
    if (sprout.keeps_histograms && is_kept(histogram.size(), sprout.data.size()))
        sprout.histograms[scan.number] = histogram;
}

/// Keep a rung that may be the first of its ladder, and drop those that cannot be any more: what is left are
/// ties.
void Scanner::keep_if_first(std::vector<Rung>& ladder, Rung rung, double node_loss) {
    const double negligible = kNegligible * node_loss;
    double most = 0;
    for (const Rung& other : ladder) most = std::max(most, other.gain);
    if (!ladder.empty() && rung.gain < most - negligible) return;
    if (rung.gain > most + negligible) ladder.clear();
    ladder.push_back(std::move(rung));
}

/// Turn the scanned columns into a ladder; of a base of the first rungs, part the rows by the first.
void Scanner::finish(Sprout& sprout) const {
    auto& ladder = sprout.base.ladder;
    if (settings_.has_third() && !sprout.base.partial) ladder.reserve(sprout.best.size());
    for (auto& rung : sprout.best)
        if (rung) ladder.push_back(std::move(*rung));
    sprout.best.clear();
    sort_ladder(ladder, settings_, sprout.summary.scan_loss);
    if ((!settings_.has_third() || sprout.base.partial) && ladder.size() > 1) ladder.resize(1);
    ladder.shrink_to_fit();
    if (ladder.empty() && !sprout.leaf && settings_.max_features < 1)
        draw_on(ladder, sprout.data, sprout.summary, sprout.base.path, sprout.base.unusable);
    if (!ladder.empty() && settings_.missing == Strategy::Surrogate)
        sprout.surrogates = find_surrogates(settings_, codes_, sprout.data, ladder[0]);
    spare_.give(std::move(sprout.data));  // before more is needed
    const bool first_rungs = sprout.base.kept.empty();
    if (!ladder.empty() && first_rungs && settings_.missing != Strategy::Fractional)
        sprout.base.parts = part_rows(sprout.base.rows, codes_, ladder[0], sprout.surrogates);
}

/// Where no column that was drawn splits a node, draw on until one does.
void Scanner::draw_on(std::vector<Rung>& ladder, const NodeRows& data, const Summary& summary,
                      std::uint64_t path, const std::vector<std::int32_t>& unusable) const {
    std::vector<std::int32_t> columns = usable_columns(unusable);
    shuffle_first(columns, columns.size(), mixed(path, 0));
    for (std::size_t i = share_of(columns.size(), settings_.max_features);
         i < columns.size() && ladder.empty(); ++i)
        if (auto rung = best_on(columns[i], data, summary)) ladder.push_back(std::move(*rung));
}

std::vector<Rung> Scanner::first_rung(const NodeRows& data, const Summary& summary, std::int32_t depth,
                                      std::uint64_t path) const {
    std::vector<Rung> ladder;
    if (is_leaf(summary, depth)) return ladder;
    thread_local std::vector<std::int32_t> columns;
    columns.resize(codes_.columns.size());
    std::iota(columns.begin(), columns.end(), 0);
    for (const std::int32_t number : drawn(columns, settings_.max_features, mixed(path, 0))) {
        if (auto rung = best_on(number, data, summary))
            keep_if_first(ladder, std::move(*rung), summary.scan_loss);
        // two rows can be parted in one way only: all others are ties, and come later
        if (!ladder.empty() && data.size() == 2) break;
    }
    sort_ladder(ladder, settings_, summary.scan_loss);
    if (ladder.size() > 1) ladder.resize(1);
    if (ladder.empty() && settings_.max_features < 1) draw_on(ladder, data, summary, path, {});
    ladder.shrink_to_fit();
    return ladder;
}

/// Return the best split of a node on one column, which is counted for it alone.
std::optional<Rung> Scanner::best_on(std::int32_t number, const NodeRows& data,
                                     const Summary& summary) const {
    thread_local Cells cells;
    thread_local Histogram histogram;
    const Layout& layout = reader_.layout();
    const CodedColumn& column = codes_.columns[number];
    if (histogram_pays(data.size(), column.n_codes, layout)) {
        make_ready(histogram);
        const Counting counting{&column, &histogram};
        count_rows({&counting, 1}, data, layout);
        cells.from_histogram(histogram, column.n_codes, layout);
    } else {
        cells.from_rows(column, data, layout);
    }
    auto rung = best_split(settings_, column, number, cells, data, layout, summary);
    cells.trim(kReusable);
    return rung;
}

std::vector<Rung> Scanner::scan_rest(const Base& base, const Frame* parent_frame) const {
    NodeRows data = spare_.take();
    data.rows = base.rows;
    const Summary summary = reader_.read(data, parent_frame);
    std::vector<Rung> rungs;
    for (const std::int32_t number : usable_columns(base.unusable)) {
        if (number == base.ladder[0].column) continue;
        if (auto rung = best_on(number, data, summary)) rungs.push_back(std::move(*rung));
    }
    spare_.give(std::move(data));
    sort_ladder(rungs, settings_, summary.scan_loss);
    return rungs;
}

std::vector<Histograms> Scanner::count(std::span<const Base* const> bases, int n_threads) const {
    const Layout& layout = reader_.layout();
    std::vector<Histograms> counted(bases.size());
    std::vector<NodeRows> data(bases.size());
    parallel_for(bases.size(), n_threads, [&](std::size_t b) {
        data[b].rows = bases[b]->rows;
        data[b].frame = bases[b]->frame;
        reader_.read_in_frame(data[b]);
        counted[b].resize(codes_.columns.size());
    });
    struct Task {
        std::size_t base;
        std::vector<Counting> countings;
    };
    std::vector<Task> tasks;
    for (std::size_t b = 0; b < bases.size(); ++b) {
        bool open = false;  // whether the newest task has room
        for (const std::int32_t j : usable_columns(bases[b]->unusable)) {
            const CodedColumn& column = codes_.columns[j];
            if (!is_kept(histogram_size(column, layout), data[b].size())) continue;
            if (!open) tasks.push_back({b, {}});
            tasks.back().countings.push_back({&column, &counted[b][j]});
            open = tasks.back().countings.size() < kTogether;
        }
    }
    parallel_for(tasks.size(), n_threads,
                 [&](std::size_t t) { count_rows(tasks[t].countings, data[tasks[t].base], layout); });
    return counted;
}

}  // namespace tritree
