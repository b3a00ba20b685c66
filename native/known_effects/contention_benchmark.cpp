// SPDX-License-Identifier: Apache-2.0
/// Work on one counter that two threads compete for.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "known_effects/known_effects_benchmarks.h"
#include "known_effects/measured_work.h"

namespace known_effects {
namespace {

constexpr int contenders = 2;

/// An item adds one to a counter behind a mutex.
class ContendedMutex {
   public:
    static constexpr std::int64_t baseItems = 6'000;

    std::uint64_t doItems(std::int64_t items) {
        for (std::int64_t item = 0; item < items; ++item) {
            const std::lock_guard lock{mutex_};
            ++counter_;
        }
        return total();
    }

    std::uint64_t total() {
        const std::lock_guard lock{mutex_};
        return counter_;
    }

   private:
    std::mutex mutex_;
    std::uint64_t counter_ = 0;
};

/// An item adds one to an atomic counter.
class ContendedAtomic {
   public:
    static constexpr std::int64_t baseItems = 20'000;

    std::uint64_t doItems(std::int64_t items) {
        for (std::int64_t item = 0; item < items; ++item) {
            counter_.fetch_add(1);
        }
        return total();
    }

    [[nodiscard]] std::uint64_t total() const { return counter_.load(); }

   private:
    std::atomic<std::uint64_t> counter_{0};
};

/// Checks that no thread's items are lost.
template <typename Work>
benchgate::Mismatch checkContended(int threads) {
    const std::int64_t items = itemsPerIteration(Work::baseItems);
    Work work;
    {
        std::vector<std::jthread> running;
        running.reserve(static_cast<std::size_t>(threads));
        for (int thread = 0; thread < threads; ++thread) {
            running.emplace_back([&work, items] { work.doItems(items); });
        }
    }
    return benchgate::compare("counted items", threads * items, work.total());
}

}  // namespace

void registerContentionBenchmarks() {
    registerWork<ContendedMutex>("ContendedMutex", checkContended<ContendedMutex>)->Threads(contenders)->UseRealTime();
    registerWork<ContendedAtomic>("ContendedAtomic", checkContended<ContendedAtomic>)
        ->Threads(contenders)
        ->UseRealTime();
}

}  // namespace known_effects
