#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tritree {

/// A temporary file cannot be created, or there is no room for it.
struct ScratchError : std::runtime_error {
    ScratchError(const std::string& what, int code_) : std::runtime_error(what), code(code_) {}
    int code;  ///< errno
};

/// A folder whose disk holds large arrays: memory-mapped files that have no name, so that nothing is left of
/// them when the process ends, however it ends.
class Scratch {
  public:
    /// Throws ScratchError if no file can be created in the folder.
    explicit Scratch(std::string folder);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    /// Reserve room on the disk for arrays to allocate later; throws ScratchError if there is not enough.
    void reserve(std::span<const std::size_t> sizes);
    /// Return memory of a file, zeroed. All of its blocks exist, since a full disk would end the process when
    /// a page is written.
    void* allocate(std::size_t n_bytes);
    static void release(void* memory, std::size_t n_bytes);

  private:
    struct File {
        int handle;
        std::size_t n_bytes;
    };

    int open_file() const;

    std::string folder_;
    std::mutex mutex_;
    std::vector<File> reserved_;
};

/// Allocator of the bins of a table: in memory, or on a scratch disk.
template <class T>
class TableAllocator {
  public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    TableAllocator() = default;
    TableAllocator(std::shared_ptr<Scratch> scratch) : scratch_(std::move(scratch)) {}
    template <class U>
    TableAllocator(const TableAllocator<U>& other) : scratch_(other.scratch()) {}

    const std::shared_ptr<Scratch>& scratch() const { return scratch_; }

    T* allocate(std::size_t n) {
        if (scratch_ == nullptr || n == 0) return std::allocator<T>().allocate(n);
        return static_cast<T*>(scratch_->allocate(n * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t n) {
        if (scratch_ == nullptr || n == 0)
            std::allocator<T>().deallocate(memory, n);
        else
            Scratch::release(memory, n * sizeof(T));
    }
    template <class U>
    bool operator==(const TableAllocator<U>& other) const {
        return scratch_ == other.scratch();
    }

  private:
    std::shared_ptr<Scratch> scratch_;
};

template <class T>
using TableVector = std::vector<T, TableAllocator<T>>;

}  // namespace tritree
