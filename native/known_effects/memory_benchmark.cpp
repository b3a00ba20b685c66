// SPDX-License-Identifier: Apache-2.0
/// Work that waits for memory: chasing pointers in a cache and beyond it, and copying.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "known_effects/known_effects_benchmarks.h"
#include "known_effects/measured_work.h"
#include "known_effects/random_numbers.h"

namespace known_effects {
namespace {

constexpr std::size_t nodeBytes = 64;

struct alignas(nodeBytes) Node {
    const Node* next = nullptr;
    std::uint64_t place = 0;
};

std::vector<Node> makeNodes(std::uint32_t count) {
    const auto next = randomCycle(count);
    std::vector<Node> nodes(count);
    for (std::uint32_t place = 0; place < count; ++place) {
        nodes[place] = {.next = &nodes[next[place]], .place = place};
    }
    return nodes;
}

/// An item is a step from a node to the next of a random cycle through `bytes` of memory, which is made once.
template <std::uint32_t bytes, std::int64_t itemsAtZero>
class Walk {
   public:
    static constexpr std::int64_t baseItems = itemsAtZero;

    std::uint64_t doItems(std::int64_t items) {
        for (std::int64_t item = 0; item < items; ++item) {
            node_ = node_->next;
        }
        return node_->place;
    }

    static std::uint64_t reference(std::int64_t items) {
        const auto next = randomCycle(nodeCount);
        std::uint32_t place = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            place = next[place];
        }
        return place;
    }

   private:
    static constexpr std::uint32_t nodeCount = bytes / nodeBytes;

    static const Node* firstNode() {
        static const std::vector<Node> nodes = makeNodes(nodeCount);
        return nodes.data();
    }

    const Node* node_ = firstNode();
};

using CacheWalk = Walk<256U << 10U, 20'000>;
using MemoryWalk = Walk<64U << 20U, 1'000>;

/// An item copies a block from the first half of the buffer into the second.
class MemoryCopy {
   public:
    static constexpr std::int64_t baseItems = 1'000;

    std::uint64_t doItems(std::int64_t items) {
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            const std::size_t from = turn_.next() * blockWords;
            const std::size_t to = from + halfWords;
            std::memcpy(&words_[to], &words_[from], blockWords * sizeof(std::uint64_t));
            sum += words_[to] + words_[to + blockWords - 1];
        }
        return sum;
    }

    static std::uint64_t reference(std::int64_t items) {
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            const std::uint64_t first = static_cast<std::size_t>(item) % blocks * blockWords;
            sum += first + (first + blockWords - 1);
        }
        return sum;
    }

   private:
    static constexpr std::size_t blockWords = (4U << 10U) / sizeof(std::uint64_t);
    static constexpr std::size_t halfWords = (8U << 20U) / sizeof(std::uint64_t);
    static constexpr std::size_t blocks = halfWords / blockWords;

    /// Each word of the first half is its own index.
    static std::vector<std::uint64_t> makeWords() {
        std::vector<std::uint64_t> words(2 * halfWords);
        std::iota(words.begin(), words.begin() + halfWords, 0U);
        return words;
    }

    static std::vector<std::uint64_t>& sharedWords() {
        static std::vector<std::uint64_t> words = makeWords();
        return words;
    }

    std::vector<std::uint64_t>& words_ = sharedWords();
    Turn turn_{blocks};
};

}  // namespace

void registerMemoryBenchmarks() {
    registerWork<CacheWalk>("CacheWalk");
    registerWork<MemoryWalk>("MemoryWalk");
    registerWork<MemoryCopy>("MemoryCopy");
}

}  // namespace known_effects
