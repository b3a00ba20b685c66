// SPDX-License-Identifier: Apache-2.0
#include "executor/worlds.h"

#include <chrono>
#include <optional>
#include <utility>

#include "executor/taskable.h"
#include "harness/pinning.h"

namespace executor {
namespace {

/// Pins workers to the CPUs after those of the benchmark threads. So a hand-off between two threads uses two CPUs in
/// every launch, if there are two.
auto pinAfterThreads(int threads) {
    return [threads](int worker) { benchgate::pinForGood(benchgate::cpuForThread(threads + worker)); };
}

auto pinNonIOAfterThreads(int threads) {
    return [pin = pinAfterThreads(threads)](WorkerKind kind, int worker) {
        if (kind == WorkerKind::NonIO) {
            pin(worker);
        }
    };
}

void logTo(Taskable& taskable, ThreadPool& pool) {
    pool.subscribeToTaskStats([&taskable](const TaskStats& stats) {
        taskable.logQTime(TaskId::ItemPager, stats.waitTime);
        taskable.logRunTime(TaskId::ItemPager, stats.runTime);
    });
}

/// A task that must not run while the benchmark runs.
class SleepingTask : public RecurringTask {
   public:
    SleepingTask(Taskable& owner, std::atomic<bool>& hasFired)
        : RecurringTask{owner, TaskId::TimeoutTask, 0}, hasFired_{hasFired} {}

    std::optional<Clock::duration> run() override {
        hasFired_.store(true);
        return std::nullopt;
    }

   private:
    std::atomic<bool>& hasFired_;
};

}  // namespace

TaskStatsWorld::TaskStatsWorld(const benchmark::State& /*state*/) : taskable{makeTaskable()} {}

PureFollyWorld::PureFollyWorld(int threads) : taskable{makeTaskable()}, cpu{threads, pinAfterThreads(threads)}, io{0} {
    logTo(*taskable, cpu);
    logTo(*taskable, io);
}

CB3World::CB3World(int threads) : taskable{makeTaskable()}, pool{{.nonIO = threads}, pinNonIOAfterThreads(threads)} {
    pool.registerTaskable(*taskable);
}

PureFollyTimeoutWorld::PureFollyTimeoutWorld(const benchmark::State& state)
    : PureFollyTimeoutWorld{static_cast<std::size_t>(state.range(0))} {}

CB3TimeoutWorld::CB3TimeoutWorld(int threads, std::size_t count)
    : taskable{makeTaskable()}, pool{{.nonIO = threads}, pinNonIOAfterThreads(threads)} {
    pool.registerTaskable(*taskable);
    timeouts.reserve(count);
    while (timeouts.size() < count) {
        timeouts.push_back(pool.schedule(std::make_shared<SleepingTask>(*taskable, hasFired), WorkerKind::NonIO,
                                         std::chrono::minutes{1}));
    }
}

CB3TimeoutWorld::CB3TimeoutWorld(const benchmark::State& state)
    : CB3TimeoutWorld{state.threads(), static_cast<std::size_t>(state.range(0))} {}

}  // namespace executor
