// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/vbucket_state.h"

#include <stdexcept>

#include "flush_vbucket/byte_order.h"

namespace flush_vbucket {

EncodedState encodeState(const VBucketState& state) {
    EncodedState bytes{};
    auto rest = putLittleEndian(std::span<std::byte>{bytes}, state.highSeqno);
    rest = putLittleEndian(rest, state.maxCas);
    putLittleEndian(rest, state.maxDeletedRevision);
    return bytes;
}

VBucketState decodeState(std::span<const std::byte> bytes) {
    if (bytes.size() != sizeof(EncodedState)) {
        throw std::invalid_argument{"the state of a vbucket has another length"};
    }
    VBucketState state;
    state.highSeqno = takeLittleEndian<std::uint64_t>(bytes);
    state.maxCas = takeLittleEndian<std::uint64_t>(bytes);
    state.maxDeletedRevision = takeLittleEndian<std::uint64_t>(bytes);
    return state;
}

}  // namespace flush_vbucket
