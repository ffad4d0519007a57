#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace tritree {

/// A fixed number of items, all zero at first, that needs no memory of its own as long as they are few.
template <class T>
class Few {
  public:
    explicit Few(int n) : many_(static_cast<std::size_t>(n) > kFew ? static_cast<std::size_t>(n) : 0) {}

    T* data() { return many_.empty() ? few_.data() : many_.data(); }
    const T* data() const { return many_.empty() ? few_.data() : many_.data(); }
    T& operator[](int k) { return data()[k]; }
    const T& operator[](int k) const { return data()[k]; }

  private:
    static constexpr std::size_t kFew = 6;
    std::array<T, kFew> few_{};
    std::vector<T> many_;
};

}  // namespace tritree
