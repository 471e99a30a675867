#pragma once

#include <string>
#include <string_view>

namespace vernier {

// The code points of UTF-8 text. Throws Error where it is not valid: cut short, overlong, a
// surrogate, or past U+10FFFF.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view codes);

}  // namespace vernier
