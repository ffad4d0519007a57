#include <algorithm>
#include <utility>

#include "grower.hpp"
#include "parallel.hpp"

namespace tritree {
namespace {

// What is below a node with so many rows is grown apart.
constexpr std::size_t kThicketRows = 256;
constexpr std::size_t kTogether = 64;  // thickets

}  // namespace

/// Take the daughters of nodes with few rows out of a level, as the first nodes of thickets.
void Grower::take_small(std::vector<Sprout>& daughters, std::vector<Twig>& firsts) const {
    std::size_t n_left = 0;
    for (Sprout& daughter : daughters) {
        const Base& base = daughter.base;
        if (static_cast<std::size_t>(tree.rows[base.branch.node]) > kThicketRows) {
            if (&daughters[n_left++] != &daughter) daughters[n_left - 1] = std::move(daughter);
            continue;
        }
        Twig& first = firsts.emplace_back();
        first.branch = base.branch;
        first.depth = daughter.depth;
        first.path = base.path;
        first.rows = base.rows;
    }
    daughters.resize(n_left);
}

void Grower::grow_thickets(std::vector<Twig>& firsts, int n_threads,
                           const std::function<void()>& in_between) {
    // One at a time stays in the cache until it is written; threads need more to share.
    const std::size_t together = n_threads == 1 ? 1 : kTogether;
    std::vector<std::vector<Twig>> thickets(together);
    for (std::size_t begin = 0; begin < firsts.size(); begin += together) {
        if (in_between && begin % kTogether == 0) in_between();
        const std::size_t n = std::min(together, firsts.size() - begin);
        parallel_for(n, n_threads, [&](std::size_t i) {
            Twig& first = firsts[begin + i];
            const Frame& above = bases[places[first.branch.node].base].frame;
            grow_thicket(scanner_, std::move(first), above, thickets[i]);
        });
        for (std::size_t i = 0; i < n; ++i) settle(thickets[i]);
    }
}

/// Write a thicket into the tree.
void Grower::settle(std::vector<Twig>& twigs) {
    std::size_t words = 0;
    for (const Twig& twig : twigs)
        if (!twig.ladder.empty()) words += twig.ladder[0].sets.words().size();
    const std::size_t n_splits = twigs.size() / 2;  // each has two daughters, and all but the first are one
    tree.make_room(twigs.size(), words);
    make_room(places, twigs.size());
    make_room(bases, n_splits);
    make_room(unfinished_, n_splits);
    const auto first = static_cast<std::int32_t>(tree.size());
    for (Twig& twig : twigs) {
        const std::int32_t node = tree.add_leaf(twig.summary, twig.depth);
        if (node != first) twig.branch.node += first;
        tree.set_child(twig.branch.node, twig.branch.side, node);
        const bool splits = !twig.ladder.empty();
        places.push_back({splits ? static_cast<std::int32_t>(bases.size()) : kNone, 0});
        if (!splits) continue;
        tree.set_split(node, twig.ladder[0]);
        unfinished_.push_back(places.back().base);
        Base& base = bases.emplace_back();
        base.node = node;
        base.branch = twig.branch;
        base.rows = twig.rows;
        base.parts = twig.parts;
        base.frame = twig.frame;
        base.path = twig.path;
        base.partial = true;
        base.ladder = std::move(twig.ladder);
    }
}

}  // namespace tritree
