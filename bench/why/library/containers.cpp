#include "library.h"

#include <sched.h>

#include <list>
#include <mutex>
#include <unordered_map>

namespace lib {
namespace {
std::array<Word, 1024> ring;
std::size_t head = 0;
std::size_t tail = 0;

void push(Word word) { ring[head++ % ring.size()] = word; }
Word pop() { return ring[tail++ % ring.size()]; }
Word ones(Word word) {
    word -= word >> 1U & 0x5555555555555555U;
    word = (word & 0x3333333333333333U) + (word >> 2U & 0x3333333333333333U);
    word = (word + (word >> 4U)) & 0x0F0F0F0F0F0F0F0FU;
    return (word * 0x0101010101010101U) >> 56U;
}
std::list<Word> recent;
std::unordered_map<Word, std::list<Word>::iterator> known;
}  // namespace

Word pass_through(const Words& words) {
    Word sum = 0;
    for (const Word word : words) {
        push(word);
        sum = sum * 31 + pop();
    }
    return sum;
}

Word count_bits(const Words& words) {
    Word sum = 0;
    for (const Word word : words) sum += ones(word);
    return sum;
}

double sum_matrix(const std::vector<double>& cells, std::size_t side) {
    double sum = 0;
    for (std::size_t row = 0; row < side; ++row) {
        for (std::size_t column = 0; column < side; ++column) sum += cells[row * side + column];
    }
    return sum;
}

Word get_all(const Words& keys, std::size_t capacity) {
    Word hits = 0;
    for (const Word key : keys) {
        if (const auto found = known.find(key); found != known.end()) {
            recent.splice(recent.begin(), recent, found->second);
            ++hits;
            continue;
        }
        recent.push_front(key);
        known[key] = recent.begin();
        if (recent.size() > capacity) {
            known.erase(recent.back());
            recent.pop_back();
        }
    }
    return hits;
}

Word checksum(Word state, int rounds) {
    for (int k = 0; k < rounds; ++k) state = state * 6364136223846793005U + 1442695040888963407U;
    return state;
}
}  // namespace lib
