#include "model.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "importance.hpp"
#include "parallel.hpp"

namespace tritree {
namespace {

constexpr std::size_t kBlock = 4096;  // rows that one task leads down

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

Model::Model(Tree tree, std::unique_ptr<Grower> grower, const Settings& settings, std::int32_t n_columns,
             std::int32_t n_fitted)
    : grower_(std::move(grower)),
      tree_(std::move(tree)),
      settings_(settings),
      n_columns_(n_columns),
      n_fitted_(n_fitted) {}

void Model::predict(const RowsToPredict& table, int n_threads, double* values, std::int32_t* leaves,
                    const std::function<void()>& between_rounds) {
    if (static_cast<std::int32_t>(table.columns.size()) != n_columns_)
        throw std::invalid_argument("wrong number of columns");
    if (table.n_rows >= std::size_t{1} << 32) throw std::length_error("more than 4,294,967,295 rows at once");
    check_finite(table, n_threads);
    if (settings_.missing == Strategy::Fractional)
        return predict_fractional(table, n_threads, values, leaves);
    std::vector<std::int32_t> at(table.n_rows, 0);
    std::vector<std::uint32_t> pending(table.n_rows);
    std::iota(pending.begin(), pending.end(), 0u);
    for (;;) {
        const auto wanted = lead(table, n_threads, pending, at);
        if (wanted.empty()) break;
        if (between_rounds) between_rounds();
        grow(wanted, n_threads);
    }
    std::shared_lock lock(mutex_);
    const Tree& grown = tree();
    const auto n_outputs = static_cast<std::size_t>(grown.n_outputs);
    for (std::size_t row = 0; values != nullptr && row < table.n_rows; ++row)
        std::copy_n(&grown.value[at[row] * n_outputs], n_outputs, &values[row * n_outputs]);
    if (leaves != nullptr) std::copy(at.begin(), at.end(), leaves);
}

/// Lead the pending rows on; keep those that came to a branch not yet grown, and return these branches.
std::vector<Wanted> Model::lead(const RowsToPredict& table, int n_threads,
                                std::vector<std::uint32_t>& pending, std::vector<std::int32_t>& at) {
    std::shared_lock lock(mutex_);
    const Tree& grown = tree();
    // a mark per branch that is wanted: whoever wants it too marks it again
    std::vector<std::atomic<std::uint8_t>> marks(3 * grown.size());
    std::vector<std::uint8_t> stopped(pending.size(), 0);
    parallel_blocks(pending.size(), kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            Branch side = Branch::None;
            std::int32_t& node = at[pending[i]];
            stopped[i] = !walk(grown, table, pending[i], node, side);
            if (stopped[i])
                marks[3 * static_cast<std::size_t>(node) + static_cast<std::size_t>(side)].store(
                    1, std::memory_order_relaxed);
        }
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pending.size(); ++i)
        if (stopped[i]) pending[kept++] = pending[i];
    pending.resize(kept);
    if (!grower_) {  // nothing can grow any more: the node's own value is the answer
        n_cut_short_ += static_cast<std::int64_t>(kept);
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
    return all;
}

void Model::grow(const std::vector<Wanted>& wanted, int n_threads) {
    std::unique_lock lock(mutex_);
    if (grower_) grower_->grow(wanted, n_threads);
}

void Model::predict_fractional(const RowsToPredict& table, int n_threads, double* values,
                               std::int32_t* leaves) {
    std::shared_lock lock(mutex_);
    const Tree& grown = tree();
    const auto n_outputs = static_cast<std::size_t>(grown.n_outputs);
    parallel_blocks(table.n_rows, kBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> value(n_outputs);
        for (std::size_t row = begin; row < end; ++row) {
            std::fill(value.begin(), value.end(), 0.0);
            const std::int32_t leaf = walk_fractional(grown, table, row, value.data());
            if (leaves != nullptr) leaves[row] = leaf;
            if (values != nullptr) std::copy(value.begin(), value.end(), &values[row * n_outputs]);
        }
    });
}

std::int64_t Model::grow_some(std::int64_t max_new_nodes, int n_threads) {
    std::unique_lock lock(mutex_);
    if (!grower_) return 0;
    grower_->grow(grower_->find_ungrown(max_new_nodes), n_threads);
    return count_ungrown(grower_->tree);
}

std::vector<double> Model::importances(int n_threads) {
    std::unique_lock lock(mutex_);
    if (!settings_.has_third())
        return tritree::importances(tree(), settings_, static_cast<std::size_t>(n_columns_));
    if (!grower_) throw std::logic_error("the training rows are gone");
    return importances_grown(*grower_, n_threads);
}

void Model::detach() {
    std::unique_lock lock(mutex_);
    if (!grower_) return;
    tree_ = std::move(grower_->tree);
    grower_.reset();
}

Tree Model::snapshot() const {
    std::shared_lock lock(mutex_);
    return tree();
}

std::int64_t Model::n_nodes() const {
    std::shared_lock lock(mutex_);
    return static_cast<std::int64_t>(tree().size());
}

std::int64_t Model::n_grown() const { return n_nodes() - n_fitted_; }

std::int64_t Model::n_ungrown() const {
    std::shared_lock lock(mutex_);
    return count_ungrown(tree());
}

bool Model::is_detached() const {
    std::shared_lock lock(mutex_);
    return grower_ == nullptr;
}

}  // namespace tritree
