#include "common/parallel.hpp"

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(_WIN32)
#include <process.h>
#else
#include <pthread.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tritree {
namespace {

/// One call of parallel_for: the caller and its helpers take task indices until none are left.
struct Job {
    Job(std::size_t n, int helpers, const std::function<void(std::size_t)>& f)
        : n_tasks(n), max_helpers(helpers), task(f) {}

    void work() {
        for (std::size_t i = next.fetch_add(1); i < n_tasks; i = next.fetch_add(1)) {
            try {
                task(i);
            } catch (...) {
                next.store(n_tasks);
                std::lock_guard lock(error_mutex);
                if (i < error_task) error = std::current_exception();
                error_task = std::min(error_task, i);
            }
        }
    }
    bool exhausted() const { return next.load() >= n_tasks; }

    const std::size_t n_tasks;
    const int max_helpers;
    const std::function<void(std::size_t)>& task;
    std::atomic<std::size_t> next{0};
    int helpers = 0;  // guarded by the pool's mutex
    std::mutex error_mutex;
    std::exception_ptr error;
    std::size_t error_task = n_tasks;  // tasks start in order: all before this one have run
};

thread_local bool inside_task = false;

/// The process-wide thread pool. Its threads are never joined: they still wait for work when the process
/// exits.
///
/// Concurrent callers each work on their own job. A helper joins a job only while the number of active
/// threads, over all jobs, is below the limit of that job: many callers do not oversubscribe the machine.
class Pool {
  public:
    void run(const std::shared_ptr<Job>& job) {
        {
            std::lock_guard lock(mutex_);
            start_workers(job->max_helpers);
            jobs_.push_back(job);
            ++n_active_;
        }
        work_available_.notify_all();
        inside_task = true;
        job->work();
        inside_task = false;
        std::unique_lock lock(mutex_);
        std::erase(jobs_, job);
        --n_active_;
        if (!jobs_.empty()) work_available_.notify_all();  // another job may use a helper now
        helper_done_.wait(lock, [&] { return job->helpers == 0; });
    }

  private:
    /// Start threads until there are `n_workers`. If the system refuses one, fewer will do: the caller takes
    /// tasks as well.
    void start_workers(int n_workers) {
        try {
            for (; n_workers_ < n_workers; ++n_workers_) std::thread([this] { run_worker(); }).detach();
        } catch (const std::system_error&) {
        }
    }

    std::shared_ptr<Job> find_job() {
        for (const auto& job : jobs_)
            if (n_active_ <= job->max_helpers && !job->exhausted()) return job;
        return nullptr;
    }

    void run_worker() {
        inside_task = true;
        std::unique_lock lock(mutex_);
        for (;;) {
            std::shared_ptr<Job> job;
            work_available_.wait(lock, [&] { return (job = find_job()) != nullptr; });
            ++job->helpers;
            ++n_active_;
            lock.unlock();
            job->work();
            lock.lock();
            --job->helpers;
            --n_active_;
            helper_done_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable work_available_, helper_done_;
    std::deque<std::shared_ptr<Job>> jobs_;
    int n_workers_ = 0;
    int n_active_ = 0;  // callers and helpers that run tasks
};

/// Return the pool of this process. A forked child inherits none of its parent's threads, so it gets a new
/// pool; the old one is left alone, because its mutex may have been held at the fork.
Pool& pool() {
    struct ProcessPool {
        long process;
        Pool pool;
    };
    static std::atomic<ProcessPool*> current{nullptr};
    const long process = static_cast<long>(getpid());
    ProcessPool* found = current.load();
    while (found == nullptr || found->process != process) {
        auto fresh = std::make_unique<ProcessPool>();
        fresh->process = process;
        if (current.compare_exchange_strong(found, fresh.get())) return fresh.release()->pool;
    }
    return found->pool;
}

}  // namespace

int hardware_threads() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

void run_parallel(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t)>& task) {
    const int threads = static_cast<int>(std::min<std::size_t>(n_tasks, std::clamp(n_threads, 1, 256)));
    if (threads <= 1 || inside_task) {
        for (std::size_t i = 0; i < n_tasks; ++i) task(i);
        return;
    }
    auto job = std::make_shared<Job>(n_tasks, threads - 1, task);
    pool().run(job);
    if (job->error) std::rethrow_exception(job->error);
}

std::shared_lock<std::shared_mutex> block_fork() {
    static std::shared_mutex* gate = new std::shared_mutex;
#if !defined(_WIN32)
    // The child replaces the mutex: the thread that locked it in the parent is a different one there.
    static const int registered =
        pthread_atfork([] { gate->lock(); }, [] { gate->unlock(); }, [] { gate = new std::shared_mutex; });
    (void)registered;
#endif
    return std::shared_lock(*gate);
}

int threads_for(std::size_t work, int n_threads) {
    constexpr std::size_t kMinWorkPerThread = 1 << 15;  // about the time to wake a sleeping thread
    return static_cast<int>(std::min<std::size_t>(work / kMinWorkPerThread + 1, std::max(n_threads, 1)));
}

}  // namespace tritree
