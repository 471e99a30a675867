#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "vernier/data/decode.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// The largest expansion of deflate; a header that implies more is wrong.
constexpr std::uint64_t max_deflate_ratio = 1032;

struct ReadState {
  std::span<const std::byte> rest;
  char message[128];
};

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  auto& state = *static_cast<ReadState*>(png_get_error_ptr(png));
  std::snprintf(state.message, sizeof state.message, "%s", message);
  png_longjmp(png, 1);
}

void stay_silent(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep out, png_size_t count) {
  auto& state = *static_cast<ReadState*>(png_get_io_ptr(png));
  if (count > state.rest.size()) png_error(png, "the file is truncated");
  std::memcpy(out, state.rest.data(), count);
  state.rest = state.rest.subspan(count);
}

// A libpng reader over bytes in memory.
class PngReader {
 public:
  explicit PngReader(std::span<const std::byte> bytes) : state_{bytes, {}} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state_, fail, stay_silent);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw Error("libpng could not start");
    }
    png_set_read_fn(png_, &state_, read_bytes);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // Runs one step of libpng; returns false if it failed. libpng exits by longjmp, so a step must
  // not have local variables with destructors.
  template <typename Step>
  bool try_step(Step step) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    step(png_, info_);
    return true;
  }
  template <typename Step>
  void guarded(Step step) {
    if (!try_step(step)) throw Error(fmt::format("bad PNG: {}", state_.message));
  }

  png_structp png() { return png_; }
  png_infop info() { return info_; }

 private:
  ReadState state_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

struct PngHeader {
  png_uint_32 width = 0;
  png_uint_32 height = 0;
  int depth = 0;
  int colour = 0;

  bool is_palette() const { return colour == PNG_COLOR_TYPE_PALETTE; }
  bool is_deep_grey() const { return colour == PNG_COLOR_TYPE_GRAY && depth == 16; }
};

// Requests one byte per channel without alpha: palette indices, grey or RGB. 16-bit grey stays 16
// bits, since Pillow clips it to 255, while it takes the high byte of other 16-bit samples. Labels
// of fewer bits are not scaled to 0..255.
void set_transforms(png_structp png, const PngHeader& header, bool are_labels) {
  if (header.is_palette() || are_labels) png_set_packing(png);
  if (header.colour == PNG_COLOR_TYPE_GRAY && header.depth < 8 && !are_labels)
    png_set_expand_gray_1_2_4_to_8(png);
  if (header.depth == 16 && !header.is_deep_grey()) png_set_strip_16(png);
  if (header.colour & PNG_COLOR_MASK_ALPHA) png_set_strip_alpha(png);
  png_set_interlace_handling(png);
}

PngHeader read_header(PngReader& reader, std::size_t file_bytes, bool are_labels = false) {
  PngHeader header;
  reader.guarded([&header, are_labels](png_structp png, png_infop info) {
    png_read_info(png, info);
    png_get_IHDR(png, info, &header.width, &header.height, &header.depth, &header.colour, nullptr,
                 nullptr, nullptr);
    set_transforms(png, header, are_labels);
  });
  const std::uint64_t row_bytes = png_get_rowbytes(reader.png(), reader.info());
  if (row_bytes * header.height / max_deflate_ratio > file_bytes)
    throw Error(fmt::format("bad PNG: {} bytes cannot hold the {}x{} pixels claimed", file_bytes,
                            header.width, header.height));
  return header;
}

Image read_rows(PngReader& reader, Image image) {
  std::vector<png_bytep> rows(image.height);
  const std::size_t stride = image.pixels.size() / rows.size();
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = image.pixels.data() + y * stride;
  png_bytepp data = rows.data();
  reader.guarded([data](png_structp png, png_infop info) {
    png_read_update_info(png, info);
    png_read_image(png, data);
  });
  return image;
}

Image apply_palette(PngReader& reader, const Image& indices) {
  Palette palette = grey_palette();
  png_colorp entries = nullptr;
  int count = 0;
  png_get_PLTE(reader.png(), reader.info(), &entries, &count);
  for (int i = 0; i < std::min(count, 256); ++i) {
    palette.colours[i][0] = entries[i].red;
    palette.colours[i][1] = entries[i].green;
    palette.colours[i][2] = entries[i].blue;
  }
  return look_up(indices, palette);
}

// Clips 16-bit grey samples, high byte first, to 255.
Image clip_deep_grey(const Image& deep) {
  Image grey = make_image(deep.width, deep.height, 1);
  for (std::size_t i = 0; i < grey.pixels.size(); ++i)
    grey.pixels[i] = deep.pixels[2 * i] != 0 ? 255 : deep.pixels[2 * i + 1];
  return grey;
}

Image read_pixels(PngReader& reader, const PngHeader& header) {
  const bool colour = header.colour & PNG_COLOR_MASK_COLOR && !header.is_palette();
  const int channels = colour ? 3 : header.is_deep_grey() ? 2 : 1;
  Image image = read_rows(reader, make_claimed_image(header.width, header.height, channels));
  if (header.is_palette()) return apply_palette(reader, image);
  if (header.is_deep_grey()) return clip_deep_grey(image);
  return image;
}

std::optional<std::string_view> text_chunk(PngReader& reader, std::string_view keyword) {
  png_textp texts = nullptr;
  const int count = png_get_text(reader.png(), reader.info(), &texts, nullptr);
  for (int i = 0; i < count; ++i)
    if (texts[i].key == keyword && texts[i].text != nullptr)
      return std::string_view(texts[i].text, std::max(texts[i].text_length, texts[i].itxt_length));
  return std::nullopt;
}

int orientation_of(PngReader& reader) {
  png_bytep exif = nullptr;
  png_uint_32 size = 0;
  std::optional<int> orientation;
  if (png_get_eXIf_1(reader.png(), reader.info(), &size, &exif) != 0)
    orientation = exif_orientation(std::as_bytes(std::span(exif, size)));
  if (!orientation)
    if (const auto packet = text_chunk(reader, "XML:com.adobe.xmp"))
      orientation = xmp_orientation(*packet);
  return orientation.value_or(1);
}

}  // namespace

Image decode_png_labels(std::span<const std::byte> bytes) {
  PngReader reader(bytes);
  const PngHeader header = read_header(reader, bytes.size(), true);
  const bool colour = header.colour & PNG_COLOR_MASK_COLOR && !header.is_palette();
  if (colour || header.depth > 8)
    throw Error(fmt::format("labels are grey or a palette of 8 bits at most, this is {} of {} bits",
                            colour ? "colour" : "grey", header.depth));
  return read_rows(reader, make_claimed_image(header.width, header.height, 1));
}

Decoded decode_png(std::span<const std::byte> bytes) {
  PngReader reader(bytes);
  const PngHeader header = read_header(reader, bytes.size());
  Decoded decoded{read_pixels(reader, header)};
  // Metadata may follow the pixels. If reading it fails, the pixels are still valid.
  reader.try_step([](png_structp png, png_infop info) { png_read_end(png, info); });
  decoded.orientation = orientation_of(reader);
  return decoded;
}

std::vector<std::byte> encode_png(const Image& image) {
  png_image header = {};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<std::byte> bytes(size);
  if (!png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr))
    throw Error(fmt::format("[png] {}x{}: {}", image.width, image.height, header.message));
  bytes.resize(size);
  return bytes;
}

}  // namespace vernier
