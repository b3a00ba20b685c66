// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "flush_vbucket/kv_store.h"

namespace flush_vbucket {
namespace {

constexpr mode_t ownerOnly = 0600;

[[noreturn]] void refuse(const std::string& what) {
    throw StoreError{what + ": " + std::generic_category().message(errno)};
}

void require(bool succeeded, const char* what) {
    if (!succeeded) {
        refuse(what);
    }
}

int openOrRefuse(const std::filesystem::path& path, int flags) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, ownerOnly);  // NOLINT(*-vararg): POSIX has no other
    if (descriptor < 0) {
        refuse("cannot open " + path.string());
    }
    return descriptor;
}

void syncDirectory(const std::filesystem::path& path) {
    const int descriptor = openOrRefuse(path, O_RDONLY | O_DIRECTORY);
    const bool synced = ::fsync(descriptor) == 0;
    ::close(descriptor);
    require(synced, "cannot sync a directory");
}

}  // namespace

DurableFile::DurableFile(const std::filesystem::path& path) : descriptor_{openOrRefuse(path, O_RDWR | O_CREAT)} {
    try {
        syncDirectory(path.parent_path());
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}

DurableFile::~DurableFile() { ::close(descriptor_); }

std::vector<std::byte> DurableFile::read(std::uint64_t offset, std::size_t size) const {
    std::vector<std::byte> bytes(size);
    std::size_t filled = 0;
    while (filled < size) {
        const ssize_t got =
            ::pread(descriptor_, bytes.data() + filled, size - filled, static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        require(got >= 0, "cannot read");
        if (got == 0) {
            break;
        }
        filled += static_cast<std::size_t>(got);
    }
    bytes.resize(filled);
    return bytes;
}

std::uint64_t DurableFile::size() const {
    struct stat status {};
    require(::fstat(descriptor_, &status) == 0, "cannot tell the size of a file");
    return static_cast<std::uint64_t>(status.st_size);
}

// NOLINTBEGIN(readability-make-member-function-const): they change the file
void DurableFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        require(written > 0, "cannot write");
        offset += static_cast<std::uint64_t>(written);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

void DurableFile::truncate(std::uint64_t size) {
    require(::ftruncate(descriptor_, static_cast<off_t>(size)) == 0, "cannot truncate");
}

void DurableFile::sync() { require(::fsync(descriptor_) == 0, "cannot sync"); }
// NOLINTEND(readability-make-member-function-const)

}  // namespace flush_vbucket
