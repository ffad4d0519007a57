#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tritree {

/// Makes items without giving them a value.
template <class T>
struct Unfilled : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Unfilled<U>;
    };
    template <class U, class... Args>
    void construct(U* at, Args&&... args) {
        if constexpr (sizeof...(Args) == 0)
            ::new (static_cast<void*>(at)) U;
        else
            ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
    }
};

/// Items that have no value until they are given one: many of them take as long to fill with zeros as to
/// write.
template <class T>
using Items = std::vector<T, Unfilled<T>>;

/// Have memory for so many more items, without moving the ones there are each time.
template <class V>
void make_room(V& items, std::size_t more) {
    if (items.capacity() - items.size() < more)
        items.reserve(std::max(2 * items.capacity(), items.size() + more));
}

}  // namespace tritree
