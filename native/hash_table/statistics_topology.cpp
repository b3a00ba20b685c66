// SPDX-License-Identifier: Apache-2.0
#include "hash_table/statistics_topology.h"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "harness/pinning.h"

namespace hash_table {
namespace {

std::optional<int>& chosenCaches() {
    static std::optional<int> caches;
    return caches;
}

}  // namespace

void setLastLevelCaches(std::string_view count) {
    int caches = 0;
    const char* const end = count.data() + count.size();
    const auto [last, error] = std::from_chars(count.data(), end, caches);
    if (error != std::errc{} || last != end || caches < 1) {
        throw std::invalid_argument{"needs a whole number from 1"};
    }
    chosenCaches() = caches;
}

benchgate::Topology statisticsTopology() {
    const auto caches = chosenCaches();
    auto topology = benchgate::onlyCpus(benchgate::readTopology(), benchgate::allowedCpus());
    return caches ? benchgate::withLastLevelCaches(std::move(topology), *caches) : topology;
}

}  // namespace hash_table
