#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tritree {

/// Allocator that default-initialises elements: numbers stay uninitialised.
template <class T>
struct DefaultInitAllocator : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = DefaultInitAllocator<U>;
    };
    template <class U, class... Args>
    void construct(U* at, Args&&... args) {
        if constexpr (sizeof...(Args) == 0)
            ::new (static_cast<void*>(at)) U;
        else
            ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
    }
};

/// Vector that does not zero its elements on resize: for buffers that are overwritten anyway.
template <class T>
using UninitializedVector = std::vector<T, DefaultInitAllocator<T>>;

/// Reserve memory for `more` further elements, growing geometrically.
template <class V>
void reserve_more(V& items, std::size_t more) {
    if (items.capacity() - items.size() < more)
        items.reserve(std::max(2 * items.capacity(), items.size() + more));
}

}  // namespace tritree
