#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vernier/data/byte_order.h"
#include "vernier/data/decode.h"
#include "vernier/error.h"

namespace vernier {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The text of a netpbm file: numbers separated by white space, comments from # to the end of line.
class Tokens {
 public:
  explicit Tokens(std::span<const std::byte> bytes) : bytes_(bytes), at_(2) {}

  // The next number; consumes one white space character after it.
  std::int64_t number() {
    skip_space();
    std::int64_t value = 0;
    int digits = 0;
    for (; at_ < bytes_.size() && !is_space(peek()) && peek() != '#'; ++at_, ++digits) {
      if (peek() < '0' || peek() > '9' || digits == 10) throw Error("bad PPM: expected a number");
      value = value * 10 + (peek() - '0');
    }
    if (digits == 0) throw Error("truncated PPM");
    if (at_ < bytes_.size() && is_space(peek())) ++at_;
    return value;
  }
  // A bit of a plain bitmap, whose digits need not be separated.
  int bit() {
    skip_space();
    if (at_ == bytes_.size()) throw Error("truncated PPM");
    const char digit = peek();
    if (digit != '0' && digit != '1') throw Error("bad PPM: expected 0 or 1");
    ++at_;
    return digit - '0';
  }
  std::span<const std::byte> rest() const { return bytes_.subspan(at_); }

 private:
  char peek() const { return static_cast<char>(bytes_[at_]); }
  void skip_space() {
    for (; at_ < bytes_.size() && (is_space(peek()) || peek() == '#'); ++at_)
      if (peek() == '#')
        while (at_ + 1 < bytes_.size() && peek() != '\n' && peek() != '\r') ++at_;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_;
};

// Scales a sample as Pillow does: to 8 bits, but grey with a maximum above 255 to 16 bits, clipped
// to 255.
std::uint8_t scale(std::int64_t sample, std::int64_t max_value, int channels) {
  const bool deep_grey = channels == 1 && max_value > 255;
  const double range = deep_grey ? 65535 : 255;
  const double scaled =
      std::nearbyint(static_cast<double>(sample) / static_cast<double>(max_value) * range);
  return static_cast<std::uint8_t>(std::min(scaled, 255.0));
}

Image read_plain_bits(Tokens& tokens, Image image) {
  for (std::uint8_t& pixel : image.pixels) pixel = tokens.bit() ? 0 : 255;
  return image;
}

Image read_packed_bits(std::span<const std::byte> data, Image image) {
  const std::size_t stride = (static_cast<std::size_t>(image.width) + 7) / 8;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      const int byte = std::to_integer<int>(data[y * stride + x / 8]);
      image.pixels[static_cast<std::size_t>(y) * image.width + x] =
          (byte >> (7 - x % 8)) & 1 ? 0 : 255;
    }
  return image;
}

Image read_plain_samples(Tokens& tokens, std::int64_t max_value, Image image) {
  for (std::uint8_t& sample : image.pixels) {
    const std::int64_t value = tokens.number();
    if (value > max_value)
      throw Error(fmt::format("bad PPM: sample {} is above the maximum {}", value, max_value));
    sample = scale(value, max_value, image.channels);
  }
  return image;
}

Image read_samples(std::span<const std::byte> data, std::int64_t max_value, Image image) {
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const std::int64_t value = max_value < 256 ? std::to_integer<std::uint8_t>(data[i])
                                               : load_big_endian<std::uint16_t>(data, 2 * i);
    image.pixels[i] = scale(value, max_value, image.channels);
  }
  return image;
}

struct PnmHeader {
  bool is_plain = false;
  bool is_bitmap = false;
  int channels = 1;
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t max_value = 1;

  // The minimum size of a row in the file.
  std::int64_t row_bytes() const {
    if (is_bitmap && !is_plain) return (width + 7) / 8;
    return width * channels * (!is_plain && max_value > 255 ? 2 : 1);
  }
};

PnmHeader read_header(int kind, Tokens& tokens) {
  PnmHeader header{.is_plain = kind <= 3, .is_bitmap = kind % 3 == 1, .channels = kind % 3 ? 1 : 3};
  header.width = tokens.number();
  header.height = tokens.number();
  if (!header.is_bitmap) header.max_value = tokens.number();
  if (header.max_value < 1 || header.max_value > 65535)
    throw Error(
        fmt::format("bad PPM: expected a maximum of 1 to 65535, found {}", header.max_value));
  return header;
}

Image read_pixels(const PnmHeader& header, Tokens& tokens, Image image) {
  if (header.is_bitmap && header.is_plain) return read_plain_bits(tokens, std::move(image));
  if (header.is_bitmap) return read_packed_bits(tokens.rest(), std::move(image));
  if (header.is_plain) return read_plain_samples(tokens, header.max_value, std::move(image));
  return read_samples(tokens.rest(), header.max_value, std::move(image));
}

}  // namespace

Decoded decode_pnm(std::span<const std::byte> bytes) {
  Tokens tokens(bytes);
  const PnmHeader header = read_header(std::to_integer<int>(bytes[1]) - '0', tokens);
  const auto size = static_cast<std::int64_t>(tokens.rest().size());
  if (header.width > 0 && header.height > size / header.row_bytes()) throw Error("truncated PPM");
  return {read_pixels(header, tokens,
                      make_claimed_image(header.width, header.height, header.channels))};
}

}  // namespace vernier
