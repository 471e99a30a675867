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

}  // namespace
}  // namespace vernier
