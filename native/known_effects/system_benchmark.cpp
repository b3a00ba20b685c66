// SPDX-License-Identifier: Apache-2.0
/// Work of entering the kernel and returning.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "known_effects/known_effects_benchmarks.h"
#include "known_effects/measured_work.h"

namespace known_effects {
namespace {

/// An item asks for the parent's id, which the C library never caches.
class SystemCalls {
   public:
    static constexpr std::int64_t baseItems = 1'000;

    // NOLINTNEXTLINE(readability-convert-member-functions-to-static): like every other work
    std::uint64_t doItems(std::int64_t items) {
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            sum += static_cast<std::uint64_t>(::syscall(SYS_getppid));  // NOLINT(*-vararg): POSIX has no other
        }
        return sum;
    }

    static std::uint64_t reference(std::int64_t items) {
        return static_cast<std::uint64_t>(items) * static_cast<std::uint64_t>(::getppid());
    }
};

}  // namespace

void registerSystemBenchmarks() { registerWork<SystemCalls>("SystemCalls"); }

}  // namespace known_effects
