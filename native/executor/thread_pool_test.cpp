// SPDX-License-Identifier: Apache-2.0
#include "executor/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

namespace executor {
namespace {

using namespace std::chrono_literals;

/// Keeps the statistics that the pool reported.
class StatsLog {
   public:
    void subscribe(ThreadPool& pool) {
        pool.subscribeToTaskStats([this](const TaskStats& stats) {
            const std::lock_guard lock{mutex_};
            stats_.push_back(stats);
        });
    }

    /// Must be called only after the pool was shut down.
    [[nodiscard]] const std::vector<TaskStats>& all() const { return stats_; }

   private:
    std::mutex mutex_;
    std::vector<TaskStats> stats_;
};

TEST(ThreadPoolTest, OneWorkerRunsTasksInTheirOrder) {
    std::vector<int> order;
    ThreadPool pool{1};
    for (int task = 0; task < 100; ++task) {
        pool.add([&order, task] { order.push_back(task); });
    }
    pool.shutdown();

    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(order, expected);
}

TEST(ThreadPoolTest, ShutdownRunsEverythingThatWasAdded) {
    std::atomic<int> ran{0};
    ThreadPool pool{4};
    for (int task = 0; task < 1000; ++task) {
        pool.add([&ran] { ++ran; });
    }
    pool.shutdown();

    EXPECT_EQ(ran, 1000);
}

TEST(ThreadPoolTest, ShutdownTwiceIsHarmless) {
    ThreadPool pool{2};
    pool.shutdown();
    pool.shutdown();
}

TEST(ThreadPoolTest, RefusesTasksAfterShutdown) {
    ThreadPool pool{1};
    pool.shutdown();

    EXPECT_THROW(pool.add([] {}), std::logic_error);
}

TEST(ThreadPoolTest, APoolWithoutWorkersDropsItsTasks) {
    const auto resource = std::make_shared<int>(1);
    {
        ThreadPool pool{0};
        pool.add([resource] {});
    }

    EXPECT_EQ(resource.use_count(), 1);
}

TEST(ThreadPoolTest, AllWorkersRunAtTheSameTime) {
    constexpr int workers = 3;
    std::latch together{workers};
    ThreadPool pool{workers};
    for (int task = 0; task < workers; ++task) {
        // With fewer workers this would never end.
        pool.add([&together] { together.arrive_and_wait(); });
    }
    pool.shutdown();

    EXPECT_TRUE(together.try_wait());
}

TEST(ThreadPoolTest, ARunningTaskMakesItsWorkerBusy) {
    int busy = 0;
    ThreadPool pool{2};
    pool.add([&] { busy = pool.busyWorkers(); });
    pool.shutdown();

    EXPECT_EQ(busy, 1);
    EXPECT_EQ(pool.busyWorkers(), 0);
}

TEST(ThreadPoolTest, ReportsEachTaskOnceToEachSubscriber) {
    StatsLog first;
    StatsLog second;
    ThreadPool pool{2};
    first.subscribe(pool);
    second.subscribe(pool);
    for (int task = 0; task < 50; ++task) {
        pool.add([] {});
    }
    pool.shutdown();

    EXPECT_EQ(first.all().size(), 50U);
    EXPECT_EQ(second.all().size(), 50U);
}

TEST(ThreadPoolTest, ReportsHowLongATaskWaitedAndRan) {
    constexpr auto busy = 3ms;
    StatsLog log;
    ThreadPool pool{1};
    log.subscribe(pool);
    const auto spin = [busy] {
        const auto until = Clock::now() + busy;
        while (Clock::now() < until) {
        }
    };
    pool.add(spin);
    pool.add(spin);
    pool.shutdown();

    ASSERT_EQ(log.all().size(), 2U);
    const TaskStats& second = log.all().back();
    EXPECT_GE(second.runTime, busy);
    EXPECT_GE(second.enqueueTime + second.waitTime, log.all().front().enqueueTime + busy);
    EXPECT_FALSE(second.expired);
}

TEST(ThreadPoolTest, EachWorkerIsPreparedOnceWithItsIndex) {
    std::mutex mutex;
    std::multiset<int> prepared;
    {
        const ThreadPool pool{3, [&](int worker) {
                                  const std::lock_guard lock{mutex};
                                  prepared.insert(worker);
                              }};
    }

    EXPECT_EQ(prepared, (std::multiset<int>{0, 1, 2}));
}

}  // namespace
}  // namespace executor
