// SPDX-License-Identifier: Apache-2.0
#include "executor/reference_check.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <string>

#include "executor/taskable.h"
#include "executor/worlds.h"

namespace executor {
namespace {

using benchgate::compare;
using benchgate::firstOf;
using benchgate::Mismatch;
using namespace std::chrono_literals;

constexpr int tasksPerThread = 32;
constexpr std::size_t checkedTimeouts = 64;

/// Returns the sum of the tasks 1, 2, … `count`, computed one after the other.
std::int64_t sumSerially(int count) {
    std::int64_t sum = 0;
    for (int task = 1; task <= count; ++task) {
        sum += task;
    }
    return sum;
}

class AddingTask : public RecurringTask {
   public:
    AddingTask(Taskable& owner, std::atomic<std::int64_t>& sum, int value, std::latch& done)
        : RecurringTask{owner, TaskId::ItemPager, 0}, sum_{sum}, value_{value}, done_{done} {}

    std::optional<Clock::duration> run() override {
        sum_ += value_;
        done_.count_down();
        return std::nullopt;
    }

   private:
    std::atomic<std::int64_t>& sum_;
    int value_;
    std::latch& done_;
};

}  // namespace

Mismatch checkTaskable(int /*threads*/) {
    const auto taskable = makeTaskable();
    const auto before = taskable->getWorkloadPriority();
    taskable->setWorkloadPriority(WorkloadPriority::Low);
    return firstOf({
        compare("GID", 0, taskable->getGID()),
        compare("priority is high", true, before == WorkloadPriority::High),
        compare("changed priority is low", true, taskable->getWorkloadPriority() == WorkloadPriority::Low),
        compare("shards", 1, taskable->getWorkLoadPolicy().shards),
        compare("shut down", false, taskable->isShutdown()),
    });
}

Mismatch checkPureFollyOneShot(int threads) {
    const int count = threads * tasksPerThread;
    std::atomic<std::int64_t> sum{0};
    std::atomic<std::int64_t> reported{0};
    PureFollyWorld world{threads};
    world.cpu.subscribeToTaskStats([&reported](const TaskStats& stats) {
        if (stats.waitTime >= 0ns && stats.runTime >= 0ns && !stats.expired) {
            ++reported;
        }
    });
    for (int task = 1; task <= count; ++task) {
        world.cpu.add([&sum, task] { sum += task; });
    }
    world.cpu.shutdown();
    return firstOf({
        checkTaskable(threads),
        compare("sum of all tasks", sumSerially(count), sum.load()),
        compare("tasks reported", count, reported.load()),
    });
}

Mismatch checkCB3OneShot(int threads) {
    const int count = threads * tasksPerThread;
    std::atomic<std::int64_t> sum{0};
    std::latch done{count};
    CB3World world{threads};
    for (int task = 1; task <= count; ++task) {
        world.pool.schedule(std::make_shared<AddingTask>(*world.taskable, sum, task, done), WorkerKind::NonIO);
    }
    done.wait();
    return firstOf({checkTaskable(threads), compare("sum of all tasks", sumSerially(count), sum.load())});
}

Mismatch checkPureFollyTimeouts(int /*threads*/) {
    PureFollyTimeoutWorld world{checkedTimeouts};
    for (auto& timeout : world.timeouts) {
        world.timer.schedule(timeout, 10s);
        world.timer.schedule(timeout, 30s);
    }
    const auto expired = std::count_if(world.timeouts.begin(), world.timeouts.end(),
                                       [](const Timeout& timeout) { return timeout.hasExpired(); });
    const auto cancelled = std::count_if(world.timeouts.begin(), world.timeouts.end(),
                                         [&world](Timeout& timeout) { return world.timer.cancelAndWait(timeout); });
    return firstOf({
        compare("expired timeouts", 0, expired),
        compare("cancelled timeouts", checkedTimeouts, cancelled),
    });
}

Mismatch checkCB3Timeouts(int threads) {
    CB3TimeoutWorld world{threads, checkedTimeouts};
    const auto moved = std::count_if(world.timeouts.begin(), world.timeouts.end(),
                                     [&world](TaskHandle task) { return world.pool.snooze(task, 30s); });
    const auto cancelled = std::count_if(world.timeouts.begin(), world.timeouts.end(),
                                         [&world](TaskHandle task) { return world.pool.cancel(task); });
    return firstOf({
        compare("fired timeouts", false, world.hasFired.load()),
        compare("moved timeouts", checkedTimeouts, moved),
        compare("cancelled timeouts", checkedTimeouts, cancelled),
    });
}

}  // namespace executor
