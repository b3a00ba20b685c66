#include "library.h"

namespace lib {
namespace {
struct Page {
    Page* next;
    std::array<Word, 15> words;
};

class Pool {
   public:
    explicit Pool(std::size_t size) : pages_(size) {
        for (Page& page : pages_) give(&page);
    }

    Page* take() {
        Page* taken = first_;
        first_ = taken->next;
        return taken;
    }

    void give(Page* page) {
        page->next = first_;
        first_ = page;
    }

   private:
    std::vector<Page> pages_;
    Page* first_ = nullptr;
};

class Table {
   public:
    explicit Table(Word* to) : words_(to) { users_.store(1); }
    void use() { users_.fetch_add(1, std::memory_order_relaxed); }
    void drop() { users_.fetch_sub(1, std::memory_order_acq_rel); }
    Word at(Word key) const { return words_[(key ^ key >> 23U) % 512]; }

   private:
    std::atomic<Word> users_;
    Word* words_;
};

class TableHandle {
   public:
    explicit TableHandle(Table& table) : table_(&table) { table_->use(); }
    TableHandle(const TableHandle& other) : table_(other.table_) { table_->use(); }
    TableHandle& operator=(const TableHandle&) = delete;
    ~TableHandle() { table_->drop(); }
    const Table& operator*() const { return *table_; }

   private:
    Table* table_;
};

Pool& pool() {
    static Pool made(32768);
    return made;
}

std::array<Word, 512> row;
Table table(row.data());

Word read(const TableHandle& from, Word key) {
    return (*from).at(key) + (*from).at(key * 31) + (key ^ (*from).at(~key));
}

Word mixed(Word key) { return (key ^ key >> 31U) * 0x9E3779B97F4A7C15U; }

struct Sketch {
    Word width = 512;
    std::array<std::array<std::uint32_t, 512>, 4> rows;
};
Sketch sketch;
std::array<Word, 1U << 19U> filter;

// All bits of a key are in one cache line.
std::size_t bit_of(Word hash, unsigned probe) {
    const Word line = hash >> 48U;
    return line * 512 + (hash >> 9 * probe & 511U);
}
}  // namespace

// Not in a namespace without a name: compilers leave out what nobody could read.
struct Feed {
    std::array<Word, 256> slots;
    std::atomic<Word> written;
};
Feed feed;

Word churn(std::size_t count) {
    std::array<Page*, 4> pages{};
    Word sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
        for (Page*& page : pages) {
            page = pool().take();
            page->words[k % 15] += k;
        }
        for (Page* page : pages) {
            sum += page->words[3];
            pool().give(page);
        }
    }
    return sum;
}

Word read_all(const Words& keys) {
    const TableHandle handle(table);
    Word sum = 0;
    for (const Word key : keys) sum += read(handle, key);
    return sum;
}

void publish(const Words& keys) {
    Word at = feed.written.load(std::memory_order_relaxed);
    for (const Word key : keys) {
        feed.slots[at % feed.slots.size()] = mixed(mixed(mixed(key)));
        feed.written.store(++at, std::memory_order_release);
    }
}

void count_keys(const Words& keys) {
    const Word width = sketch.width;
    for (const Word key : keys) {
        Word hash = mixed(key);
        for (auto& counts : sketch.rows) {
            ++counts[hash & (width - 1)];
            hash >>= 13U;
        }
    }
}

void fill_filter(const Words& keys) {
    for (const Word key : keys) {
        for (unsigned probe = 0; probe < 4; ++probe) {
            const std::size_t bit = bit_of(mixed(key), probe);
            filter[bit / 64] |= Word{1} << bit % 64;
        }
    }
}

Word contained(const Words& keys) {
    Word found = 0;
    for (const Word key : keys) {
        const Word hash = mixed(key);
        bool is_in = true;
        for (unsigned probe = 0; probe < 4; ++probe) {
            const std::size_t bit = bit_of(hash, probe);
            is_in &= (filter[bit / 64] >> bit % 64 & 1U) != 0;
        }
        found += is_in;
    }
    return found;
}
}  // namespace lib
