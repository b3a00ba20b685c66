// Honest functions of many kinds; each cause is planted in one of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace lib {

using Word = std::uint64_t;
using Words = std::vector<Word>;

Word checksum(Word state, int rounds);  // no cause is planted here
void fill_table(const Words& keys);
Word look_up(const Words& keys);
void sort_words(Words& words);
Word parse(std::string_view text);
Word pass_through(const Words& words);
std::string build(const Words& words);
void write_all(int file, std::string_view text);
void fill_tree(const Words& keys);
Word find_all(const Words& keys);
double sum_matrix(const std::vector<double>& cells, std::size_t side);
void count_bytes(std::string_view text, std::array<Word, 256>& counts);
Word count_bits(const Words& words);
std::size_t keep_small(const Words& words, Word limit, Words& out);
Word search(const Words& sorted, const Words& keys);
Word get_all(const Words& keys, std::size_t capacity);
void scale_add(const std::vector<float>& from, float factor, std::vector<float>& to);
Word count_letter(std::string_view text, char letter);
void darken(std::vector<std::uint8_t>& pixels, std::uint8_t by);
void fill_steps();
Word follow_steps(std::size_t count);
void hit_cells(const Words& keys);
Word count_points(std::string_view text);
void to_upper(char* text);
Word fingerprint(const Words& words);
Word admit(const Words& words);
void log_lines(std::ostream& to, const Words& words);
void fill_records(const Words& keys);
Word size_of_tier(std::uint8_t tier);
Word size_of_owners(const std::vector<std::string_view>& owners);
Word reschedule(const Words& keys);
Word rank(Words& words, Word pivot);
Word smooth(const Words& words);
Word churn(std::size_t count);
Word read_all(const Words& keys);
void publish(const Words& keys);
void count_keys(const Words& keys);
void fill_filter(const Words& keys);
Word contained(const Words& keys);
void fill_images(const Words& keys);
void brighten();
void correct(const std::vector<std::uint8_t>& from, std::vector<std::uint8_t>& to);
Word follow_links(std::size_t count);
double area_of_all();

}  // namespace lib
