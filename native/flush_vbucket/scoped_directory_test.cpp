// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/scoped_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

namespace flush_vbucket {
namespace {

namespace fs = std::filesystem;

TEST(ScopedDirectoryTest, IsAnEmptyDirectoryBelowTheTemporaryOne) {
    const ScopedDirectory directory;
    EXPECT_TRUE(fs::is_empty(directory.path()));
    EXPECT_TRUE(fs::equivalent(directory.path().parent_path(), fs::temp_directory_path()));
}

TEST(ScopedDirectoryTest, TwoAtATimeAreDifferent) {
    const ScopedDirectory first;
    const ScopedDirectory second;
    EXPECT_NE(first.path(), second.path());
}

TEST(ScopedDirectoryTest, IsRemovedWithItsContentsWhenAnExceptionLeavesTheScope) {
    fs::path path;
    try {
        const ScopedDirectory directory;
        path = directory.path();
        fs::create_directory(path / "inner");
        std::ofstream{path / "inner" / "file"} << "content";
        throw std::runtime_error{"left early"};
    } catch (const std::runtime_error&) {
        EXPECT_FALSE(fs::exists(path));
    }
    EXPECT_FALSE(path.empty());
}

}  // namespace
}  // namespace flush_vbucket
