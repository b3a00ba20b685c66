// SPDX-License-Identifier: Apache-2.0
#include "executor/taskable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <type_traits>

#include "executor/mock_taskable.h"
#include "executor/null_taskable.h"
#include "executor/selected_taskable.h"

namespace executor {
namespace {

using namespace std::chrono_literals;

template <typename Variant>
class TaskableTest : public testing::Test {
   protected:
    Variant taskable;
};

using Variants = testing::Types<MockTaskable, NullTaskable>;
TYPED_TEST_SUITE(TaskableTest, Variants);

TYPED_TEST(TaskableTest, IsRunningWithHighPriorityAndOneShard) {
    EXPECT_EQ(this->taskable.getGID(), 0U);
    EXPECT_EQ(this->taskable.getWorkloadPriority(), WorkloadPriority::High);
    EXPECT_EQ(this->taskable.getWorkLoadPolicy().shards, 1);
    EXPECT_FALSE(this->taskable.isShutdown());
}

TYPED_TEST(TaskableTest, KeepsItsPriorityInItsPolicy) {
    this->taskable.setWorkloadPriority(WorkloadPriority::Low);

    EXPECT_EQ(this->taskable.getWorkloadPriority(), WorkloadPriority::Low);
    EXPECT_EQ(this->taskable.getWorkLoadPolicy().priority, WorkloadPriority::Low);
}

TYPED_TEST(TaskableTest, RunTimesAreAccepted) { this->taskable.logRunTime(TaskId::ItemPager, 1us); }

TEST(MockTaskableTest, WarnsOfEachQueueTimeOnStdout) {
    MockTaskable taskable;
    testing::internal::CaptureStdout();
    taskable.logQTime(TaskId::ItemPager, 1us);
    taskable.logQTime(TaskId::ItemPager, 1us);
    const std::string printed = testing::internal::GetCapturedStdout();

    const std::string warning = "Uninteresting mock function call";
    const auto first = printed.find(warning);
    ASSERT_NE(first, std::string::npos);
    EXPECT_NE(printed.find(warning, first + 1), std::string::npos);
}

TEST(NullTaskableTest, PrintsNothing) {
    NullTaskable taskable;
    testing::internal::CaptureStdout();
    taskable.logQTime(TaskId::ItemPager, 1us);

    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(SelectedTaskableTest, IsMadeUnderItsOwnName) {
    EXPECT_EQ(taskableVariant(), SelectedTaskable::variant);
    EXPECT_NE(dynamic_cast<SelectedTaskable*>(makeTaskable().get()), nullptr);
}

}  // namespace
}  // namespace executor
