// SPDX-License-Identifier: Apache-2.0
#include "harness/command_line.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace benchgate {
namespace {

/// The values that the options below were set to, in the order of the calls.
std::vector<std::string>& settings() {
    static std::vector<std::string> values;
    return values;
}

void setLlcs(std::string_view value) {
    if (value == "0") {
        throw std::invalid_argument{"0 is not between 1 and 2"};
    }
    settings().push_back("llcs " + std::string{value});
}

void setStore(std::string_view value) { settings().push_back("store " + std::string{value}); }

class TakeOptionsTest : public testing::Test {
   protected:
    void SetUp() override { settings().clear(); }

    std::vector<ContextEntry> take(std::vector<std::string> given) {
        given.insert(given.begin(), "program");
        std::vector<char*> argv;
        argv.reserve(given.size() + 1);
        for (std::string& argument : given) {
            argv.push_back(argument.data());
        }
        argv.push_back(nullptr);
        auto argc = static_cast<int>(given.size());
        auto entries =
            takeOptions({{.name = "llcs", .set = setLlcs}, {.name = "store", .set = setStore}}, argc, argv.data());
        endsWithNull = argv.at(static_cast<std::size_t>(argc)) == nullptr;
        left.assign(argv.begin() + 1, argv.begin() + argc);
        return entries;
    }

    std::string refusal(const std::vector<std::string>& given) {
        try {
            take(given);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "not refused";
    }

    std::vector<std::string> left;
    bool endsWithNull = false;
};

using Texts = std::vector<std::string>;

TEST_F(TakeOptionsTest, SetsAnOptionAndTakesItOutOfTheArguments) {
    take({"--benchmark_filter=A", "--llcs=2", "--benchmark_repetitions=3"});

    EXPECT_EQ(settings(), (Texts{"llcs 2"}));
    EXPECT_EQ(left, (Texts{"--benchmark_filter=A", "--benchmark_repetitions=3"}));
    EXPECT_TRUE(endsWithNull);
}

TEST_F(TakeOptionsTest, StampsWhatWasGivenAndNothingElse) {
    EXPECT_EQ(take({"--llcs=2"}), (std::vector<ContextEntry>{{"benchgate_option_llcs", "2"}}));
    EXPECT_TRUE(take({}).empty());
}

TEST_F(TakeOptionsTest, OptionsAreSetInTheOrderOfTheSuite) {
    const auto entries = take({"--store=file", "--llcs=1"});

    EXPECT_EQ(settings(), (Texts{"llcs 1", "store file"}));
    EXPECT_EQ(entries.size(), 2U);
}

TEST_F(TakeOptionsTest, TheLastOfTwoValuesCounts) {
    const auto entries = take({"--llcs=0", "--llcs=2"});

    EXPECT_EQ(settings(), (Texts{"llcs 2"}));
    EXPECT_EQ(entries, (std::vector<ContextEntry>{{"benchgate_option_llcs", "2"}}));
}

TEST_F(TakeOptionsTest, AValueMayBeEmptyAndMayHoldAnEqualsSign) {
    take({"--llcs=", "--store=a=b"});

    EXPECT_EQ(settings(), (Texts{"llcs ", "store a=b"}));
}

TEST_F(TakeOptionsTest, ARefusalNamesTheOption) {
    EXPECT_EQ(refusal({"--llcs=0"}), "--llcs: 0 is not between 1 and 2");
}

TEST_F(TakeOptionsTest, AnOptionWithoutAValueIsRefused) {
    EXPECT_EQ(refusal({"--llcs", "2"}), "--llcs: needs a value, as in --llcs=<value>");
}

TEST_F(TakeOptionsTest, FlagsThatOnlyLookAlikeAreLeft) {
    const Texts strangers{"--llcsx=1", "-llcs=1", "llcs=1", "--llc=1", "--", "--=1", ""};
    take(strangers);

    EXPECT_EQ(left, strangers);
    EXPECT_TRUE(settings().empty());
}

std::string expand(std::string_view filter) {
    return expandAliases({{.shorthand = "HTB/", .prefix = "HashTableBench/"}, {.shorthand = "Q/", .prefix = "Queue/"}},
                         filter);
}

TEST(ExpandAliasesTest, AFilterMayBeginWithAShorthand) {
    EXPECT_EQ(expand("HTB/Insert"), "HashTableBench/Insert");
    EXPECT_EQ(expand("^HTB/Insert$"), "^HashTableBench/Insert$");
    EXPECT_EQ(expand("HTB/"), "HashTableBench/");
}

TEST(ExpandAliasesTest, ANegatedFilterMayBeginWithAShorthand) {
    EXPECT_EQ(expand("-HTB/Insert"), "-HashTableBench/Insert");
    EXPECT_EQ(expand("-^HTB/Insert"), "-^HashTableBench/Insert");
}

TEST(ExpandAliasesTest, EachAlternativeMayBeginWithAShorthand) {
    EXPECT_EQ(expand("HTB/Insert|HTB/Delete"), "HashTableBench/Insert|HashTableBench/Delete");
    EXPECT_EQ(expand("^(HTB/Insert|Q/Pop)"), "^(HashTableBench/Insert|Queue/Pop)");
    EXPECT_EQ(expand("(^HTB/.*/threads:2$)"), "(^HashTableBench/.*/threads:2$)");
}

TEST(ExpandAliasesTest, AShorthandInsideOfANameIsLeft) {
    for (const std::string filter :
         {"MyHTB/Insert", "Bench/HTB/Insert", "x-HTB/Insert", "HTB", ".*HTB/", "HashTableBench/HTB/"}) {
        EXPECT_EQ(expand(filter), filter);
    }
}

TEST(ExpandAliasesTest, OtherFiltersAreLeft) {
    for (const std::string filter : {"", ".", "all", "-", "HashTableBench/Insert"}) {
        EXPECT_EQ(expand(filter), filter);
    }
}

TEST(DescribeCommandLineTest, NamesOptionsAndShorthands) {
    const Suite suite{
        .name = "hash_table",
        .variant = "single",
        .registerBenchmarks = nullptr,
        .options = {{.name = "llcs", .set = setLlcs, .help = "stripes"}, {.name = "store", .set = setStore}},
        .aliases = {{.shorthand = "HTB/", .prefix = "HashTableBench/"}}};

    EXPECT_EQ(describeCommandLine(suite),
              "suite hash_table\n"
              "          [--llcs=<value>]  stripes\n"
              "          [--store=<value>]\n"
              "          HTB/ in --benchmark_filter stands for HashTableBench/\n");
}

TEST(DescribeCommandLineTest, IsEmptyWithoutOptionsAndShorthands) {
    EXPECT_EQ(describeCommandLine({.name = "sort", .variant = "introsort", .registerBenchmarks = nullptr}), "");
}

}  // namespace
}  // namespace benchgate
