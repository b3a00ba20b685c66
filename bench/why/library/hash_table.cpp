#include "library.h"

namespace lib {
namespace {
struct Slot {
    Word key;
    Word value;
};
std::vector<Slot> slots(1024);

std::size_t slot_of(Word key) { return (key * 0x9E3779B97F4A7C15U) >> 54U; }
std::size_t next(std::size_t at) { return (at + 1) % 1024; }
}  // namespace

void fill_table(const Words& keys) {
    for (const Word key : keys) {
        std::size_t at = slot_of(key);
        while (slots[at].key != 0) at = next(at);
        slots[at] = {key, key};
    }
}

Word look_up(const Words& keys) {
    Word sum = 0;
    for (const Word key : keys) {
        std::size_t at = slot_of(key);
        while (slots[at].key != key) at = next(at);
        sum += slots[at].value;
    }
    return sum;
}
}  // namespace lib
