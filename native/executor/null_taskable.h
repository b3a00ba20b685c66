// SPDX-License-Identifier: Apache-2.0
/// Variant `null_taskable`: an owner of tasks that keeps no statistics.
#pragma once

#include <string>
#include <string_view>

#include "executor/taskable.h"

namespace executor {

class NullTaskable : public Taskable {
   public:
    static constexpr std::string_view variant = "null_taskable";

    [[nodiscard]] const std::string& getName() const override { return name_; }
    [[nodiscard]] std::uintptr_t getGID() const override { return 0; }
    [[nodiscard]] WorkloadPriority getWorkloadPriority() const override { return policy_.priority; }
    void setWorkloadPriority(WorkloadPriority priority) override { policy_.priority = priority; }
    WorkLoadPolicy& getWorkLoadPolicy() override { return policy_; }
    // Out of line, so that a call through the interface stays a call.
    void logQTime(TaskId task, Duration waited) override;
    void logRunTime(TaskId task, Duration ran) override;
    [[nodiscard]] bool isShutdown() const override { return false; }

   private:
    std::string name_{"NullTaskable"};
    WorkLoadPolicy policy_;
};

}  // namespace executor
