// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/vbucket_state.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace flush_vbucket {
namespace {

TEST(VBucketStateTest, SurvivesEncoding) {
    const VBucketState state{.highSeqno = 1, .maxCas = 0x0102030405060708, .maxDeletedRevision = 3};
    EXPECT_EQ(decodeState(encodeState(state)), state);
}

TEST(VBucketStateTest, AnotherLengthIsRefused) {
    const auto bytes = encodeState({});
    EXPECT_THROW(decodeState(std::span{bytes}.first(8)), std::invalid_argument);
}

}  // namespace
}  // namespace flush_vbucket
