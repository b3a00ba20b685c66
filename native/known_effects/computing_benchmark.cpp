// SPDX-License-Identifier: Apache-2.0
/// Work within the core: chains of arithmetic, and branches and calls whose targets depend on random data.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "known_effects/known_effects_benchmarks.h"
#include "known_effects/measured_work.h"
#include "known_effects/random_numbers.h"

namespace known_effects {
namespace {

/// An item is a step of a linear congruential generator modulo 2^64 (Knuth's MMIX), which needs the result of the step
/// before.
class Arithmetic {
   public:
    static constexpr std::int64_t baseItems = 80'000;

    std::uint64_t doItems(std::int64_t items) {
        for (std::int64_t item = 0; item < items; ++item) {
            state_ = state_ * factor + increment;
        }
        return state_;
    }

    /// Jumps ahead by squaring the step (Brown, Random number generation with arbitrary strides, 1994).
    static std::uint64_t reference(std::int64_t items) {
        std::uint64_t jumpFactor = 1;
        std::uint64_t jumpIncrement = 0;
        std::uint64_t powerFactor = factor;
        std::uint64_t powerIncrement = increment;
        for (auto left = static_cast<std::uint64_t>(items); left > 0; left /= 2) {
            if (left % 2 == 1) {
                jumpFactor *= powerFactor;
                jumpIncrement = jumpIncrement * powerFactor + powerIncrement;
            }
            powerIncrement *= powerFactor + 1;
            powerFactor *= powerFactor;
        }
        return jumpFactor + jumpIncrement;
    }

   private:
    static constexpr std::uint64_t factor = 6364136223846793005U;
    static constexpr std::uint64_t increment = 1442695040888963407U;

    std::uint64_t state_ = 1;
};

/// An item is a multiplication and an addition, which need the result of the item before.
class FloatingPoint {
   public:
    static constexpr std::int64_t baseItems = 50'000;

    std::uint64_t doItems(std::int64_t items) {
        for (std::int64_t item = 0; item < items; ++item) {
            value_ = value_ * factor + 1.0;
        }
        return toThousandths(value_);
    }

    /// Computes the sum of the geometric series.
    static std::uint64_t reference(std::int64_t items) {
        const double power = std::pow(factor, static_cast<double>(items));
        return toThousandths((1.0 - power) / (1.0 - factor));
    }

   private:
    static constexpr double factor = 0.99999;

    static std::uint64_t toThousandths(double value) { return static_cast<std::uint64_t>(std::llround(value * 1e3)); }

    double value_ = 0.0;
};

/// An item reads a random byte and takes one branch or the other.
class Branches {
   public:
    static constexpr std::int64_t baseItems = 40'000;

    std::uint64_t doItems(std::int64_t items) {
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            std::uint32_t byte = bytes_[turn_.next()];
            if (byte < half) {
                // Prevents the compiler from removing the branch.
                benchmark::DoNotOptimize(byte);
                sum += byte;
            } else {
                sum += high;
            }
        }
        return sum;
    }

    static std::uint64_t reference(std::int64_t items) {
        const auto bytes = randomPicks(byteCount, 2 * half);
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            const std::uint32_t byte = bytes[static_cast<std::size_t>(item) % byteCount];
            sum += std::array<std::uint64_t, 2>{byte, high}.at(byte / half);
        }
        return sum;
    }

   private:
    static constexpr std::uint32_t byteCount = 1U << 18U;
    static constexpr std::uint32_t half = 128;
    static constexpr std::uint64_t high = 1000;

    static std::vector<std::uint8_t> randomBytes() {
        const auto picks = randomPicks(byteCount, 2 * half);
        std::vector<std::uint8_t> bytes(byteCount);
        std::transform(picks.begin(), picks.end(), bytes.begin(),
                       [](std::uint32_t pick) { return static_cast<std::uint8_t>(pick); });
        return bytes;
    }

    std::vector<std::uint8_t> bytes_ = randomBytes();
    Turn turn_{byteCount};
};

class Operation {
   public:
    Operation() = default;
    virtual ~Operation() = default;
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    Operation(Operation&&) = delete;
    Operation& operator=(Operation&&) = delete;

    [[nodiscard]] virtual std::uint64_t apply(std::uint64_t value) const = 0;
};

constexpr std::uint64_t operand = 0xD1B54A32D192ED03U;

class Add : public Operation {
   public:
    [[nodiscard]] std::uint64_t apply(std::uint64_t value) const override { return value + operand; }
};

class Mix : public Operation {
   public:
    [[nodiscard]] std::uint64_t apply(std::uint64_t value) const override { return value ^ operand; }
};

class Multiply : public Operation {
   public:
    [[nodiscard]] std::uint64_t apply(std::uint64_t value) const override { return value * operand; }
};

class Rotate : public Operation {
   public:
    [[nodiscard]] std::uint64_t apply(std::uint64_t value) const override { return std::rotl(value, 1); }
};

/// An item is a virtual call of an object of one of four classes.
class VirtualCalls {
   public:
    static constexpr std::int64_t baseItems = 20'000;

    std::uint64_t doItems(std::int64_t items) {
        for (std::int64_t item = 0; item < items; ++item) {
            value_ = operations_[turn_.next()]->apply(value_);
        }
        return value_;
    }

    static std::uint64_t reference(std::int64_t items) {
        const auto kinds = randomPicks(operationCount, classes);
        std::uint64_t value = 1;
        for (std::int64_t item = 0; item < items; ++item) {
            const auto kind = kinds[static_cast<std::size_t>(item) % operationCount];
            value = std::array{value + operand, value ^ operand, value * operand, std::rotl(value, 1)}.at(kind);
        }
        return value;
    }

   private:
    static constexpr std::uint32_t operationCount = 8192;
    static constexpr std::uint32_t classes = 4;

    static std::unique_ptr<Operation> makeOperation(std::uint32_t kind) {
        switch (kind) {
            case 0:
                return std::make_unique<Add>();
            case 1:
                return std::make_unique<Mix>();
            case 2:
                return std::make_unique<Multiply>();
            default:
                return std::make_unique<Rotate>();
        }
    }

    static std::vector<std::unique_ptr<Operation>> makeOperations() {
        std::vector<std::unique_ptr<Operation>> operations;
        operations.reserve(operationCount);
        for (const auto kind : randomPicks(operationCount, classes)) {
            operations.push_back(makeOperation(kind));
        }
        return operations;
    }

    /// Made once, because the heap would give each new set another order of addresses.
    static const std::vector<std::unique_ptr<Operation>>& sharedOperations() {
        static const auto operations = makeOperations();
        return operations;
    }

    const std::vector<std::unique_ptr<Operation>>& operations_ = sharedOperations();
    Turn turn_{operationCount};
    std::uint64_t value_ = 1;
};

/// An item copies and sorts 64 random numbers.
class Sort {
   public:
    static constexpr std::int64_t baseItems = 200;

    std::uint64_t doItems(std::int64_t items) {
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            Numbers numbers = pool_[turn_.next()];
            std::sort(numbers.begin(), numbers.end());
            sum += numbers[median];
        }
        return sum;
    }

    static std::uint64_t reference(std::int64_t items) {
        auto pool = makePool();
        for (Numbers& numbers : pool) {
            std::nth_element(numbers.begin(), numbers.begin() + median, numbers.end());
        }
        std::uint64_t sum = 0;
        for (std::int64_t item = 0; item < items; ++item) {
            sum += pool[static_cast<std::size_t>(item) % poolSize][median];
        }
        return sum;
    }

   private:
    static constexpr std::size_t poolSize = 512;
    static constexpr std::size_t median = 32;
    using Numbers = std::array<std::uint32_t, 2 * median>;

    static std::vector<Numbers> makePool() {
        std::vector<Numbers> pool(poolSize);
        RandomNumbers random;
        for (Numbers& numbers : pool) {
            std::generate(numbers.begin(), numbers.end(),
                          [&random] { return static_cast<std::uint32_t>(random.next()); });
        }
        return pool;
    }

    std::vector<Numbers> pool_ = makePool();
    Turn turn_{poolSize};
};

}  // namespace

void registerComputingBenchmarks() {
    registerWork<Arithmetic>("Arithmetic");
    registerWork<FloatingPoint>("FloatingPoint");
    registerWork<Branches>("Branches");
    registerWork<VirtualCalls>("VirtualCalls");
    registerWork<Sort>("Sort");
}

}  // namespace known_effects
