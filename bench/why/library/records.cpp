#include <algorithm>
#include <unordered_map>

#include "library.h"

namespace lib {
namespace {
struct Record {
    std::string owner;
    Word size;
    std::uint8_t tier;
};

struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
        Word state = 0xCBF29CE484222325U;
        for (const char letter : text) state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
        return state;
    }
};

struct Job {
    std::uint32_t deadline;
    std::uint8_t priority;
};

std::vector<Record> records;
std::unordered_map<std::string, Word, Hash, std::equal_to<>> sizes;

bool is_due(const Job& left, const Job& right) { return left.deadline < right.deadline; }

template <typename Before>
void sift_down(std::vector<Job>& heap, std::size_t at, Before before) {
    const Job moved = heap[at];
    for (std::size_t child = 2 * at + 1; child < heap.size(); child = 2 * at + 1) {
        if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) ++child;
        if (!before(heap[child], moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

std::size_t split(Word* words, std::size_t size, Word pivot) {
    std::size_t below = 0;
    for (std::size_t k = 0; k < size; ++k) {
        const Word word = words[k];
        words[k] = words[below];
        words[below] = word;
        below += word < pivot;
    }
    return below;
}
}  // namespace

void fill_records(const Words& keys) {
    for (const Word key : keys) {
        const std::string owner = "tenant-of-region-" + std::to_string(key);
        records.push_back({owner, key % 1000, static_cast<std::uint8_t>(key % 5)});
        sizes[owner] = key % 1000;
    }
}

Word size_of_tier(std::uint8_t tier) {
    Word sum = 0;
    for (const Record& record : records) {
        if (record.tier == tier) sum += record.size;
    }
    return sum;
}

Word size_of_owners(const std::vector<std::string_view>& owners) {
    Word sum = 0;
    for (const std::string_view owner : owners) {
        if (const auto found = sizes.find(owner); found != sizes.end()) sum += found->second;
    }
    return sum;
}

Word reschedule(const Words& keys) {
    std::vector<Job> heap;
    heap.reserve(keys.size());
    for (const Word key : keys) {
        heap.push_back({static_cast<std::uint32_t>(key), static_cast<std::uint8_t>(key >> 32U)});
    }
    const auto before = [](const Job& left, const Job& right) { return is_due(left, right); };
    for (std::size_t at = heap.size() / 2; at-- > 0;) sift_down(heap, at, before);
    return heap[0].deadline;
}

Word rank(Words& words, Word pivot) { return split(words.data(), words.size(), pivot); }

Word smooth(const Words& words) {
    static Words window;
    Word sum = 0;
    for (std::size_t k = 0; k + 25 <= words.size(); k += 5) {
        window.assign(&words[k], &words[k] + 25);
        std::nth_element(window.begin(), window.begin() + 12, window.end());
        sum += window[12];
    }
    return sum;
}
}  // namespace lib
