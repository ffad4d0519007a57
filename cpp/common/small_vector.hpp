#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace tritree {

/// Zero-initialised array of fixed length with inline storage for up to six elements.
template <class T>
class SmallVector {
  public:
    explicit SmallVector(int n)
        : heap_(static_cast<std::size_t>(n) > kInline ? static_cast<std::size_t>(n) : 0) {}

    T* data() { return heap_.empty() ? inline_.data() : heap_.data(); }
    const T* data() const { return heap_.empty() ? inline_.data() : heap_.data(); }
    T& operator[](int k) { return data()[k]; }
    const T& operator[](int k) const { return data()[k]; }

  private:
    static constexpr std::size_t kInline = 6;
    std::array<T, kInline> inline_{};
    std::vector<T> heap_;
};

}  // namespace tritree
