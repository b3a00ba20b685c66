// SPDX-License-Identifier: Apache-2.0
#include "executor/single_lock_pool.h"

#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "executor/null_taskable.h"

namespace executor {
namespace {

using namespace std::chrono_literals;
using Sleep = std::optional<RecurringTask::Clock::duration>;

class LambdaTask : public RecurringTask {
   public:
    LambdaTask(Taskable& owner, std::function<Sleep()> body, int priority = 0)
        : RecurringTask{owner, TaskId::ItemPager, priority}, body_{std::move(body)} {}

    Sleep run() override { return body_(); }

   private:
    std::function<Sleep()> body_;
};

/// Counts the reports that it gets.
class CountingTaskable : public NullTaskable {
   public:
    void logQTime(TaskId /*task*/, Duration waited) override { waits += waited >= 0ns ? 1 : 0; }
    void logRunTime(TaskId /*task*/, Duration ran) override { runs += ran >= 0ns ? 1 : 0; }

    std::atomic<int> waits{0};
    std::atomic<int> runs{0};
};

class SingleLockPoolTest : public testing::Test {
   protected:
    void SetUp() override { pool.emplace(WorkerCounts{}).registerTaskable(owner); }

    TaskHandle schedule(std::function<Sleep()> body, RecurringTask::Clock::duration delay = {}, int priority = 0) {
        return pool->schedule(std::make_shared<LambdaTask>(owner, std::move(body), priority), WorkerKind::NonIO, delay);
    }

    /// Blocks the only NonIO worker until the returned latch is counted down. Returns once the worker is blocked.
    std::shared_ptr<std::latch> blockWorker() {
        auto release = std::make_shared<std::latch>(1);
        std::latch begun{1};
        schedule([release, &begun] {
            begun.count_down();
            release->wait();
            return std::nullopt;
        });
        begun.wait();
        return release;
    }

    CountingTaskable owner;
    std::optional<SingleLockPool> pool;
};

TEST_F(SingleLockPoolTest, AFinishedTaskRunsOnceAndIsForgotten) {
    std::latch done{2};
    int runs = 0;
    const auto handle = schedule([&] {
        ++runs;
        done.count_down();
        return std::nullopt;
    });
    // The only worker takes this task after it has put the first one away.
    schedule([&] {
        done.count_down();
        return std::nullopt;
    });
    done.wait();

    EXPECT_EQ(runs, 1);
    EXPECT_FALSE(pool->cancel(handle));
}

TEST_F(SingleLockPoolTest, ATaskThatIsNotFinishedRunsAgain) {
    std::latch done{3};
    int runs = 0;
    schedule([&]() -> Sleep {
        ++runs;
        done.count_down();
        return runs < 3 ? Sleep{1ms} : std::nullopt;
    });
    done.wait();
    pool.reset();

    EXPECT_EQ(runs, 3);
}

TEST_F(SingleLockPoolTest, ReadyTasksRunByPriorityThenByAge) {
    std::vector<int> order;
    std::latch done{3};
    const auto release = blockWorker();
    for (const auto& [name, priority] : {std::pair{1, 5}, {2, 0}, {3, 5}}) {
        schedule(
            [&order, &done, name = name] {
                order.push_back(name);
                done.count_down();
                return std::nullopt;
            },
            {}, priority);
    }
    release->count_down();
    done.wait();

    EXPECT_EQ(order, (std::vector<int>{2, 1, 3}));
}

TEST_F(SingleLockPoolTest, ASleepingTaskCanBeWokenByASnoozeToNow) {
    std::latch done{1};
    const auto handle = schedule(
        [&] {
            done.count_down();
            return std::nullopt;
        },
        1h);

    EXPECT_TRUE(pool->snooze(handle, 0s));
    done.wait();
}

TEST_F(SingleLockPoolTest, ASnoozedTaskDoesNotRunAtItsOldTime) {
    bool hasRun = false;
    std::latch done{1};
    const auto release = blockWorker();
    const auto handle = schedule([&] {
        hasRun = true;
        return std::nullopt;
    });
    pool->snooze(handle, 1h);
    schedule([&] {
        done.count_down();
        return std::nullopt;
    });
    release->count_down();
    done.wait();
    pool.reset();

    EXPECT_FALSE(hasRun);
}

TEST_F(SingleLockPoolTest, ACancelledTaskIsDropped) {
    const auto handle = schedule([] { return std::nullopt; }, 1h);

    EXPECT_TRUE(pool->cancel(handle));
    EXPECT_FALSE(pool->snooze(handle, 0s));
    EXPECT_FALSE(pool->cancel(handle));
}

TEST_F(SingleLockPoolTest, EachTurnIsReportedToTheOwner) {
    std::latch done{2};
    schedule([&]() -> Sleep {
        done.count_down();
        return done.try_wait() ? std::nullopt : Sleep{0s};
    });
    done.wait();
    pool.reset();

    EXPECT_EQ(owner.waits, 2);
    EXPECT_EQ(owner.runs, 2);
}

TEST_F(SingleLockPoolTest, RefusesTasksOfAnUnknownOwner) {
    NullTaskable stranger;
    const auto task = std::make_shared<LambdaTask>(stranger, [] { return std::nullopt; });

    EXPECT_THROW(pool->schedule(task, WorkerKind::NonIO), std::logic_error);
}

TEST_F(SingleLockPoolTest, AKindOfWorkerMayNotBeAbsent) {
    EXPECT_THROW(SingleLockPool(WorkerCounts{.auxIO = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace executor
