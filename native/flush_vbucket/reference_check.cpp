// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/reference_check.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "flush_vbucket/flush_scenario.h"
#include "flush_vbucket/scoped_directory.h"
#include "flush_vbucket/vbucket.h"

namespace flush_vbucket {
namespace {

using benchgate::compare;
using benchgate::firstOf;
using benchgate::Mismatch;

constexpr std::size_t checkedItems = 300;
/// Small, so that a flush gets a key more than once.
constexpr std::size_t checkedCheckpoint = 50;
constexpr std::size_t checkedQueue = 1000;

/// Applies to a plain map the mutations that it applies to the vbucket, and keeps the counts that the vbucket should
/// report.
class Reference {
   public:
    explicit Reference(VBucket& vbucket) : vbucket_{vbucket} {}

    void set(const std::string& key, const std::string& value) {
        vbucket_.set(key, value);
        touch(key);
        memory_[key] = {.value = value, .cas = ++clock_, .revision = ++revisions_[key], .datatype = Datatype::Json};
    }

    void del(const std::string& key) {
        if (vbucket_.del(key)) {
            touch(key);
            ++clock_;
            ++revisions_[key];
            memory_.erase(key);
        }
    }

    /// A flush writes the current state of each key once.
    void flush() {
        for (const auto& key : touched_) {
            const bool wasThere = disk_.contains(key);
            const bool isThere = memory_.contains(key);
            created_ += !wasThere && isThere ? 1 : 0;
            updated_ += wasThere && isThere ? 1 : 0;
            deleted_ += wasThere && !isThere ? 1 : 0;
            if (!isThere) {
                revisions_.erase(key);  // after a deletion on disk, the key starts again
            }
        }
        persisted_ += static_cast<std::int64_t>(touched_.size());
        touched_.clear();
        disk_ = memory_;
    }

    [[nodiscard]] Mismatch differenceOf(const KVStore& store) const {
        const auto contents = store.readAll();
        return firstOf({
            compare("documents on disk", disk_.size(), contents.size()),
            contents == disk_ ? std::nullopt : Mismatch{"the documents on disk are not those of the map"},
            compare("highest cas on disk", clock_, store.state().maxCas),
            compare("highest seqno on disk", clock_, store.state().highSeqno),
        });
    }

    [[nodiscard]] Mismatch differenceOfCounts() const {
        const VBucketStats& stats = vbucket_.stats();
        return firstOf({
            compare("documents created", created_, stats.opsCreate.load()),
            compare("documents updated", updated_, stats.opsUpdate.load()),
            compare("documents deleted", deleted_, stats.opsDelete.load()),
            compare("documents counted", disk_.size(), stats.numTotalItems.load()),
            compare("items persisted", persisted_, stats.totalPersisted.load()),
            compare("items waiting", 0, stats.diskQueueSize.load()),
            compare("failures", 0, stats.flushFailed.load()),
            compare("dirty values", 0, vbucket_.hashTable().countDirty()),
        });
    }

   private:
    void touch(const std::string& key) { touched_.insert(key); }

    VBucket& vbucket_;
    KVStore::Contents memory_;
    KVStore::Contents disk_;
    std::set<std::string> touched_;
    std::map<std::string, std::uint64_t> revisions_;
    std::uint64_t clock_ = 0;
    std::int64_t created_ = 0;
    std::int64_t updated_ = 0;
    std::int64_t deleted_ = 0;
    std::int64_t persisted_ = 0;
};

/// Applies one round of mutations: sets all keys, sets some again, deletes some, and sets some of these again.
void mutate(Reference& reference, const std::string& round) {
    for (std::size_t number = 0; number < checkedItems; ++number) {
        reference.set(keyOf(number), round + std::to_string(number));
    }
    for (std::size_t number = 0; number < checkedItems; number += 3) {
        reference.set(keyOf(number), round + "again");
    }
    for (std::size_t number = 0; number < checkedItems; number += 5) {
        reference.del(keyOf(number));
    }
    for (std::size_t number = 0; number < checkedItems; number += 10) {
        reference.set(keyOf(number), round + "back");
    }
}

}  // namespace

Mismatch checkFlush(Flusher& flusher, StoreKind kind) {
    const ScopedDirectory directory;
    VBucket vbucket{checkedItems, checkedCheckpoint};
    Reference reference{vbucket};
    for (const auto* round : {"first", "second", "third"}) {
        mutate(reference, round);
        reference.flush();
        const auto store = openStore(kind, directory.path());
        flushAll(flusher, vbucket, *store);
        vbucket.checkpoints().removePersisted();
    }
    const auto reopened = openStore(kind, directory.path());
    return firstOf({reference.differenceOf(*reopened), reference.differenceOfCounts()});
}

Mismatch checkQueueDirty() {
    VBucket vbucket{1};
    std::map<std::string, const Item*> newest;
    const auto items = itemsWithDuplicates(checkedQueue);
    for (const auto& item : items) {
        vbucket.queueDirty(item);
        newest[item->key] = item.get();
    }
    const std::int64_t waiting = vbucket.stats().diskQueueSize;
    const auto queued = vbucket.checkpoints().take(checkedQueue).items;
    const auto wrong = std::count_if(queued.begin(), queued.end(),
                                     [&newest](const QueuedItem& item) { return newest[item->key] != item.get(); });
    const bool isInOrder = std::is_sorted(
        queued.begin(), queued.end(), [](const auto& left, const auto& right) { return left->seqno < right->seqno; });
    return firstOf({
        compare("items queued", newest.size(), queued.size()),
        compare("items counted", newest.size(), waiting),
        compare("items that are not their key's newest", 0, wrong),
        compare("seqnos in order", true, isInOrder),
    });
}

}  // namespace flush_vbucket
