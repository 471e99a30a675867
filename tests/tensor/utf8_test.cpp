#include "vernier/utf8.h"

#include <gtest/gtest.h>

#include "vernier/error.h"

namespace vernier {
namespace {

TEST(Utf8, every_length_is_decoded_and_encoded) {
  const std::u32string codes = U"a\u007f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff";
  const std::string text =
      "a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
  EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(decode_utf8(text), codes);
  EXPECT_EQ(encode_utf8(codes), text);
}

TEST(Utf8, nothing_is_nothing) {
  EXPECT_EQ(decode_utf8(""), U"");
  EXPECT_EQ(encode_utf8(U""), "");
}

TEST(Utf8, what_is_not_utf8_is_an_error) {
  for (const char* text : {"\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff", "ab\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_THROW(decode_utf8(text), Error);
  }
}

TEST(Utf8, the_error_names_the_byte) {
  try {
    decode_utf8("ab\xff");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[text] byte 3 is not UTF-8; convert the text");
  }
}

TEST(Utf8, what_is_shown_cannot_move_the_cursor_or_reorder_text) {
  EXPECT_EQ(printable("a/b Conv_1 \xc3\xa9 \xe6\xbc\xa2"), "a/b Conv_1 \xc3\xa9 \xe6\xbc\xa2");
  EXPECT_EQ(printable("\x1b[2J\n\t\x7f"), "\\x1b[2J\\x0a\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // the control sequence introducer
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "evil\xe2\x81\xa6"),
            "\\u{202e}evil\\u{2066}");
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\u{2028}");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
}

TEST(Utf8, json_is_shown_without_them_and_says_the_same) {
  EXPECT_EQ(printable_json("{\"a\\u001b\": \"\u202e\u009b\x7f é\"}\n"),
            "{\"a\\u001b\": \"\\u202e\\u009b\\u007f é\"}\n");
  EXPECT_EQ(printable_lines("a\u202e\nb\x1b"), "a\\u{202e}\nb\\x1b");
  EXPECT_EQ(printable_lines("plain"), "plain");
}

}  // namespace
}  // namespace vernier
