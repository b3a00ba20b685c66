// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/bucket.h"

#include <numeric>
#include <utility>

namespace send_buffer {
namespace {

/// Returns the memory of a document. It includes the key and roughly the map's own memory, so that empty documents
/// count too.
std::size_t footprint(const std::string& key, const Document& document) {
    constexpr std::size_t perDocument = 256;
    return std::accumulate(document.xattrs.begin(), document.xattrs.end(),
                           perDocument + key.size() + document.body.size(),
                           [](std::size_t sum, const Xattr& xattr) { return sum + encodedSize(xattr); });
}

}  // namespace

Status Bucket::setBody(const std::string& key, ByteView body, std::uint32_t flags, std::uint8_t datatype) {
    const std::lock_guard lock{mutex_};
    const auto known = documents_.find(key);
    Xattrs xattrs = known == documents_.end() ? Xattrs{} : known->second.xattrs;
    // Checked before the body is copied.
    if (!isWithin(limits_, body.size(), xattrs)) {
        return Status::TooBig;
    }
    return replace(
        key, {.body = {body.begin(), body.end()}, .xattrs = std::move(xattrs), .flags = flags, .datatype = datatype});
}

Status Bucket::set(const std::string& key, Document document) {
    const std::lock_guard lock{mutex_};
    return replace(key, std::move(document));
}

Status Bucket::upsertXattr(const std::string& key, Xattr xattr) {
    const std::lock_guard lock{mutex_};
    const auto known = documents_.find(key);
    if (known == documents_.end()) {
        return Status::KeyNotFound;
    }
    Document changed = known->second;
    upsert(changed.xattrs, std::move(xattr));
    return replace(key, std::move(changed));
}

std::optional<Document> Bucket::find(const std::string& key) const {
    const std::lock_guard lock{mutex_};
    const auto known = documents_.find(key);
    return known == documents_.end() ? std::nullopt : std::optional{known->second};
}

Status Bucket::replace(const std::string& key, Document document) {
    if (document.xattrs.size() > limits_.xattrsPerDocument ||
        !isWithin(limits_, document.body.size(), document.xattrs)) {
        return Status::TooBig;
    }
    const auto known = documents_.find(key);
    const std::size_t freed = known == documents_.end() ? 0 : footprint(key, known->second);
    const std::size_t used = used_ - freed + footprint(key, document);
    if (used > limits_.bucket) {
        return Status::OutOfMemory;
    }
    used_ = used;
    documents_[key] = std::move(document);
    return Status::Success;
}

}  // namespace send_buffer
