// SPDX-License-Identifier: Apache-2.0
#include "hash_table/stripe_counters.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "hash_table/reference_totals.h"

namespace hash_table {
namespace {

/// A kind of value, made from a plain one.
struct Kind {
    const char* name;
    std::function<void(Item&)> describe;
    bool isEjected = false;
};

StoredValue valueOf(const Kind& kind) {
    Item item{.key = "key", .value = "value"};
    kind.describe(item);
    StoredValue value{item};
    if (kind.isEjected) {
        value.eject();
    }
    return value;
}

std::vector<Kind> allKinds() {
    return {
        {"Plain", [](Item&) {}},
        {"Json", [](Item& item) { item.datatype = jsonDatatype; }},
        {"Compressed",
         [](Item& item) {
             item.datatype = snappyDatatype | xattrDatatype;
             item.inflatedSize = 500;
         }},
        {"Ejected", [](Item&) {}, true},
        {"Deleted", [](Item& item) { item.isDeleted = true; }},
        {"DeletedEjected", [](Item& item) { item.isDeleted = true; }, true},
        {"DeletedSystem", [](Item& item) { item.isDeleted = item.isSystem = true; }},
        {"DeletedPending", [](Item& item) { item.isDeleted = item.isPending = true; }},
        {"Temp", [](Item& item) { item.isTemp = true; }},
        {"TempEjected", [](Item& item) { item.isTemp = true; }, true},
        {"System", [](Item& item) { item.isSystem = true; }},
        {"Pending", [](Item& item) { item.isPending = true; }},
    };
}

Totals totalsOf(const Kind& kind) {
    Totals totals;
    countInReference(totals, valueOf(kind));
    return totals;
}

/// Counts a change in counters that start high enough that none of them stops at zero.
template <typename Counters>
Totals changed(const ValueProperties& before, const ValueProperties& after) {
    constexpr std::int64_t base = 1'000'000;
    Counters counters;
    visitCounters(counters, [](auto&&, auto& counter) { counter.add(base); });
    countChange(counters, before, after);
    Totals totals;
    visitCounters(totals, [](auto&&, std::int64_t& total) { total = -base; });
    addCounters(totals, counters);
    return totals;
}

class KindTest : public testing::TestWithParam<Kind> {};

TEST_P(KindTest, AValueThatComesCountsAsTheReferenceSays) {
    const StoredValue value = valueOf(GetParam());

    const Totals totals = changed<UnsignedCounters>({}, propertiesOf(&value));

    EXPECT_EQ(differenceBetween(totalsOf(GetParam()), totals), std::nullopt);
}

TEST_P(KindTest, AValueThatTurnsIntoAnyOtherKindCountsAsThat) {
    const StoredValue value = valueOf(GetParam());
    for (const Kind& other : allKinds()) {
        const StoredValue otherValue = valueOf(other);
        Totals totals = changed<SignedCounters>(propertiesOf(&value), propertiesOf(&otherValue));
        countInReference(totals, value);

        EXPECT_EQ(differenceBetween(totalsOf(other), totals), std::nullopt) << other.name;
    }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, KindTest, testing::ValuesIn(allKinds()),
                         [](const auto& test) { return std::string{test.param.name}; });

/// Tests of the reference itself, for cases that are easy to get wrong.
TEST(ReferenceTotalsTest, AnEjectedItemIsAnItemThatIsNotResident) {
    Totals totals;
    countInReference(totals, valueOf({"Ejected", [](Item&) {}, true}));

    EXPECT_EQ(totals.numItems, 1);
    EXPECT_EQ(totals.numNonResidentItems, 1);
    EXPECT_EQ(totals.cacheSize, totals.metaDataMemory);
}

TEST(ReferenceTotalsTest, ASystemItemThatIsDeletedIsNotADeletedItem) {
    Totals totals;
    countInReference(totals, valueOf({"DeletedSystem", [](Item& item) { item.isDeleted = item.isSystem = true; }}));

    EXPECT_EQ(totals.numDeletedItems, 0);
    EXPECT_EQ(totals.numSystemItems, 1);
}

TEST(ReferenceTotalsTest, TheFirstDifferenceIsReportedWithBothNumbers) {
    Totals expected;
    Totals actual;
    expected.datatypeCounts[3] = 5;
    actual.datatypeCounts[3] = -2;

    EXPECT_EQ(differenceBetween(expected, actual), "datatypeCounts[3]: -2 instead of 5");
    EXPECT_EQ(differenceBetween(expected, expected), std::nullopt);
}

/// Summing, comparing and resetting all use visitCounters(), so they could not notice a counter that it leaves out.
TEST(StripeCountersTest, EachCounterIsVisitedOnce) {
    Totals totals;
    std::set<std::string> names;
    std::set<const std::int64_t*> places;
    visitCounters(totals, [&](const std::string& name, const std::int64_t& counter) {
        names.insert(name);
        places.insert(&counter);
    });

    EXPECT_EQ(names.size(), stripeCounters);
    EXPECT_EQ(places.size(), stripeCounters);
}

TEST(StripeCountersTest, ANegativeStripeIsBalancedByAnother) {
    const StoredValue value{Item{.key = "key", .value = "value"}};
    SignedCounters whereItCame;
    SignedCounters whereItWent;
    countChange(whereItCame, {}, propertiesOf(&value));
    countChange(whereItWent, propertiesOf(&value), {});
    ASSERT_LT(whereItWent.numItems.load(), 0);

    Totals totals;
    addCounters(totals, whereItWent);
    addCounters(totals, whereItCame);

    EXPECT_EQ(differenceBetween(Totals{}, totals), std::nullopt);
}

TEST(StripeCountersTest, OneStripeDoesNotCountBelowZero) {
    const StoredValue value{Item{.key = "key", .value = "value"}};
    UnsignedCounters counters;
    countChange(counters, propertiesOf(&value), {});

    EXPECT_EQ(counters.numItems.load(), 0);
    EXPECT_EQ(counters.datatypeCounts[rawDatatype].load(), 0);
}

/// A counter that counts how often it was written to.
struct WriteCount {
    void add(std::int64_t /*delta*/) { ++writes; }
    int writes = 0;
};

TEST(StripeCountersTest, OnlyCountersThatChangeAreWrittenTo) {
    const StoredValue value{Item{.key = "key", .value = "value"}};
    const StoredValue sameSize{Item{.key = "key", .value = "other"}};
    StripeCounters<WriteCount, WriteCount> counters;
    countChange(counters, propertiesOf(&value), propertiesOf(&sameSize));
    int writes = 0;
    visitCounters(counters, [&writes](auto&&, const WriteCount& counter) { writes += counter.writes; });

    EXPECT_EQ(writes, 0);
}

TEST(StripeCountersTest, ANewItemWritesToSixCounters) {
    const StoredValue value{Item{.key = "key", .value = "value"}};
    StripeCounters<WriteCount, WriteCount> counters;
    countChange(counters, {}, propertiesOf(&value));
    int writes = 0;
    visitCounters(counters, [&writes](auto&&, const WriteCount& counter) { writes += counter.writes; });

    EXPECT_EQ(writes, 6);
    EXPECT_EQ(counters.numItems.writes, 1);
    EXPECT_EQ(counters.memSize.writes, 1);
    EXPECT_EQ(counters.uncompressedMemSize.writes, 1);
}

}  // namespace
}  // namespace hash_table
