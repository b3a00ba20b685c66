// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/reference_check.h"

#include <gtest/gtest.h>

#include "flush_vbucket/per_item_callback.h"
#include "flush_vbucket/per_transaction_callback.h"

namespace flush_vbucket {
namespace {

class ReferenceCheckTest : public testing::TestWithParam<StoreKind> {};

INSTANTIATE_TEST_SUITE_P(All, ReferenceCheckTest, testing::ValuesIn(availableStores()),
                         [](const auto& info) { return std::string{storeName(info.param)}; });

template <typename Callback>
class ForgetfulFlusher : public FlusherOf<Callback> {
   public:
    FlushResult flush(VBucket& vbucket, KVStore& store) override {
        vbucket.checkpoints().take(1);
        return FlusherOf<Callback>::flush(vbucket, store);
    }
};

TEST_P(ReferenceCheckTest, EachVariantAnswersLikeTheMap) {
    FlusherOf<PerItemCallback> perItem;
    EXPECT_EQ(checkFlush(perItem, GetParam()).value_or("agrees"), "agrees");
    FlusherOf<PerTransactionCallback> perTransaction;
    EXPECT_EQ(checkFlush(perTransaction, GetParam()).value_or("agrees"), "agrees");
}

TEST_P(ReferenceCheckTest, AFlusherThatLosesItemsIsFound) {
    ForgetfulFlusher<PerTransactionCallback> flusher;
    EXPECT_TRUE(checkFlush(flusher, GetParam()).has_value());
}

TEST(QueueDirtyCheckTest, TheQueueAnswersLikeTheMap) { EXPECT_EQ(checkQueueDirty().value_or("agrees"), "agrees"); }

}  // namespace
}  // namespace flush_vbucket
