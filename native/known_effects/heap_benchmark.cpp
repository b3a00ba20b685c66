// SPDX-License-Identifier: Apache-2.0
/// Work of the heap's bookkeeping: blocks that come and go, and objects that have several owners.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "known_effects/known_effects_benchmarks.h"
#include "known_effects/measured_work.h"
#include "known_effects/random_numbers.h"

namespace known_effects {
namespace {

/// A block from malloc() that holds its own size.
class Block {
   public:
    Block() = default;
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): what is measured
    explicit Block(std::size_t size) : bytes_{std::malloc(size)} { std::memcpy(bytes_.get(), &size, sizeof(size)); }

    [[nodiscard]] std::size_t size() const {
        std::size_t size = 0;
        std::memcpy(&size, bytes_.get(), sizeof(size));
        return size;
    }

   private:
    struct Free {
        void operator()(void* bytes) const { std::free(bytes); }  // NOLINT(cppcoreguidelines-no-malloc): as above
    };

    std::unique_ptr<void, Free> bytes_;
};

/// An item frees the oldest of 256 blocks and allocates another one, of 16 to 1024 bytes.
class Allocate {
   public:
    static constexpr std::int64_t baseItems = 4'000;

    Allocate() {
        for (Block& block : live_) {
            block = Block{sizes_[nextSize_.next()]};
        }
    }

    std::uint64_t doItems(std::int64_t items) {
        std::uint64_t freed = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            Block& oldest = live_[oldest_.next()];
            freed += oldest.size();
            oldest = Block{};
            oldest = Block{sizes_[nextSize_.next()]};
        }
        return freed;
    }

    static std::uint64_t reference(std::int64_t items) {
        const auto sizes = makeSizes();
        std::uint64_t freed = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            freed += sizes[static_cast<std::size_t>(item) % sizeCount];
        }
        return freed;
    }

   private:
    static constexpr std::uint32_t smallest = 16;
    static constexpr std::uint32_t largest = 1024;
    static constexpr std::uint32_t sizeCount = 8192;
    static constexpr std::size_t window = 256;

    static std::vector<std::uint32_t> makeSizes() {
        auto sizes = randomPicks(sizeCount, largest - smallest + 1);
        for (auto& size : sizes) {
            size += smallest;
        }
        return sizes;
    }

    std::vector<std::uint32_t> sizes_ = makeSizes();
    Turn nextSize_{sizeCount};
    std::array<Block, window> live_;
    Turn oldest_{window};
};

/// An item makes a place of a ring share another object than before.
class SharedPointers {
   public:
    static constexpr std::int64_t baseItems = 20'000;

    std::uint64_t doItems(std::int64_t items) {
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            auto& place = ring_[place_.next()];
            place = objects_[picks_[pick_.next()]];
            sum += *place;
        }
        return sum;
    }

    static std::uint64_t reference(std::int64_t items) {
        const auto picks = randomPicks(pickCount, objectCount);
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            sum += picks[static_cast<std::size_t>(item) % pickCount];
        }
        return sum;
    }

   private:
    static constexpr std::uint32_t objectCount = 64;
    static constexpr std::uint32_t pickCount = 8192;
    static constexpr std::size_t ringSize = 256;
    using Object = std::shared_ptr<const std::uint64_t>;

    /// Each object is its own index.
    static std::vector<Object> makeObjects() {
        std::vector<Object> objects;
        for (std::uint64_t index = 0; index < objectCount; ++index) {
            objects.push_back(std::make_shared<const std::uint64_t>(index));
        }
        return objects;
    }

    std::vector<Object> objects_ = makeObjects();
    std::vector<std::uint32_t> picks_ = randomPicks(pickCount, objectCount);
    Turn pick_{pickCount};
    std::vector<Object> ring_ = std::vector<Object>(ringSize, objects_.front());
    Turn place_{ringSize};
};

}  // namespace

void registerHeapBenchmarks() {
    registerWork<Allocate>("Allocate");
    registerWork<SharedPointers>("SharedPointers");
}

}  // namespace known_effects
