// SPDX-License-Identifier: Apache-2.0
#include "harness/pinning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <thread>

namespace benchgate {
namespace {

int countOwnCpus() {
    cpu_set_t own{};
    sched_getaffinity(0, sizeof(own), &own);
    return CPU_COUNT(&own);
}

class PinningTest : public testing::Test {
   protected:
    void SetUp() override {
        if (!probePinning().isPermitted) {
            GTEST_SKIP() << "this system does not let a thread choose its CPU";
        }
    }
};

TEST_F(PinningTest, ThreadsGetDifferentCpusUntilTheyRunOut) {
    const auto count = static_cast<int>(allowedCpus().size());

    for (int index = 1; index < count; ++index) {
        EXPECT_NE(cpuForThread(index), cpuForThread(index - 1));
    }
    EXPECT_EQ(cpuForThread(count), cpuForThread(0));
}

TEST_F(PinningTest, ThreadIGetsTheIthAllowedCpu) {
    const auto& cpus = allowedCpus();

    EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        EXPECT_EQ(cpuForThread(static_cast<int>(i)), cpus[i]);
    }
}

TEST_F(PinningTest, APinHoldsTheThreadOnItsCpu) {
    const int cpu = allowedCpus().back();
    const ScopedPin pin{cpu};

    EXPECT_TRUE(pin.isPinned());
    EXPECT_EQ(sched_getcpu(), cpu);
    EXPECT_EQ(countOwnCpus(), 1);
}

TEST_F(PinningTest, APinGivesTheCpusBack) {
    const int before = countOwnCpus();
    { const ScopedPin pin{cpuForThread(0)}; }

    EXPECT_EQ(countOwnCpus(), before);
}

TEST_F(PinningTest, ACpuThatIsNotThereIsRefused) {
    const ScopedPin pin{CPU_SETSIZE - 1};

    EXPECT_FALSE(pin.isPinned());
}

TEST_F(PinningTest, PinningForGoodLastsAsLongAsTheThread) {
    int ownCpus = 0;
    std::thread{[&ownCpus] {
        pinForGood(cpuForThread(0));
        ownCpus = countOwnCpus();
    }}.join();

    EXPECT_EQ(ownCpus, 1);
}

}  // namespace
}  // namespace benchgate
