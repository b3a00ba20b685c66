#include "flush_vbucket/flush_scenario.h"

#include <utility>

namespace flush_vbucket {

std::string_view modeName(Mode mode) { return mode == Mode::Insert ? "insert" : "replace"; }

std::string keyOf(std::size_t number) { return "key" + std::to_string(number); }

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
