// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/append_only_store.h"

#include <utility>

namespace flush_vbucket {
namespace {

constexpr std::size_t bufferSize = 65'536;

Record recordOf(const Document& document) {
    return {.kind = document.info.isDeleted ? RecordKind::Delete : RecordKind::Set,
            .seqno = document.info.seqno,
            .meta = document.info.meta,
            .key = document.body.key,
            .value = std::as_bytes(std::span{document.body.value})};
}

}  // namespace

AppendOnlyStore::AppendOnlyStore(const std::filesystem::path& directory) : file_{directory / fileName} {
    buffer_.reserve(bufferSize);
    replay();
    if (file_.size() > committedSize_) {
        file_.truncate(committedSize_);
        file_.sync();
    }
}

void AppendOnlyStore::commit(std::span<Document* const> documents, const VBucketState& state, const OnSaved& onSaved) {
    std::uint64_t end = 0;
    try {
        end = write(documents, state);
        file_.sync();
    } catch (...) {
        buffer_.clear();
        file_.truncate(committedSize_);
        throw;
    }
    committedSize_ = end;
    state_ = state;
    for (const Document* document : documents) {
        const DocumentInfo& info = document->info;
        if (info.isDeleted) {
            onSaved(*document, index_.erase(std::string{info.key}) == 1);
        } else {
            const Place place{.offset = info.offset, .size = info.physicalSize};
            onSaved(*document, !index_.insert_or_assign(std::string{info.key}, place).second);
        }
    }
}

std::uint64_t AppendOnlyStore::write(std::span<Document* const> documents, const VBucketState& state) {
    std::uint64_t drained = committedSize_;
    for (Document* document : documents) {
        const Record record = recordOf(*document);
        const std::size_t size = recordSize(record);
        if (buffer_.size() + size > bufferSize) {
            drained = drain(drained);
        }
        document->info.offset = drained + buffer_.size();
        document->info.physicalSize = size;
        appendRecord(buffer_, record);
    }
    const EncodedState encoded = encodeState(state);
    drained = drain(drained);
    appendRecord(buffer_, {.kind = RecordKind::Commit, .seqno = state.highSeqno, .value = encoded});
    return drain(drained);
}

std::uint64_t AppendOnlyStore::drain(std::uint64_t offset) {
    file_.write(offset, buffer_);
    offset += buffer_.size();
    buffer_.clear();
    return offset;
}

void AppendOnlyStore::replay() {
    const std::vector<std::byte> log = file_.read(0, file_.size());
    std::vector<std::pair<Record, std::uint64_t>> uncommitted;
    std::uint64_t offset = 0;
    while (const auto record = parseRecord(std::span{log}.subspan(offset))) {
        if (record->kind == RecordKind::Commit) {
            for (const auto& [document, start] : uncommitted) {
                if (document.kind == RecordKind::Delete) {
                    index_.erase(std::string{document.key});
                } else {
                    index_[std::string{document.key}] = {.offset = start, .size = document.size};
                }
            }
            uncommitted.clear();
            state_ = decodeState(record->value);
            committedSize_ = offset + record->size;
        } else {
            uncommitted.emplace_back(*record, offset);
        }
        offset += record->size;
    }
}

KVStore::Contents AppendOnlyStore::readAll() const {
    Contents contents;
    for (const auto& [key, place] : index_) {
        const auto bytes = file_.read(place.offset, place.size);
        const auto record = parseRecord(bytes);
        if (!record || record->key != key) {
            throw StoreError{"the document of key " + key + " is corrupt"};
        }
        contents.emplace(key, decodeDocument(record->meta, asText(record->value)));
    }
    return contents;
}

}  // namespace flush_vbucket
