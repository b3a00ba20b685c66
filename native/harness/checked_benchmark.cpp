// SPDX-License-Identifier: Apache-2.0
#include "harness/checked_benchmark.h"

#include <algorithm>
#include <exception>

namespace benchgate {

Mismatch firstOf(std::initializer_list<Mismatch> mismatches) {
    const auto* found =
        std::find_if(mismatches.begin(), mismatches.end(), [](const Mismatch& one) { return one.has_value(); });
    return found == mismatches.end() ? std::nullopt : *found;
}

Mismatch CheckedAnswer::mismatch(int threads) {
    const std::lock_guard lock{mutex_};
    auto known = known_.find(threads);
    if (known == known_.end()) {
        known = known_.emplace(threads, runCheck(threads)).first;
    }
    return known->second;
}

Mismatch CheckedAnswer::runCheck(int threads) const {
    try {
        return check_(threads);
    } catch (const std::exception& error) {
        return std::string{"the check failed: "} + error.what();
    }
}

void rejectTime(benchmark::State& state, const std::string& reason) { state.SkipWithError(reason.c_str()); }

}  // namespace benchgate
