#include "vernier/tensor/npz_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/error.h"

namespace vernier {
namespace {

// 16 bits of length, less ".npy".
constexpr std::size_t max_name_bytes = 0xffff - 4;

bool is_control(char character) {
  const auto code = static_cast<unsigned char>(character);
  return code < 0x20 || code == 0x7f;
}

bool has_parent_component(std::string_view name) {
  while (true) {
    const std::size_t slash = name.find_first_of("/\\");
    if (name.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    name.remove_prefix(slash + 1);
  }
}

// Bytes of the UTF-8 sequence that `text` begins with, 0 if it is none: too long, too short, a
// surrogate or past the last code point.
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length == 1) return 1;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (byte(i) >> 6 != 2) return 0;
  const bool is_valid = (first != 0xe0 || byte(1) >= 0xa0) && (first != 0xed || byte(1) < 0xa0) &&
                        (first != 0xf0 || byte(1) >= 0x90) && (first != 0xf4 || byte(1) < 0x90);
  return is_valid ? length : 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

void check_npz_name(const std::filesystem::path& path, std::string_view name) {
  const auto fail = [&](std::string_view expected) {
    throw Error(fmt::format("[npz] {}: member name: expected {}, found {:?}", path.string(),
                            expected, name.substr(0, 80)));
  };
  if (name.empty()) fail("at least one character");
  if (name.size() > max_name_bytes) fail(fmt::format("at most {} bytes", max_name_bytes));
  if (has_parent_component(name)) fail("no '..' in the path");
  if (std::ranges::any_of(name, is_control)) fail("no control characters");
  if (!is_utf8(name)) fail("UTF-8");
}

}  // namespace vernier
