#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tritree {

/// Nodes that wait to be split: best gain first if the number of leaves is limited, else in the order of
/// their indices. An entry has the members `node` and `gain()`. Ties, gains that differ by at most
/// `tolerance`: the smaller node first.
template <class Entry>
class ExpandQueue {
  public:
    explicit ExpandQueue(bool best_first, double tolerance = 0)
        : best_first_(best_first), tolerance_(tolerance) {}

    bool empty() const { return next_ == entries_.size(); }
    void set_tolerance(double tolerance) { tolerance_ = tolerance; }

    void push(Entry entry) {
        entries_.push_back(std::move(entry));
        if (best_first_) std::push_heap(entries_.begin(), entries_.end(), is_worse);
    }

    Entry pop() {
        if (!best_first_) return std::move(entries_[next_++]);
        Entry best = pop_heap();
        std::vector<Entry> tied;
        const double least = best.gain() - tolerance_;
        while (!entries_.empty() && entries_.front().gain() >= least) {
            tied.push_back(pop_heap());
            if (tied.back().node < best.node) std::swap(tied.back(), best);
        }
        for (Entry& entry : tied) push(std::move(entry));
        return best;
    }

  private:
    static bool is_worse(const Entry& a, const Entry& b) {
        return a.gain() != b.gain() ? a.gain() < b.gain() : a.node > b.node;
    }

    Entry pop_heap() {
        std::pop_heap(entries_.begin(), entries_.end(), is_worse);
        Entry entry = std::move(entries_.back());
        entries_.pop_back();
        return entry;
    }

    const bool best_first_;
    double tolerance_;
    std::vector<Entry> entries_;
    std::size_t next_ = 0;
};

}  // namespace tritree
