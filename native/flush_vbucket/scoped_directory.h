// SPDX-License-Identifier: Apache-2.0
/// A temporary directory that is removed when its owner's scope ends, however that happens.
#pragma once

#include <filesystem>

namespace flush_vbucket {

class ScopedDirectory {
   public:
    /// Creates an empty directory of this process's own, below the system's directory for temporary files ($TMPDIR).
    ScopedDirectory();
    ~ScopedDirectory();
    ScopedDirectory(const ScopedDirectory&) = delete;
    ScopedDirectory& operator=(const ScopedDirectory&) = delete;
    ScopedDirectory(ScopedDirectory&&) = delete;
    ScopedDirectory& operator=(ScopedDirectory&&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

   private:
    std::filesystem::path path_;
};

}  // namespace flush_vbucket
