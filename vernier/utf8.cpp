#include "vernier/utf8.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/error.h"

namespace vernier {
namespace {

struct Decoded {
  char32_t code = 0;
  std::size_t length = 0;  // in bytes; 0 if the bytes are not UTF-8
};

// The length in bytes of the sequence that `first` starts; 0 if no sequence starts with it.
std::size_t announced_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

Decoded decode_one(std::string_view text) {
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = announced_length(byte(0));
  if (length == 0 || length > text.size()) return {};
  if (length == 1) return {byte(0), 1};
  char32_t code = byte(0) & (0x7f >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < smallest[length] || surrogate || code > 0x10ffff) return {};
  return {code, length};
}

// C0 and C1 controls, line and paragraph separators, bidirectional controls, byte order marks and
// interlinear annotations.
bool is_unprintable(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) {
    return code >= first && code <= last;
  };
  return code < 0x20 || within(0x7f, 0x9f) || code == 0x61c || within(0x200e, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2066, 0x2069) || code == 0xfeff ||
         within(0xfff9, 0xfffb);
}

}  // namespace

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Decoded decoded = decode_one(text);
    const std::size_t length = decoded.length == 0 ? 1 : decoded.length;
    if (decoded.length == 0 || (is_unprintable(decoded.code) && decoded.code < 0x100))
      shown += fmt::format("\\x{:02x}", decoded.length == 0 ? static_cast<unsigned char>(text[0])
                                                            : static_cast<unsigned>(decoded.code));
    else if (is_unprintable(decoded.code))
      shown += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(decoded.code));
    else
      shown += text.substr(0, length);
    text.remove_prefix(length);
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }))
    return std::string(text);
  std::string shown;
  while (true) {
    const std::size_t end = text.find('\n');
    shown += printable(text.substr(0, end));
    if (end == text.npos) return shown;
    shown += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string printable_json(std::string_view json) {
  std::string shown;
  while (!json.empty()) {
    const Decoded decoded = decode_one(json);
    const std::size_t length = decoded.length == 0 ? 1 : decoded.length;
    if (decoded.code >= 0x7f && is_unprintable(decoded.code))
      shown += fmt::format("\\u{:04x}", static_cast<unsigned>(decoded.code));
    else
      shown += json.substr(0, length);
    json.remove_prefix(length);
  }
  return shown;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = decode_one(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string codes;
  codes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded decoded = decode_one(text.substr(at));
    if (decoded.length == 0)
      throw Error(fmt::format("[text] byte {} is not UTF-8; convert the text", at + 1));
    codes += decoded.code;
    at += decoded.length;
  }
  return codes;
}

std::string encode_utf8(std::u32string_view codes) {
  std::string text;
  for (const char32_t code : codes) {
    if (code < 0x80) {
      text += static_cast<char>(code);
      continue;
    }
    const int continuing = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    text += static_cast<char>((0xff00 >> (continuing + 1) & 0xff) | code >> 6 * continuing);
    for (int i = continuing - 1; i >= 0; --i)
      text += static_cast<char>(0x80 | (code >> 6 * i & 0x3f));
  }
  return text;
}

}  // namespace vernier
