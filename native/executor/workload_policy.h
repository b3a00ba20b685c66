/// How much of a pool an owner of tasks asks for.
#pragma once

#include <cstdint>

namespace executor {

enum class WorkloadPriority : std::uint8_t { Low, High };

struct WorkLoadPolicy {
    WorkloadPriority priority = WorkloadPriority::High;
    int shards = 1;
};

}  // namespace executor
