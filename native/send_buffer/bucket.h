// SPDX-License-Identifier: Apache-2.0
/// The server's documents, which are kept within their limits.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "send_buffer/bytes.h"
#include "send_buffer/limits.h"
#include "send_buffer/protocol.h"
#include "send_buffer/xattrs.h"

namespace send_buffer {

struct Document {
    Bytes body;
    Xattrs xattrs;
    std::uint32_t flags = 0;
    /// `raw` or `json`, because bodies are kept uncompressed and without xattrs.
    std::uint8_t datatype = datatype::raw;
};

/// A bucket that any number of threads may use.
class Bucket {
   public:
    explicit Bucket(Limits limits) : limits_{limits} {}

    /// Sets a document's body and keeps its xattrs. If it returns TooBig or OutOfMemory, nothing has changed.
    Status setBody(const std::string& key, ByteView body, std::uint32_t flags, std::uint8_t datatype);

    /// Sets a whole document.
    Status set(const std::string& key, Document document);

    /// Adds an xattr to a document, or changes it. Returns KeyNotFound if there is no such document.
    Status upsertXattr(const std::string& key, Xattr xattr);

    [[nodiscard]] std::optional<Document> find(const std::string& key) const;

   private:
    using Documents = std::map<std::string, Document>;

    Status replace(const std::string& key, Document document);

    const Limits limits_;
    mutable std::mutex mutex_;
    Documents documents_;
    std::size_t used_ = 0;
};

}  // namespace send_buffer
