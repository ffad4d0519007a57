#pragma once

#include <cstddef>
#include <functional>
#include <shared_mutex>

namespace tritree {

/// Return the number of processors this process may use.
int hardware_threads();

/// Run `task(0) ... task(n_tasks - 1)`, each once, on at most `n_threads` threads of the process-wide pool
/// and the calling one. Any number of callers may do so at once. Called from within a task it runs on that
/// thread alone. If tasks throw, the exception of the first of them is thrown again here, after all running
/// tasks have ended: whatever the threads, it is the same.
void parallel_for(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t)>& task);

/// Return a lock during which no thread can fork this process: a child must not inherit a lock whose holder
/// it lacks, nor what that one has left half done. Whoever holds it must not wait for Python.
std::shared_lock<std::shared_mutex> hold_off_fork();

/// Return how many of the threads are worth waking for this much work, in steps of about a nanosecond.
int threads_for(std::size_t work, int n_threads);

/// Run `task(begin, end)` over consecutive blocks of `0 ... n` of at most `block` each.
void parallel_blocks(std::size_t n, std::size_t block, int n_threads,
                     const std::function<void(std::size_t, std::size_t)>& task);

}  // namespace tritree
