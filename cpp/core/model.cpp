#include "model.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <optional>

#include "importance.hpp"
#include "parallel.hpp"

namespace tritree {
namespace {

constexpr std::size_t kBlock = 1024;  // rows that one task leads down: they stay in the second cache

std::int64_t count_ungrown(const Tree& tree) {
    std::int64_t n = 0;
    for (const auto* children : {&tree.left, &tree.right, &tree.third})
        n += std::count(children->begin(), children->end(), kUngrown);
    return n;
}

}  // namespace

Model::Model(std::shared_ptr<const Codes> codes, Target target, const Settings& settings, int n_threads,
             const std::function<void()>& between_levels)
    : settings_(settings), n_columns_(static_cast<std::int32_t>(codes->columns.size())) {
    grower_ = std::make_unique<Grower>(std::move(codes), std::move(target), settings);
    grower_->grow_first_rungs(n_threads, between_levels);
    n_fitted_ = static_cast<std::int32_t>(grower_->tree.size());
    if (!settings.has_third()) detach();
}

Model::Model(Tree tree, std::unique_ptr<Grower> grower, Spread spread, const Settings& settings,
             std::int32_t n_columns, std::int32_t n_fitted)
    : grower_(std::move(grower)),
      tree_(std::move(tree)),
      spread_(std::move(spread)),
      settings_(settings),
      n_columns_(n_columns),
      n_fitted_(n_fitted) {}

void Model::predict(const RowsToPredict& table, int n_threads, double* values, std::int32_t* leaves,
                    const std::function<void()>& between_rounds) {
    if (static_cast<std::int32_t>(table.columns.size()) != n_columns_)
        throw std::invalid_argument("wrong number of columns");
    if (table.n_rows >= std::size_t{1} << 32) throw std::length_error("more than 4,294,967,295 rows at once");
    const Answers answers{values, leaves};
    if (settings_.missing == Strategy::Fractional) return predict_fractional(table, n_threads, answers);
    std::vector<Standing> pending = lead_all(table, n_threads, answers);
    while (!pending.empty()) {
        const auto wanted = lead(table, n_threads, answers, pending);
        if (wanted.empty()) break;
        if (between_rounds) between_rounds();
        grow(wanted, n_threads);
    }
}

void Model::answer(const Answers& answers, std::size_t row, std::int32_t node) const {
    if (answers.leaves != nullptr) answers.leaves[row] = node;
    if (answers.values == nullptr) return;
    const auto n = static_cast<std::size_t>(settings_.n_outputs());
    const double* value = &tree().value[static_cast<std::size_t>(node) * n];
    for (std::size_t k = 0; k < n; ++k) answers.values[row * n + k] = value[k];
}

/// Lead all rows down as far as the tree is grown, and return those that came to a branch that is not.
std::vector<Model::Standing> Model::lead_all(const RowsToPredict& table, int n_threads,
                                             const Answers& answers) const {
    const Reading lock(mutex_);
    const Tree& grown = tree();
    std::optional<Steps> steps;
    if (Steps::can_lead(grown, table)) steps.emplace(grown, table);
    std::vector<std::vector<Standing>> standing((table.n_rows + kBlock - 1) / kBlock);
    parallel_blocks(table.n_rows, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        check_finite(table, begin, end);  // and have the rows near when they are led
        std::array<std::int32_t, kBlock> at;
        at.fill(0);
        Branch side = Branch::None;
        if (steps)
            steps->lead(begin, end, at.data());
        else
            for (std::size_t row = begin; row < end; ++row) walk(grown, table, row, at[row - begin], side);
        for (std::size_t row = begin; row < end; ++row) {
            const std::int32_t node = at[row - begin];
            if (grown.is_leaf(node))
                answer(answers, row, node);
            else
                standing[begin / kBlock].push_back({static_cast<std::uint32_t>(row), node});
        }
    });
    std::vector<Standing> all;
    for (const auto& some : standing) all.insert(all.end(), some.begin(), some.end());
    return all;
}

/// Lead the pending rows on; keep those that came to a branch not yet grown, and return these branches.
std::vector<Wanted> Model::lead(const RowsToPredict& table, int n_threads, const Answers& answers,
                                std::vector<Standing>& pending) {
    const Reading lock(mutex_);
    const Tree& grown = tree();
    const bool grows = grower_ && static_cast<std::int64_t>(grown.size()) - n_fitted_ < settings_.max_grown;
    // a mark per branch that is wanted: whoever wants it too marks it again
    std::vector<std::atomic<std::uint8_t>> marks(3 * grown.size());
    parallel_blocks(pending.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            auto& [row, node] = pending[i];
            Branch side = Branch::None;
            if (!walk(grown, table, row, node, side))
                marks[3 * static_cast<std::size_t>(node) + static_cast<std::size_t>(side)].store(
                    1, std::memory_order_relaxed);
            // where nothing can grow any more, the node's own value is the answer
            if (grown.is_leaf(node) || !grows) answer(answers, row, node);
        }
    });
    std::erase_if(pending, [&](const Standing& standing) { return grown.is_leaf(standing.node); });
    if (!grows) {
        n_cut_short_ += static_cast<std::int64_t>(pending.size());
        return {};
    }
    std::vector<Wanted> all;
    for (std::size_t mark = 0; mark < marks.size(); ++mark)
        if (marks[mark].load(std::memory_order_relaxed) != 0)
            all.push_back({static_cast<std::int32_t>(mark / 3), static_cast<Branch>(mark % 3)});
    // Third branches are there at once. Rows that wait for one are led on before anything else is grown, so
    // that all that they want of a ladder is grown together.
    const bool thirds = std::any_of(all.begin(), all.end(), [](Wanted w) { return w.side == Branch::Third; });
    if (thirds) std::erase_if(all, [](Wanted w) { return w.side != Branch::Third; });
    const std::int64_t room = settings_.max_grown - (static_cast<std::int64_t>(grown.size()) - n_fitted_);
    if (static_cast<std::int64_t>(all.size()) > room) all.resize(static_cast<std::size_t>(room));
    return all;
}

void Model::grow(const std::vector<Wanted>& wanted, int n_threads) {
    const Writing lock(mutex_);
    if (grower_) grower_->grow(wanted, n_threads);
}

void Model::predict_fractional(const RowsToPredict& table, int n_threads, const Answers& answers) const {
    const Reading lock(mutex_);
    const Tree& grown = tree();
    const auto n_outputs = static_cast<std::size_t>(grown.n_outputs);
    parallel_blocks(table.n_rows, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        check_finite(table, begin, end);
        std::vector<double> value(n_outputs);
        for (std::size_t row = begin; row < end; ++row) {
            std::fill(value.begin(), value.end(), 0.0);
            const std::int32_t leaf = walk_fractional(grown, table, row, value.data());
            if (answers.leaves != nullptr) answers.leaves[row] = leaf;
            if (answers.values != nullptr)
                std::copy(value.begin(), value.end(), &answers.values[row * n_outputs]);
        }
    });
}

std::int64_t Model::grow_some(std::int64_t max_new_nodes, int n_threads) {
    const Writing lock(mutex_);
    if (!grower_) return 0;
    grower_->grow_all(max_new_nodes, n_threads);
    return count_ungrown(grower_->tree);
}

void Model::grow_branches(std::vector<Wanted> wanted, int n_threads) {
    const Writing lock(mutex_);
    if (!grower_) return;
    const auto n_nodes = static_cast<std::int32_t>(grower_->tree.size());
    for (const auto& [node, side] : wanted)
        if (node < 0 || node >= n_nodes || side < Branch::Left || side > Branch::Third)
            throw std::out_of_range("no such branch");
    grower_->grow(std::move(wanted), n_threads);
}

Spread Model::spread_of(std::span<const std::int32_t> nodes) {
    const Writing lock(mutex_);  // rows that were dropped are found again and kept
    const auto n_nodes = static_cast<std::int32_t>(tree().size());
    for (const std::int32_t node : nodes)
        if (node < 0 || node >= n_nodes) throw std::out_of_range("no such node");
    if (settings_.n_classes > 0) return {};
    if (grower_) {
        std::vector<double> edges = edges_of(grower_->target());
        std::vector<float> shares = shares_of(*grower_, edges, nodes);
        return {std::move(edges), std::move(shares)};
    }
    constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
    Spread found{spread_.edges, std::vector<float>(nodes.size() * Spread::kBins, kUnknown)};
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const std::size_t begin = static_cast<std::size_t>(nodes[n]) * Spread::kBins;
        if (begin < spread_.shares.size())
            std::copy_n(&spread_.shares[begin], Spread::kBins, &found.shares[n * Spread::kBins]);
    }
    return found;
}

Spread Model::lasting_spread() {
    const Writing lock(mutex_);
    return grower_ ? spread_of_first(*grower_, n_fitted_) : spread_;
}

std::vector<double> Model::importances(int n_threads) {
    const Writing lock(mutex_);
    if (!settings_.has_third())
        return tritree::importances(tree(), settings_, static_cast<std::size_t>(n_columns_));
    if (!grower_) throw std::logic_error("the training rows are gone");
    return importances_grown(*grower_, n_threads);
}

void Model::detach() {
    const Writing lock(mutex_);
    if (!grower_) return;
    spread_ = spread_of_first(*grower_, n_fitted_);
    tree_ = std::move(grower_->tree);
    grower_.reset();
}

Tree Model::snapshot() const {
    const Reading lock(mutex_);
    return tree();
}

std::int64_t Model::n_nodes() const {
    const Reading lock(mutex_);
    return static_cast<std::int64_t>(tree().size());
}

std::int64_t Model::n_grown() const { return n_nodes() - n_fitted_; }

std::int64_t Model::n_ungrown() const {
    const Reading lock(mutex_);
    return count_ungrown(tree());
}

bool Model::is_detached() const {
    const Reading lock(mutex_);
    return grower_ == nullptr;
}

}  // namespace tritree
