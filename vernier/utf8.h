#pragma once

#include <string>
#include <string_view>

namespace vernier {

// Valid UTF-8: nothing cut short, overlong, a surrogate, or past U+10FFFF.
bool is_utf8(std::string_view text);
// The code points of UTF-8 text. Throws Error where it is not valid.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view codes);

// The text with its ASCII letters in lower case.
std::string lower_case(std::string text);

// The text as it may be shown: what could move the cursor, reorder or break a line, or is no UTF-8,
// stands as an escape: "\x1b", "\u{202e}". For names out of files, wherever they are printed.
std::string printable(std::string_view text);
// The same of a text that has several lines.
std::string printable_lines(std::string_view text);
// JSON that says the same, with the characters that printable() escapes written as numbers. Those
// below 0x20 are written so in all JSON.
std::string printable_json(std::string_view json);

}  // namespace vernier
