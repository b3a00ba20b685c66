// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/scoped_directory.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace flush_vbucket {

ScopedDirectory::ScopedDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "flush_vbucket.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::system_error{errno, std::generic_category(), "cannot make " + name};
    }
    path_ = name;
}

ScopedDirectory::~ScopedDirectory() {
    std::error_code ignored;  // a destructor cannot report it
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace flush_vbucket
