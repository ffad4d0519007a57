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

/// One call of parallel_for: workers and the caller draw task numbers until they are used up.
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
    std::size_t error_task = n_tasks;  // tasks are drawn in order, so all before this one have been run
};

thread_local bool inside_task = false;

/// The process-wide threads. They are never joined: at exit they wait for work that does not come.
///
/// Where several threads call at once, each works on its own job, and helpers join one only while fewer
/// threads are at work, all jobs together, than that job was given: many callers do not make many times as
/// many threads.
class Pool {
  public:
    void run(const std::shared_ptr<Job>& job) {
        {
            std::lock_guard lock(mutex_);
            hire(job->max_helpers);
            jobs_.push_back(job);
            ++n_working_;
        }
        wake_.notify_all();
        inside_task = true;
        job->work();
        inside_task = false;
        std::unique_lock lock(mutex_);
        std::erase(jobs_, job);
        --n_working_;
        if (!jobs_.empty()) wake_.notify_all();  // there is room for a helper now
        done_.wait(lock, [&] { return job->helpers == 0; });
    }

  private:
    /// Start workers until there are as many as wanted, or as the system allows: the caller works in any
    /// case.
    void hire(int wanted) {
        try {
            for (; n_workers_ < wanted; ++n_workers_) std::thread([this] { serve(); }).detach();
        } catch (const std::system_error&) {
        }
    }

    std::shared_ptr<Job> find() {
        for (const auto& job : jobs_)
            if (n_working_ <= job->max_helpers && !job->exhausted()) return job;
        return nullptr;
    }

    void serve() {
        inside_task = true;
        std::unique_lock lock(mutex_);
        for (;;) {
            std::shared_ptr<Job> job;
            wake_.wait(lock, [&] { return (job = find()) != nullptr; });
            ++job->helpers;
            ++n_working_;
            lock.unlock();
            job->work();
            lock.lock();
            --job->helpers;
            --n_working_;
            done_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::deque<std::shared_ptr<Job>> jobs_;
    int n_workers_ = 0;
    int n_working_ = 0;  // callers and helpers at work
};

/// Return the pool of this process. A forked child inherits none of its parent's threads, so it gets a new
/// pool; the old one is left alone, because its mutex may have been held at the fork.
Pool& pool() {
    struct Owned {
        long process;
        Pool pool;
    };
    static std::atomic<Owned*> current{nullptr};
    const long process = static_cast<long>(getpid());
    Owned* found = current.load();
    while (found == nullptr || found->process != process) {
        auto mine = std::make_unique<Owned>();
        mine->process = process;
        if (current.compare_exchange_strong(found, mine.get())) return mine.release()->pool;
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

void parallel_for(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t)>& task) {
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
    // The child makes a new one: to a mutex, the thread that holds it is another there.
    static const int registered =
        pthread_atfork([] { gate->lock(); }, [] { gate->unlock(); }, [] { gate = new std::shared_mutex; });
    (void)registered;
#endif
    return std::shared_lock(*gate);
}

int threads_for(std::size_t work, int n_threads) {
    constexpr std::size_t kWorthWaking = 1 << 15;  // about as long as a sleeping thread takes to come
    return static_cast<int>(std::min<std::size_t>(work / kWorthWaking + 1, std::max(n_threads, 1)));
}

void parallel_blocks(std::size_t n, std::size_t block, int n_threads,
                     const std::function<void(std::size_t, std::size_t)>& task) {
    const std::size_t n_blocks = (n + block - 1) / block;
    parallel_for(n_blocks, n_threads, [&](std::size_t b) { task(b * block, std::min(n, (b + 1) * block)); });
}

}  // namespace tritree
