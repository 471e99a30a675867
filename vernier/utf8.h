#pragma once

#include <string>
#include <string_view>

namespace vernier {

// Whether the text is valid UTF-8: no truncated or overlong sequence, no surrogate, nothing past
// U+10FFFF.
bool is_utf8(std::string_view text);
// The code points of UTF-8 text. Throws Error if it is not valid UTF-8.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view codes);

// The text with its ASCII letters in lower case.
std::string lower_case(std::string text);

// The text, safe to print: characters that could move the cursor or reorder or break a line, and
// bytes that are not UTF-8, are replaced by escapes ("\x1b", "\u{202e}"). Use it for every name
// that comes from a file.
std::string printable(std::string_view text);
// As printable(), but keeps newlines.
std::string printable_lines(std::string_view text);
// Equivalent JSON in which the characters that printable() escapes are \u escapes. Characters below
// 0x20 need no change: JSON always escapes them.
std::string printable_json(std::string_view json);

}  // namespace vernier
