#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tritree {

/// Nodes that wait to be split: best gain first if the number of leaves is limited, else in the order of
/// their indices. An entry has the members `node` and `split`, which points to a split with a gain. Ties: the
/// smaller node first.
template <class Entry>
class ExpandQueue {
  public:
    explicit ExpandQueue(bool best_first) : best_first_(best_first) {}

    bool empty() const { return next_ == entries_.size(); }

    void push(Entry entry) {
        entries_.push_back(std::move(entry));
        if (best_first_) std::push_heap(entries_.begin(), entries_.end(), is_worse);
    }

    Entry pop() {
        if (!best_first_) return std::move(entries_[next_++]);
        std::pop_heap(entries_.begin(), entries_.end(), is_worse);
        Entry entry = std::move(entries_.back());
        entries_.pop_back();
        return entry;
    }

  private:
    static bool is_worse(const Entry& a, const Entry& b) {
        return a.split->gain != b.split->gain ? a.split->gain < b.split->gain : a.node > b.node;
    }

    const bool best_first_;
    std::vector<Entry> entries_;
    std::size_t next_ = 0;
};

}  // namespace tritree
