// SPDX-License-Identifier: Apache-2.0
#include "executor/baton.h"

#include <gtest/gtest.h>

#include <thread>

namespace executor {
namespace {

TEST(BatonTest, FitsInFourBytes) { EXPECT_EQ(sizeof(Baton), 4U); }

TEST(BatonTest, APostedBatonDoesNotBlock) {
    Baton baton;
    baton.post();

    EXPECT_FALSE(baton.wait());
}

TEST(BatonTest, TheWaiterSeesWhatHappenedBeforeThePost) {
    Baton baton;
    int written = 0;
    std::thread writer{[&] {
        written = 42;
        baton.post();
    }};

    baton.wait();

    EXPECT_EQ(written, 42);
    writer.join();
}

TEST(BatonTest, CanBeUsedAgainAfterAReset) {
    Baton ping;
    Baton pong;
    constexpr int rounds = 2000;
    int answered = 0;
    std::thread echo{[&] {
        for (int round = 0; round < rounds; ++round) {
            ping.wait();
            ping.reset();
            ++answered;
            pong.post();
        }
    }};

    for (int round = 0; round < rounds; ++round) {
        ping.post();
        pong.wait();
        pong.reset();
    }
    echo.join();

    EXPECT_EQ(answered, rounds);
}

TEST(BatonTest, MayBeDestroyedAsSoonAsTheWaiterReturned) {
    for (int round = 0; round < 200; ++round) {
        std::thread poster;
        {
            Baton baton;
            poster = std::thread{[&baton] { baton.post(); }};
            baton.wait();
        }
        poster.join();
    }
}

}  // namespace
}  // namespace executor
