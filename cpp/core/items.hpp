#pragma once

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

}  // namespace tritree
