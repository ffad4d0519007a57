#pragma once

#include <cstddef>
#include <functional>
#include <shared_mutex>

namespace tritree {

/// Return the number of processors this process may use.
int hardware_threads();

/// Run `task(0) ... task(n_tasks - 1)` on at most `n_threads` threads: the calling one and those of a
/// process-wide pool. Thread-safe; called from within a task, it runs on that thread alone. If tasks throw, the
/// exception of the task with the smallest number is rethrown when all running tasks have ended.
void parallel_for(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t)>& task);

/// Return a lock that delays fork() of this process: a child must not inherit a mutex whose owner it lacks, or
/// data that is being changed. A thread that holds it must not wait for Python.
std::shared_lock<std::shared_mutex> block_fork();

/// Return how many threads are worth waking for this much work, in units of about a nanosecond.
int threads_for(std::size_t work, int n_threads);

/// Run `task(begin, end)` over consecutive blocks of `0 ... n` of at most `block` each.
void parallel_blocks(std::size_t n, std::size_t block, int n_threads,
                     const std::function<void(std::size_t, std::size_t)>& task);

}  // namespace tritree
