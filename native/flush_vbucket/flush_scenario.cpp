// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/flush_scenario.h"

#include <random>
#include <utility>

namespace flush_vbucket {
namespace {

constexpr std::size_t duplicateEvery = 10;

}  // namespace

std::string_view modeName(Mode mode) { return mode == Mode::Insert ? "insert" : "replace"; }

std::string keyOf(std::size_t number) { return "key" + std::to_string(number); }

std::vector<QueuedItem> itemsWithDuplicates(std::size_t count) {
    std::mt19937 random{1};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same numbers in every launch
    const Value value{new Blob{"x"}};
    std::vector<QueuedItem> items;
    items.reserve(count);
    while (items.size() < count) {
        const std::size_t number = items.size();
        const bool isDuplicate = (number + 1) % duplicateEvery == 0;
        items.push_back(makeRef<Item>(isDuplicate ? items[random() % number]->key : keyOf(number), value));
        items.back()->datatype = Datatype::Json;
    }
    return items;
}

FlushScenario::FlushScenario(std::unique_ptr<Flusher> flusher, StoreKind kind, Mode mode, std::size_t items)
    : flusher_{std::move(flusher)}, kind_{kind}, mode_{mode}, items_{items} {
    makeFresh();
    if (mode_ == Mode::Replace) {
        setAll();
        flush();
    }
}

void FlushScenario::prepare() {
    if (mode_ == Mode::Insert) {
        makeFresh();
    }
    vbucket_->checkpoints().removePersisted();
    setAll();
}

void FlushScenario::makeFresh() {
    store_.reset();  // before its directory
    directory_ = std::make_unique<ScopedDirectory>();
    store_ = openStore(kind_, directory_->path());
    vbucket_ = std::make_unique<VBucket>(items_);
}

void FlushScenario::setAll() {
    for (std::size_t number = 0; number < items_; ++number) {
        vbucket_->set(keyOf(number), "x");
    }
}

}  // namespace flush_vbucket
