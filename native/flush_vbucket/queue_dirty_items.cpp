#include "flush_vbucket/queue_dirty_items.h"

#include <random>

#include "flush_vbucket/flush_scenario.h"

namespace flush_vbucket {
namespace {

constexpr std::size_t duplicateEvery = 10;

}  // namespace

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

}  // namespace flush_vbucket
