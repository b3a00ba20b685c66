// SPDX-License-Identifier: Apache-2.0
/// The part of a vbucket's history that it needs after a restart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace flush_vbucket {

struct VBucketState {
    std::uint64_t highSeqno = 0;
    std::uint64_t maxCas = 0;
    std::uint64_t maxDeletedRevision = 0;

    bool operator==(const VBucketState&) const = default;
};

using EncodedState = std::array<std::byte, 3 * sizeof(std::uint64_t)>;

EncodedState encodeState(const VBucketState& state);

/// Throws std::invalid_argument if `bytes` do not come from encodeState().
VBucketState decodeState(std::span<const std::byte> bytes);

}  // namespace flush_vbucket
