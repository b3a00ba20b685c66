// SPDX-License-Identifier: Apache-2.0
#include "hash_table/per_core_counter.h"

#include <gtest/gtest.h>

#include "hash_table/run_together.h"

namespace hash_table {
namespace {

TEST(PerCoreCounterTest, SumsWhatThreadsOnAllCpusAdd) {
    constexpr int adders = 4;
    constexpr int addsEach = 1000;
    PerCoreCounter counter{benchgate::readTopology()};
    runTogether(adders, [&counter](int /*thread*/) {
        for (int add = 0; add < addsEach; ++add) {
            counter.add(3);
            counter.add(-1);
        }
    });

    EXPECT_EQ(counter.total(), 2 * adders * addsEach);
}

}  // namespace
}  // namespace hash_table
