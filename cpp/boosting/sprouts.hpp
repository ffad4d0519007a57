#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tritree::boosting {

/// Nodes that wait to be split: the most useful first where leaves are counted, or else in their order.
template <class Sprout>
class Sprouts {
  public:
    explicit Sprouts(bool most_useful_first) : most_useful_first_(most_useful_first) {}

    bool empty() const { return next_ == waiting_.size(); }

    void add(Sprout sprout) {
        waiting_.push_back(std::move(sprout));
        if (most_useful_first_) std::push_heap(waiting_.begin(), waiting_.end(), before);
    }

    Sprout take() {
        if (!most_useful_first_) return std::move(waiting_[next_++]);
        std::pop_heap(waiting_.begin(), waiting_.end(), before);
        Sprout sprout = std::move(waiting_.back());
        waiting_.pop_back();
        return sprout;
    }

  private:
    static bool before(const Sprout& a, const Sprout& b) {
        return a.cut->gain != b.cut->gain ? a.cut->gain < b.cut->gain : a.node > b.node;
    }

    const bool most_useful_first_;
    std::vector<Sprout> waiting_;
    std::size_t next_ = 0;
};

}  // namespace tritree::boosting
