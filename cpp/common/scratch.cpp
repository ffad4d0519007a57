#include "common/scratch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <numeric>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tritree {
namespace {

/// Return a number with commas between thousands.
std::string with_commas(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
}

#ifndef _WIN32

/// Write zeros where the system cannot reserve blocks; return errno.
int write_zeros(int handle, std::size_t n_bytes) {
    static const std::array<char, 1 << 20> zeros{};
    for (std::size_t at = 0; at < n_bytes;) {
        const ssize_t n =
            pwrite(handle, zeros.data(), std::min(zeros.size(), n_bytes - at), static_cast<off_t>(at));
        if (n < 0 && errno != EINTR) return errno;
        at += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }
    return 0;
}

/// Give a new file its size, with all blocks; return errno.
int fill(int handle, std::size_t n_bytes) {
#ifdef __linux__
    int code = EINTR;
    while (code == EINTR) code = posix_fallocate(handle, 0, static_cast<off_t>(n_bytes));
    if (code != EINVAL && code != EOPNOTSUPP) return code;
#endif
    return write_zeros(handle, n_bytes);
}

#endif

}  // namespace

#ifdef _WIN32

Scratch::Scratch(std::string folder) : folder_(std::move(folder)) {
    throw ScratchError("scratch is not available on Windows; leave it out", ENOSYS);
}
Scratch::~Scratch() = default;
int Scratch::open_file() const { return -1; }
void Scratch::reserve(std::span<const std::size_t>) {}
void* Scratch::allocate(std::size_t) { throw std::bad_alloc(); }
void Scratch::release(void*, std::size_t) {}

#else

Scratch::Scratch(std::string folder) : folder_(std::move(folder)) { close(open_file()); }

Scratch::~Scratch() {
    for (const File& file : reserved_) close(file.handle);
}

int Scratch::open_file() const {
#ifdef O_TMPFILE  // never has a name
    if (const int handle = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600); handle >= 0)
        return handle;
#endif
    std::string path = folder_ + "/.tritree.XXXXXX";
    const int handle = mkstemp(path.data());
    if (handle < 0)
        throw ScratchError("cannot create a file in the scratch folder '" + folder_ +
                               "': " + std::strerror(errno) + "; name another folder",
                           errno);
    unlink(path.c_str());
    fcntl(handle, F_SETFD, FD_CLOEXEC);
    return handle;
}

void Scratch::reserve(std::span<const std::size_t> sizes) {
    std::error_code ignored;
    const std::uint64_t n_free = std::filesystem::space(folder_, ignored).available;
    std::vector<File> files;
    for (const std::size_t n_bytes : sizes) {
        files.push_back({open_file(), n_bytes});
        const int code = fill(files.back().handle, n_bytes);
        if (code == 0) continue;
        for (const File& file : files) close(file.handle);
        const auto needed = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
        throw ScratchError("the scratch folder '" + folder_ + "' has " + with_commas(n_free) +
                               " bytes free, and the binned table needs " + with_commas(needed) + " bytes (" +
                               std::strerror(code) + "); free some, or name another folder",
                           code);
    }
    const std::lock_guard lock(mutex_);
    reserved_.insert(reserved_.end(), files.begin(), files.end());
}

void* Scratch::allocate(std::size_t n_bytes) {
    const auto take = [&]() -> int {
        const std::lock_guard lock(mutex_);
        const auto found = std::find_if(reserved_.begin(), reserved_.end(),
                                        [&](const File& file) { return file.n_bytes == n_bytes; });
        if (found == reserved_.end()) return -1;
        const int handle = found->handle;
        reserved_.erase(found);
        return handle;
    };
    int handle = take();
    while (handle < 0) {  // another thread may take what was reserved
        reserve(std::array{n_bytes});
        handle = take();
    }
    void* const memory = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    const int code = errno;
    close(handle);
    if (memory == MAP_FAILED)
        throw ScratchError(
            "cannot map a file in the scratch folder '" + folder_ + "': " + std::strerror(code), code);
    return memory;
}

void Scratch::release(void* memory, std::size_t n_bytes) { munmap(memory, n_bytes); }

#endif

}  // namespace tritree
