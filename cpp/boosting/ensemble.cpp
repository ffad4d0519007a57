#include "ensemble.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "full_tree.hpp"

namespace tritree::boosting {
namespace {

constexpr std::size_t kBlock = 512;  // rows that are led together: their codes stay in the nearest cache
constexpr std::size_t kWorthFilling = 256;  // rows for which trees are filled up

}  // namespace

std::size_t Ensemble::n_trees() const {
    const Reading lock(mutex_);
    return trees_.size();
}

std::int64_t Ensemble::n_nodes() const {
    const Reading lock(mutex_);
    return std::accumulate(trees_.begin(), trees_.end(), std::int64_t{0},
                           [](std::int64_t sum, const BoostedTree& tree) {
                               return sum + static_cast<std::int64_t>(tree.size());
                           });
}

std::int64_t Ensemble::n_grown() const {
    const Reading lock(mutex_);
    return std::accumulate(trees_.begin(), trees_.end(), std::int64_t{0},
                           [](std::int64_t sum, const BoostedTree& tree) {
                               return sum + static_cast<std::int64_t>(tree.size()) - tree.n_fitted;
                           });
}

bool Ensemble::is_detached() const {
    const Reading lock(mutex_);
    return background_ == nullptr;
}

void Ensemble::set_background(std::shared_ptr<const Background> background) {
    const Writing lock(mutex_);
    background_ = std::move(background);
    ++edition_;
    said_ = {};
}

std::shared_ptr<const Background> Ensemble::background() const {
    const Reading lock(mutex_);
    return background_;
}

void Ensemble::add(std::vector<BoostedTree> trees) {
    const Writing lock(mutex_);
    for (BoostedTree& tree : trees) trees_.push_back(std::move(tree));
}

void Ensemble::keep_rounds(std::size_t n_rounds) {
    const Writing lock(mutex_);
    trees_.resize(std::min(trees_.size(), n_rounds * n_outputs()));
    ++edition_;
    said_ = {};
}

/// Say whether a node has an answer: it is a leaf, or all there will ever be.
bool Ensemble::is_answer(const BoostedTree& tree, std::int32_t node) const {
    return tree.steps[static_cast<std::size_t>(node)].is_leaf() || background_ == nullptr ||
           static_cast<std::int64_t>(tree.size()) - tree.n_fitted >= plan_.max_third_nodes;
}

/// Lead rows down trees, block by block, and have `take(first_row, tree, nodes)` see where they got to.
template <class F>
void Ensemble::lead_all(const CodeRows& rows, std::size_t begin, std::size_t end, int n_threads,
                        F&& take) const {
    const int n = threads_for(10 * rows.n_rows() * (end - begin), n_threads);
    FullTrees full;
    if (rows.n_rows() >= kWorthFilling) full = {std::span(trees_).subspan(begin, end - begin), bins_};
    parallel_blocks(rows.n_rows(), kBlock, n, [&](std::size_t first, std::size_t last) {
        std::array<std::int32_t, kBlock> at, at_holes;
        std::vector<std::uint32_t> holes;
        if (!full.empty()) holes = full.rows_with_holes(rows, first, last);
        const bool few_holes = !full.empty() && 2 * holes.size() < last - first;
        for (std::size_t number = begin; number < end; ++number) {
            const BoostedTree& tree = trees_[number];
            if (few_holes && full[number - begin].is_there()) {
                full[number - begin].lead(rows, first, last, at.data());
                std::fill_n(at_holes.begin(), holes.size(), 0);
                tree.lead(rows, holes, at_holes.data());
                for (std::size_t i = 0; i < holes.size(); ++i) at[holes[i] - first] = at_holes[i];
            } else {
                std::fill_n(at.begin(), last - first, 0);
                tree.lead(rows, first, last, at.data());
            }
            take(first, number, std::span<const std::int32_t>(at.data(), last - first));
        }
    });
}

/// Return the numbers of the trees that rows need more of.
std::vector<std::size_t> Ensemble::find_wanting(const CodeRows& rows, std::size_t begin, std::size_t end,
                                                int n_threads) const {
    std::vector<std::atomic<bool>> wanting(end);
    lead_all(rows, begin, end, n_threads,
             [&](std::size_t, std::size_t number, std::span<const std::int32_t> at) {
                 if (wanting[number].load(std::memory_order_relaxed)) return;
                 const BoostedTree& tree = trees_[number];
                 if (!std::all_of(at.begin(), at.end(), [&](auto node) { return is_answer(tree, node); }))
                     wanting[number].store(true, std::memory_order_relaxed);
             });
    std::vector<std::size_t> found;
    for (std::size_t number = begin; number < end; ++number)
        if (wanting[number].load()) found.push_back(number);
    return found;
}

/// Return for some trees, in their order, what those before them say of the background rows.
std::vector<std::vector<double>> Ensemble::said_before(std::span<const std::size_t> trees, Said& said) const {
    std::vector<std::vector<double>> found(trees.size());
    if (!plan_.measures_doubt) return found;
    const std::size_t n = background_->rows.n_rows(), k = n_outputs();
    said.sums.resize(n * k);
    std::vector<std::int32_t> at(n);
    for (std::size_t i = 0; i < trees.size(); ++i) {
        for (; said.n_trees < std::min(trees[i], trees_.size()); ++said.n_trees) {
            const BoostedTree& tree = trees_[said.n_trees];
            std::fill(at.begin(), at.end(), 0);
            tree.lead(background_->rows, 0, n, at.data());
            double* const into = said.sums.data() + said.n_trees % k * n;
            for (std::size_t row = 0; row < n; ++row)
                into[row] += tree.values[static_cast<std::size_t>(at[row])];
        }
        const auto own = said.sums.begin() + static_cast<std::ptrdiff_t>(trees[i] % k * n);
        found[i].assign(own, own + static_cast<std::ptrdiff_t>(n));
    }
    return found;
}

/// Return what was said by trees before one of them, as far as it is known.
Ensemble::Said Ensemble::take_said(std::size_t first_tree) {
    const Writing lock(mutex_);
    if (said_.n_trees <= first_tree && said_.edition == edition_) return std::exchange(said_, {});
    Said none;
    none.edition = edition_;
    return none;
}

void Ensemble::give_back(Said said) {
    const Writing lock(mutex_);
    if (said.edition == edition_) said_ = std::move(said);
}

void Ensemble::grow_for(const CodeRows& rows, std::span<const std::size_t> wanting, Said& said,
                        int n_threads) {
    const Writing lock(mutex_);
    if (background_ == nullptr) return;
    const std::vector<std::vector<double>> before = said_before(wanting, said);
    parallel_for(wanting.size(), n_threads, [&](std::size_t i) {
        if (wanting[i] >= trees_.size()) return;
        BoostedTree& tree = trees_[wanting[i]];
        std::vector<std::int32_t> at(rows.n_rows(), 0);
        std::vector<std::uint32_t> all(rows.n_rows());
        std::iota(all.begin(), all.end(), 0u);
        ThirdGrower(tree, *background_, bins_, plan_, before[i]).lead(rows, all, at.data());
    });
}

/// Grow what rows need of the trees of some rounds.
void Ensemble::prepare(const CodeRows& rows, std::size_t begin, std::size_t end, int n_threads,
                       const std::function<void()>& between) {
    if (!plan_.has_third()) return;
    std::vector<std::size_t> wanting;
    {
        const Reading lock(mutex_);
        if (background_ != nullptr) wanting = find_wanting(rows, begin, end, n_threads);
    }
    if (wanting.empty()) return;
    Said said = take_said(wanting.front());
    const auto some = static_cast<std::size_t>(2 * std::max(n_threads, 1));
    for (std::size_t first = 0; first < wanting.size(); first += some) {
        if (between) between();
        grow_for(rows, std::span(wanting).subspan(first, std::min(some, wanting.size() - first)), said,
                 n_threads);
    }
    give_back(std::move(said));
}

void Ensemble::add_to(const CodeRows& rows, std::size_t begin, std::size_t end, double* raw, double* doubt,
                      int n_threads, const std::function<void()>& between) {
    const std::size_t k = n_outputs();
    if (plan_.missing == Strategy::Fractional) return add_both_ways(rows, begin * k, end * k, raw, n_threads);
    for (bool grown = false;; grown = true) {
        std::atomic<bool> wants{false};
        {
            const Reading lock(mutex_);
            std::vector<double> sums(raw, raw + rows.n_rows() * k);  // tree after tree, as they were fitted
            std::vector<double> doubts(doubt, doubt + (doubt != nullptr ? sums.size() : 0));
            std::atomic<std::int64_t> cut_short{0};
            lead_all(
                rows, begin * k, std::min(end * k, trees_.size()), n_threads,
                [&](std::size_t first, std::size_t number, std::span<const std::int32_t> at) {
                    const BoostedTree& tree = trees_[number];
                    double* const into = sums.data() + first * k + number % k;
                    std::int64_t short_here = 0;
                    for (std::size_t i = 0; i < at.size(); ++i) {
                        into[i * k] += tree.values[static_cast<std::size_t>(at[i])];
                        short_here += !tree.steps[static_cast<std::size_t>(at[i])].is_leaf();
                    }
                    if (doubt != nullptr)
                        for (std::size_t i = 0; i < at.size(); ++i)
                            doubts[(first + i) * k + number % k] +=
                                tree.infos[static_cast<std::size_t>(at[i])].doubt;
                    if (short_here == 0) return;
                    cut_short += short_here;
                    if (!std::all_of(at.begin(), at.end(), [&](auto node) { return is_answer(tree, node); }))
                        wants = true;
                });
            if (!wants || grown) {
                std::copy(sums.begin(), sums.end(), raw);
                std::copy(doubts.begin(), doubts.end(), doubt);
                n_cut_short_ += cut_short;
                return;
            }
        }
        prepare(rows, begin * k, std::min(end * k, n_trees()), n_threads, between);
    }
}

void Ensemble::apply(const CodeRows& rows, std::size_t begin, std::size_t end, std::int32_t* nodes,
                     int n_threads, const std::function<void()>& between) {
    const std::size_t k = n_outputs();
    const std::size_t first_tree = begin * k, last_tree = std::min(end * k, n_trees());
    prepare(rows, first_tree, last_tree, n_threads, between);
    const Reading lock(mutex_);
    const std::size_t width = last_tree - first_tree;
    if (plan_.missing == Strategy::Fractional) {
        parallel_blocks(rows.n_rows(), kBlock, n_threads, [&](std::size_t first, std::size_t last) {
            BothWays ways;
            std::array<std::int32_t, kBlock> at;
            for (std::size_t number = first_tree; number < last_tree; ++number) {
                ways.apply(trees_[number], rows, first, last, at.data());
                for (std::size_t row = first; row < last; ++row)
                    nodes[row * width + number - first_tree] = at[row - first];
            }
        });
        return;
    }
    lead_all(rows, first_tree, last_tree, n_threads,
             [&](std::size_t first, std::size_t number, std::span<const std::int32_t> at) {
                 for (std::size_t i = 0; i < at.size(); ++i)
                     nodes[(first + i) * width + number - first_tree] = at[i];
             });
}

/// Add what trees say of rows that go both ways where a value is missing; nothing is ever grown for them.
void Ensemble::add_both_ways(const CodeRows& rows, std::size_t begin, std::size_t end, double* raw,
                             int n_threads) const {
    const Reading lock(mutex_);
    const std::size_t k = n_outputs();
    end = std::min(end, trees_.size());
    const int n = threads_for(10 * rows.n_rows() * (end - std::min(begin, end)), n_threads);
    parallel_blocks(rows.n_rows(), kBlock, n, [&](std::size_t first, std::size_t last) {
        BothWays ways;
        std::array<double, kBlock> said;
        for (std::size_t number = begin; number < end; ++number) {
            ways.answer(trees_[number], rows, first, last, said.data());
            for (std::size_t row = first; row < last; ++row) raw[row * k + number % k] += said[row - first];
        }
    });
}

std::vector<std::vector<End>> Ensemble::ends(const CodeRows& rows, int n_threads) const {
    const Reading lock(mutex_);
    std::vector<std::vector<End>> found(trees_.size());
    parallel_for(trees_.size(), n_threads,
                 [&](std::size_t i) { BothWays().add_ends(trees_[i], rows, 0, rows.n_rows(), found[i]); });
    return found;
}

}  // namespace tritree::boosting
