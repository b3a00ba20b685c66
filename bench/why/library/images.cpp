#include <algorithm>
#include <cstring>
#include <memory>

#include "library.h"

namespace lib {
namespace {
struct Image {
    std::uint8_t* pixels;
    std::size_t size;
    std::uint8_t level;
};

// Links of 8 bytes in records of 64, behind the header of a file.
constexpr std::size_t header_size = 56;
alignas(64) std::array<std::uint8_t, 64 * 257> index_file;

Word load(const std::uint8_t* from) {
    Word found = 0;
    std::memcpy(&found, from, sizeof found);
    return found;
}

class Shape {
   public:
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual int order() const = 0;
};

class Square final : public Shape {
   public:
    explicit Square(double side) : side_(side) {}
    double area() const override { return side_ * side_; }
    int order() const override { return 0; }

   private:
    double side_;
};

class Circle final : public Shape {
   public:
    explicit Circle(double radius) : radius_(radius) {}
    double area() const override { return radius_ * radius_ * 3.14159; }
    int order() const override { return 1; }

   private:
    double radius_;
};

class Ring final : public Shape {
   public:
    Ring(double outer, double inner) : outer_(outer), inner_(inner) {}
    double area() const override { return (outer_ * outer_ - inner_ * inner_) * 3.14159; }
    int order() const override { return 2; }

   private:
    double outer_;
    double inner_;
};

std::vector<std::unique_ptr<Shape>> shapes;
std::array<std::uint8_t, 8192> pixels;
std::unique_ptr<Image> shown;

std::unique_ptr<Shape> shape_of(Word key) {
    const double size = static_cast<double>(key % 100);
    if (key % 3 == 0) return std::make_unique<Square>(size);
    if (key % 3 == 1) return std::make_unique<Circle>(size);
    return std::make_unique<Ring>(size, size / 2);
}
}  // namespace

void fill_images(const Words& keys) {
    for (const Word key : keys) shapes.push_back(shape_of(key));
    std::stable_sort(shapes.begin(), shapes.end(),
                     [](const auto& left, const auto& right) { return left->order() < right->order(); });
    for (Word k = 0; k < 256; ++k) {
        const Word to = (k * 149 + 67) % 256;
        std::memcpy(index_file.data() + header_size + 64 * k, &to, sizeof to);
    }
    shown = std::make_unique<Image>(Image{pixels.data(), pixels.size(), 3});
    for (std::size_t k = 0; k < pixels.size(); ++k) pixels[k] = static_cast<std::uint8_t>(keys[k % keys.size()]);
}

void brighten() {
    const Image& image = *shown;
    std::uint8_t* const to = image.pixels;
    const std::size_t size = image.size;
    const std::uint8_t level = image.level;
    for (std::size_t k = 0; k < size; ++k) to[k] = static_cast<std::uint8_t>(to[k] + level);
}

void correct(const std::vector<std::uint8_t>& from, std::vector<std::uint8_t>& to) {
    const std::uint8_t* const read = from.data();
    std::uint8_t* const write = to.data();
    const std::size_t size = to.size();
    for (std::size_t k = 0; k < size; ++k) write[k] = static_cast<std::uint8_t>(read[k] * read[k] >> 8U);
}

Word follow_links(std::size_t count) {
    const std::uint8_t* const links = index_file.data() + header_size;
    Word at = 0;
    for (std::size_t k = 0; k < count; ++k) at = load(links + 64 * at);
    return at;
}

double area_of_all() {
    double sum = 0;
    for (const auto& shape : shapes) sum += shape->area();
    return sum;
}
}  // namespace lib
