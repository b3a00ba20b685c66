// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/durable_file.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "flush_vbucket/kv_store.h"
#include "flush_vbucket/scoped_directory.h"

namespace flush_vbucket {
namespace {

class DurableFileTest : public testing::Test {
   protected:
    static void write(DurableFile& file, std::uint64_t offset, std::string_view text) {
        file.write(offset, std::as_bytes(std::span{text}));
    }

    static std::string read(const DurableFile& file, std::uint64_t offset, std::size_t size) {
        std::string text;
        for (const std::byte byte : file.read(offset, size)) {
            text.push_back(std::to_integer<char>(byte));
        }
        return text;
    }

    ScopedDirectory directory;
    std::filesystem::path path = directory.path() / "file";
};

TEST_F(DurableFileTest, ANewFileIsEmpty) { EXPECT_EQ(DurableFile{path}.size(), 0U); }

TEST_F(DurableFileTest, WrittenBytesAreReadAfterReopening) {
    {
        DurableFile file{path};
        write(file, 0, "head");
        write(file, 4, "tail");
        file.sync();
    }
    EXPECT_EQ(read(DurableFile{path}, 2, 4), "adta");
}

TEST_F(DurableFileTest, ReadingPastTheEndReturnsTheRest) {
    DurableFile file{path};
    write(file, 0, "head");
    EXPECT_EQ(read(file, 2, 100), "ad");
    EXPECT_EQ(read(file, 10, 100), "");
}

TEST_F(DurableFileTest, TruncatingCutsTheTail) {
    DurableFile file{path};
    write(file, 0, "headtail");
    file.truncate(4);
    EXPECT_EQ(file.size(), 4U);
    EXPECT_EQ(read(file, 0, 100), "head");
}

TEST_F(DurableFileTest, AMissingDirectoryIsAStoreError) {
    EXPECT_THROW(DurableFile{directory.path() / "absent" / "file"}, StoreError);
}

}  // namespace
}  // namespace flush_vbucket
