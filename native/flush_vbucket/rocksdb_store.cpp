// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/rocksdb_store.h"

#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <string>

#include "flush_vbucket/record_format.h"

namespace flush_vbucket {
namespace {

// A document's name in the database is `documentPrefix` and its key; the state has a name that cannot be a document's.
constexpr char documentPrefix = 'd';
constexpr std::string_view stateName = "state";

void require(const rocksdb::Status& status) {
    if (!status.ok()) {
        throw StoreError{"RocksDB: " + status.ToString()};
    }
}

rocksdb::Slice sliceOf(std::string_view text) { return {text.data(), text.size()}; }

rocksdb::Slice sliceOf(std::span<const std::byte> bytes) { return sliceOf(asText(bytes)); }

std::span<const std::byte> bytesOf(const rocksdb::Slice& slice) {
    return std::as_bytes(std::span{slice.data(), slice.size()});
}

void put(rocksdb::WriteBatch& batch, const rocksdb::Slice& name, const DocumentInfo& info, std::string_view value) {
    const std::array<rocksdb::Slice, 1> names{name};
    const std::array<rocksdb::Slice, 2> parts{sliceOf(info.meta), sliceOf(value)};
    require(batch.Put(rocksdb::SliceParts{names.data(), static_cast<int>(names.size())},
                      rocksdb::SliceParts{parts.data(), static_cast<int>(parts.size())}));
}

}  // namespace

RocksDBStore::RocksDBStore(const std::filesystem::path& directory) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* database = nullptr;
    require(rocksdb::DB::Open(options, directory.string(), &database));
    database_.reset(database);
}

void RocksDBStore::commit(std::span<Document* const> documents, const VBucketState& state, const OnSaved& onSaved) {
    rocksdb::WriteBatch batch;
    std::string name;
    for (const Document* document : documents) {
        name.assign(1, documentPrefix).append(document->body.key);
        onSaved(*document, isThere(name));
        if (document->info.isDeleted) {
            require(batch.Delete(name));
        } else {
            put(batch, name, document->info, document->body.value);
        }
    }
    require(batch.Put(sliceOf(stateName), sliceOf(encodeState(state))));
    rocksdb::WriteOptions options;
    options.sync = true;
    require(database_->Write(options, &batch));
}

bool RocksDBStore::isThere(const rocksdb::Slice& key) const {
    rocksdb::PinnableSlice value;
    const auto status = database_->Get({}, database_->DefaultColumnFamily(), key, &value);
    if (status.IsNotFound()) {
        return false;
    }
    require(status);
    return true;
}

KVStore::Contents RocksDBStore::readAll() const {
    Contents contents;
    const std::unique_ptr<rocksdb::Iterator> entry{database_->NewIterator({})};
    for (entry->Seek({&documentPrefix, 1}); entry->Valid(); entry->Next()) {
        if (!entry->key().starts_with({&documentPrefix, 1})) {
            break;
        }
        const auto value = bytesOf(entry->value());
        if (value.size() < encodedMetaSize) {
            throw StoreError{"RocksDB: a document without metadata"};
        }
        contents.emplace(entry->key().ToString().substr(1),
                         decodeDocument(value.first(encodedMetaSize), asText(value.subspan(encodedMetaSize))));
    }
    require(entry->status());
    return contents;
}

VBucketState RocksDBStore::state() const {
    std::string encoded;
    const auto status = database_->Get({}, sliceOf(stateName), &encoded);
    if (status.IsNotFound()) {
        return {};
    }
    require(status);
    return decodeState(bytesOf(encoded));
}

}  // namespace flush_vbucket
