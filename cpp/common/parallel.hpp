#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <shared_mutex>

namespace tritree {

/// Return the number of processors this process may use.
int hardware_threads();

/// Run `task(0) ... task(n_tasks - 1)` on several threads; see `parallel_for`.
void run_parallel(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t)>& task);

/// Run `task(0) ... task(n_tasks - 1)` on at most `n_threads` threads: the calling one and those of a
/// process-wide pool. Thread-safe; called from within a task, it runs on that thread alone. If tasks throw,
/// the exception of the task with the smallest index is rethrown when all running tasks have ended.
template <class Task>
void parallel_for(std::size_t n_tasks, int n_threads, Task&& task) {
    if (n_tasks > 1 && n_threads > 1) return run_parallel(n_tasks, n_threads, std::ref(task));
    // called directly: a std::function would allocate memory, which small nodes notice
    for (std::size_t i = 0; i < n_tasks; ++i) task(i);
}

/// Return a lock that delays fork() of this process: a forked child must not inherit a mutex that is locked
/// by a thread it does not have, or data that is being modified. A thread that holds the lock must not wait
/// for the GIL.
std::shared_lock<std::shared_mutex> block_fork();

/// Return the number of threads worth using, at most `n_threads`, for an amount of work in units of about a
/// nanosecond.
int threads_for(std::size_t work, int n_threads);

/// Run `task(begin, end)` on consecutive blocks of the range 0 ... n, each at most `block` long.
template <class Task>
void parallel_blocks(std::size_t n, std::size_t block, int n_threads, Task&& task) {
    parallel_for((n + block - 1) / block, n_threads,
                 [&](std::size_t b) { task(b * block, std::min(n, (b + 1) * block)); });
}

}  // namespace tritree
