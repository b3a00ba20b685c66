// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/ref_counted.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace flush_vbucket {
namespace {

struct Witness : RefCounted {
    explicit Witness(int& deletions) : deletions_{deletions} {}
    Witness(const Witness&) = delete;
    Witness& operator=(const Witness&) = delete;
    Witness(Witness&&) = delete;
    Witness& operator=(Witness&&) = delete;
    ~Witness() { ++deletions_; }

   private:
    int& deletions_;
};

TEST(RefPtrTest, IsAsSmallAsAPointer) { EXPECT_EQ(sizeof(RefPtr<Witness>), sizeof(void*)); }

TEST(RefPtrTest, TheLastOwnerDeletes) {
    int deletions = 0;
    auto first = makeRef<Witness>(deletions);
    auto second = first;
    first = RefPtr<Witness>{};
    EXPECT_EQ(deletions, 0);
    second = RefPtr<Witness>{};
    EXPECT_EQ(deletions, 1);
}

TEST(RefPtrTest, MovingTransfersOwnership) {
    int deletions = 0;
    {
        auto first = makeRef<Witness>(deletions);
        const auto second = std::move(first);
        EXPECT_TRUE(second);
    }
    EXPECT_EQ(deletions, 1);
}

TEST(RefPtrTest, AssigningToItselfKeepsTheObject) {
    int deletions = 0;
    auto pointer = makeRef<Witness>(deletions);
    const auto& same = pointer;
    pointer = same;
    EXPECT_EQ(deletions, 0);
}

TEST(RefPtrTest, OwnersOnSeveralThreadsDeleteOnce) {
    int deletions = 0;
    {
        std::vector<std::jthread> owners;
        owners.reserve(4);
        auto pointer = makeRef<Witness>(deletions);
        for (int owner = 0; owner < 4; ++owner) {
            owners.emplace_back([pointer] {
                for (int copies = 0; copies < 1000; ++copies) {
                    RefPtr<Witness> copied;
                    copied = pointer;
                    ASSERT_EQ(copied.get(), pointer.get());
                }
            });
        }
    }
    EXPECT_EQ(deletions, 1);
}

}  // namespace
}  // namespace flush_vbucket
