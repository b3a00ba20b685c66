// SPDX-License-Identifier: Apache-2.0
/// The owner of tasks, to which a pool reports how they ran.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace executor {

/// Kinds of tasks; owners keep statistics for each kind.
enum class TaskId : std::uint8_t { ItemPager, TimeoutTask };

enum class WorkloadPriority : std::uint8_t { Low, High };

/// The share of a pool that an owner of tasks asks for.
struct WorkLoadPolicy {
    WorkloadPriority priority = WorkloadPriority::High;
    int shards = 1;
};

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
    /// Records how long a task waited before it ran. Any worker may call it.
    virtual void logQTime(TaskId task, Duration waited) = 0;
    /// Records how long a task ran. Any worker may call it.
    virtual void logRunTime(TaskId task, Duration ran) = 0;
    [[nodiscard]] virtual bool isShutdown() const = 0;
};

/// Makes the selected variant. Only this function's source includes its type, so only that is recompiled when the
/// selection changes.
std::unique_ptr<Taskable> makeTaskable();

/// Returns the selected variant's name in results.
std::string_view taskableVariant();

}  // namespace executor
