// SPDX-License-Identifier: Apache-2.0
#include "hash_table/reference_check.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hash_table/reference_totals.h"
#include "hash_table/run_together.h"
#include "hash_table/worlds.h"

namespace hash_table {
namespace {

using benchgate::Mismatch;

constexpr int checkedItems = 600;

using Contents = std::map<std::string, std::string>;

/// Of every three items, one is only inserted, one is also replaced, and one is deleted again.
enum class Fate : std::uint8_t { Kept, Replaced, Deleted };

Fate fateOf(int index) { return static_cast<Fate>(index % 3); }

/// Returns the item with a longer value, so that sizes change.
Item replacementOf(Item item) {
    item.value = "yy";
    item.datatype = jsonDatatype;
    return item;
}

void mutate(SelectedTable& table, int thread) {
    int index = 0;
    for (const Item& item : makeItems(thread, checkedItems)) {
        table.set(item);
        const Fate fate = fateOf(index++);
        if (fate == Fate::Replaced) {
            table.set(replacementOf(item));
        } else if (fate == Fate::Deleted) {
            table.remove(table.findForWrite(item.key));
        }
    }
}

Contents expectedContents(int threads) {
    Contents contents;
    for (int thread = 0; thread < threads; ++thread) {
        int index = 0;
        for (const Item& item : makeItems(thread, checkedItems)) {
            const Fate fate = fateOf(index++);
            if (fate != Fate::Deleted) {
                contents[item.key] = fate == Fate::Kept ? item.value : replacementOf(item).value;
            }
        }
    }
    return contents;
}

Mismatch compareWithContents(SelectedTable& table, const Contents& expected) {
    Contents actual;
    Totals totals;
    bool isEachKeyThereOnce = true;
    table.visit([&](const StoredValue& value) {
        isEachKeyThereOnce = actual.emplace(value.key(), value.value()).second && isEachKeyThereOnce;
        countInReference(totals, value);
    });
    if (!isEachKeyThereOnce || actual != expected) {
        return "the table has other contents than the reference";
    }
    return differenceBetween(totals, table.totals());
}

Mismatch compareBytes(std::int64_t expected, const PerCoreCounter& actual) {
    return benchgate::compare("bytes of metadata in the bucket", expected, actual.total());
}

Mismatch checkMutations(int threads) {
    const auto topology = statisticsTopology();
    PerCoreCounter bucketMetaData{topology};
    SelectedTable table{topology, bucketMetaData};
    runTogether(threads, [&table](int thread) {
        mutate(table, thread);
        table.resize(static_cast<std::size_t>(thread) + checkedItems);
    });
    Mismatch mismatch = compareWithContents(table, expectedContents(threads));
    if (!mismatch) {
        mismatch = compareBytes(table.totals().metaDataMemory, bucketMetaData);
    }
    table.clear();
    if (!mismatch) {
        mismatch = compareWithContents(table, {});
    }
    return mismatch ? mismatch : compareBytes(0, bucketMetaData);
}

/// Checks the statistics after each value was counted as new, and then every second one as gone.
template <Stride stride>
Mismatch checkCounting(int threads) {
    StatisticsWorld<stride> world{threads, checkedItems};
    runTogether(threads, [&world](int thread) {
        bool isGone = false;
        for (const auto& value : world.values[static_cast<std::size_t>(thread)]) {
            world.statistics.epilogue(world.statistics.prologue(nullptr), value.get());
            if (isGone) {
                world.statistics.epilogue(world.statistics.prologue(value.get()), nullptr);
            }
            isGone = !isGone;
        }
    });
    Totals expected;
    for (const auto& values : world.values) {
        for (std::size_t index = 0; index < values.size(); index += 2) {
            countInReference(expected, *values[index]);
        }
    }
    const Mismatch mismatch = differenceBetween(expected, world.statistics.totals());
    return mismatch ? mismatch : compareBytes(expected.metaDataMemory, world.bucketMetaData);
}

}  // namespace

Mismatch checkTable(int threads) {
    const Mismatch alone = checkMutations(1);
    return alone ? alone : checkMutations(threads);
}

template <Stride stride>
Mismatch checkStatistics(int threads) {
    const Mismatch alone = checkCounting<stride>(1);
    return alone ? alone : checkCounting<stride>(threads);
}

template Mismatch checkStatistics<Stride::Unpadded>(int threads);
template Mismatch checkStatistics<Stride::Padded>(int threads);

}  // namespace hash_table
