// SPDX-License-Identifier: Apache-2.0
/// Variant `mock_taskable`: an owner of tasks of which only logQTime is a GoogleMock method.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "executor/taskable.h"

namespace executor {

/// The mock has no expectations, so every logQTime is an "uninteresting call": GoogleMock takes its global locks,
/// formats the call and prints a warning to stdout. The suite measures this cost, which all workers pay in turn.
class MockTaskable : public Taskable {
   public:
    static constexpr std::string_view variant = "mock_taskable";

    // Out of line, as GoogleMock recommends, because they are slow to compile.
    MockTaskable();
    ~MockTaskable() override;
    MockTaskable(const MockTaskable&) = delete;
    MockTaskable& operator=(const MockTaskable&) = delete;
    MockTaskable(MockTaskable&&) = delete;
    MockTaskable& operator=(MockTaskable&&) = delete;

    [[nodiscard]] const std::string& getName() const override { return name_; }
    [[nodiscard]] std::uintptr_t getGID() const override { return 0; }
    [[nodiscard]] WorkloadPriority getWorkloadPriority() const override { return policy_.priority; }
    void setWorkloadPriority(WorkloadPriority priority) override { policy_.priority = priority; }
    WorkLoadPolicy& getWorkLoadPolicy() override { return policy_; }
    MOCK_METHOD(void, logQTime, (TaskId task, Duration waited), (override));
    void logRunTime(TaskId /*task*/, Duration /*ran*/) override {}
    [[nodiscard]] bool isShutdown() const override { return false; }

   private:
    std::string name_{"MockTaskable"};
    WorkLoadPolicy policy_;
};

}  // namespace executor
