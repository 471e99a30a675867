#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

// jpeglib.h needs size_t and FILE declared before it.
#include <jerror.h>
#include <jpeglib.h>

#include "vernier/data/decode.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// A malicious progressive file can have any number of scans, each over the whole image.
constexpr int max_scans = 500;

struct ErrorState {
  jpeg_error_mgr manager;  // must be first: libjpeg passes its address back
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  bool data_ended = false;  // the source ran out of data and supplied an end marker
  bool truncated = false;   // pixels were needed after data_ended
};

ErrorState& state_of(j_common_ptr info) { return *reinterpret_cast<ErrorState*>(info->err); }

[[noreturn]] void fail(j_common_ptr info) {
  ErrorState& state = state_of(info);
  info->err->format_message(info, state.message);
  std::longjmp(state.jump, 1);
}

// Warnings are ignored, as in Pillow, except for missing pixels.
void note_warning(j_common_ptr info, int level) {
  ErrorState& state = state_of(info);
  if (level < 0 && info->err->msg_code == JWRN_HIT_MARKER && state.data_ended)
    state.truncated = true;
}

void stay_silent(j_common_ptr) {}

void limit_scans(j_common_ptr info) {
  auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (!info->is_decompressor || decompress->input_scan_number <= max_scans) return;
  std::snprintf(state_of(info).message, JMSG_LENGTH_MAX, "more than %d scans", max_scans);
  std::longjmp(state_of(info).jump, 1);
}

boolean end_data(j_decompress_ptr info) {
  static constexpr JOCTET end_of_image[] = {0xFF, JPEG_EOI};
  state_of(reinterpret_cast<j_common_ptr>(info)).data_ended = true;
  info->src->next_input_byte = end_of_image;
  info->src->bytes_in_buffer = sizeof end_of_image;
  return TRUE;
}

void skip_data(j_decompress_ptr info, long count) {
  jpeg_source_mgr& source = *info->src;
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > source.bytes_in_buffer) {
    end_data(info);
    return;
  }
  source.next_input_byte += count;
  source.bytes_in_buffer -= count;
}

void do_nothing(j_decompress_ptr) {}

// A libjpeg decompressor over bytes in memory.
class Decompressor {
 public:
  explicit Decompressor(std::span<const std::byte> bytes) {
    info_.err = jpeg_std_error(&state_.manager);
    state_.manager.error_exit = fail;
    state_.manager.emit_message = note_warning;
    state_.manager.output_message = stay_silent;
    guarded([this] { jpeg_create_decompress(&info_); });
    progress_.progress_monitor = limit_scans;
    info_.progress = &progress_;
    source_.init_source = do_nothing;
    source_.fill_input_buffer = end_data;
    source_.skip_input_data = skip_data;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = do_nothing;
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
    source_.bytes_in_buffer = bytes.size();
    info_.src = &source_;
  }
  ~Decompressor() { jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Runs one step of libjpeg and turns its errors into Error. libjpeg exits by longjmp, so a step
  // must not have local variables with destructors.
  template <typename Step>
  void guarded(Step step) {
    if (setjmp(state_.jump) != 0) throw Error(fmt::format("bad JPEG: {}", state_.message));
    step();
  }

  jpeg_decompress_struct& info() { return info_; }
  const ErrorState& state() const { return state_; }

 private:
  jpeg_decompress_struct info_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  ErrorState state_{};
};

J_COLOR_SPACE output_space(int components) {
  switch (components) {
    case 1: return JCS_GRAYSCALE;
    case 3: return JCS_RGB;
    case 4: return JCS_CMYK;
    default: throw Error(fmt::format("JPEG with {} components", components));
  }
}

int orientation_of(const jpeg_decompress_struct& info) {
  for (auto* marker = info.marker_list; marker != nullptr; marker = marker->next) {
    const auto block = std::as_bytes(std::span(marker->data, marker->data_length));
    if (block.size() >= 6 && std::memcmp(block.data(), "Exif\0", 5) == 0)
      return exif_orientation(block).value_or(1);
  }
  return 1;
}

// Stored CMYK is inverted: the file holds 255 - ink.
Image cmyk_to_rgb(const Image& cmyk) {
  Image rgb = make_image(cmyk.width, cmyk.height, 3);
  const std::uint8_t* in = cmyk.pixels.data();
  for (std::size_t i = 0; i < rgb.pixels.size(); i += 3, in += 4) {
    const int white = in[3];
    for (int channel = 0; channel < 3; ++channel) {
      const int product = (255 - in[channel]) * white + 128;
      rgb.pixels[i + channel] =
          static_cast<std::uint8_t>(white - (((product >> 8) + product) >> 8));
    }
  }
  return rgb;
}

Image read_rows(Decompressor& decompressor, Image image) {
  jpeg_decompress_struct& info = decompressor.info();
  const std::size_t stride = static_cast<std::size_t>(image.width) * image.channels;
  std::uint8_t* pixels = image.pixels.data();
  decompressor.guarded([&info, stride, pixels] {
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = pixels + info.output_scanline * stride;
      jpeg_read_scanlines(&info, &row, 1);
    }
  });
  const ErrorState& state = decompressor.state();
  if (state.truncated || (state.data_ended && jpeg_has_multiple_scans(&info)))
    throw Error("truncated JPEG");
  return image;
}

}  // namespace

Decoded decode_jpeg(std::span<const std::byte> bytes) {
  Decompressor decompressor(bytes);
  jpeg_decompress_struct& info = decompressor.info();
  decompressor.guarded([&info] {
    jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&info, TRUE);
  });
  info.out_color_space = output_space(info.num_components);
  Image image = read_rows(
      decompressor, make_claimed_image(info.image_width, info.image_height, info.num_components));
  if (info.out_color_space == JCS_CMYK) image = cmyk_to_rgb(image);
  return {std::move(image), orientation_of(info)};
}

}  // namespace vernier
