/// The owner of tasks, as an executor pool sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "executor/workload_policy.h"

namespace executor {

/// Kinds of tasks, by which their statistics are kept.
enum class TaskId : std::uint8_t { ItemPager, TimeoutTask };

class Taskable {
   public:
    using Duration = std::chrono::steady_clock::duration;

    Taskable() = default;
    virtual ~Taskable() = default;
    Taskable(const Taskable&) = delete;
    Taskable& operator=(const Taskable&) = delete;
    Taskable(Taskable&&) = delete;
    Taskable& operator=(Taskable&&) = delete;

    [[nodiscard]] virtual const std::string& getName() const = 0;
    /// Identifies the owner within a pool.
    [[nodiscard]] virtual std::uintptr_t getGID() const = 0;
    [[nodiscard]] virtual WorkloadPriority getWorkloadPriority() const = 0;
    virtual void setWorkloadPriority(WorkloadPriority priority) = 0;
    virtual WorkLoadPolicy& getWorkLoadPolicy() = 0;
    /// How long a task waited before it ran. Called by any worker.
    virtual void logQTime(TaskId task, Duration waited) = 0;
    /// How long a task ran. Called by any worker.
    virtual void logRunTime(TaskId task, Duration ran) = 0;
    [[nodiscard]] virtual bool isShutdown() const = 0;
};

}  // namespace executor
