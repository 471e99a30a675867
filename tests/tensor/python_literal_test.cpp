#include "vernier/tensor/python_literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "vernier/error.h"

namespace vernier {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Tuple = PythonLiteral::Tuple;
using List = PythonLiteral::List;
using Dict = PythonLiteral::Dict;

template <typename T>
T parse_as(std::string_view text) {
  const PythonLiteral literal = parse_python_literal(text);
  EXPECT_NE(literal.as<T>(), nullptr) << text;
  return literal.as<T>() ? *literal.as<T>() : T{};
}

auto is_refused(const std::string& message) { return ThrowsMessage<Error>(HasSubstr(message)); }

TEST(PythonLiteral, words_and_integers_are_parsed) {
  EXPECT_TRUE(parse_as<bool>("True"));
  EXPECT_FALSE(parse_as<bool>(" False\n"));
  parse_as<PythonLiteral::None>("None");
  EXPECT_EQ(parse_as<std::int64_t>("-12"), -12);
  EXPECT_EQ(parse_as<std::int64_t>("9223372036854775807"),
            std::numeric_limits<std::int64_t>::max());
}

TEST(PythonLiteral, long_integers_of_python_2_are_parsed) {
  EXPECT_EQ(parse_as<Tuple>("(3L, 4L)").items[1].as<std::int64_t>()[0], 4);
}

TEST(PythonLiteral, strings_take_either_quote_and_any_bytes) {
  EXPECT_EQ(parse_as<std::string>("'a\"b'"), "a\"b");
  EXPECT_EQ(parse_as<std::string>("\"a'b\""), "a'b");
  EXPECT_EQ(parse_as<std::string>("'\\'\\\\'"), "'\\");
  EXPECT_EQ(parse_as<std::string>("'größe'"), "größe");
}

TEST(PythonLiteral, parentheses_make_a_tuple_only_with_a_comma) {
  EXPECT_EQ(parse_as<std::int64_t>("(3)"), 3);
  EXPECT_EQ(parse_as<Tuple>("(3,)").items.size(), 1u);
  EXPECT_EQ(parse_as<Tuple>("()").items.size(), 0u);
  EXPECT_EQ(parse_as<Tuple>("( 1 ,2, 3 , )").items.size(), 3u);
}

TEST(PythonLiteral, lists_and_dictionaries_nest) {
  const auto list = parse_as<List>("[('x', '<f4', (2,)), ('y', '<i2')]");
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0].as<Tuple>()->items.size(), 3u);
  const auto dict = parse_as<Dict>("{'a': {}, \"b\": [1, 2,],}");
  ASSERT_EQ(dict.entries.size(), 2u);
  EXPECT_EQ(*dict.entries[1].first.as<std::string>(), "b");
}

TEST(PythonLiteral, errors_say_what_was_expected_where_and_what_was_found) {
  EXPECT_THAT([] { parse_python_literal("{'a' 1}"); },
              is_refused("expected ':' at byte 5, found \"1\""));
  EXPECT_THAT([] { parse_python_literal("(1 2)"); }, is_refused("expected ',' at byte 3"));
  EXPECT_THAT([] { parse_python_literal("(,)"); }, is_refused("expected a value at byte 1"));
  EXPECT_THAT([] { parse_python_literal("'abc"); },
              is_refused("expected ''' at byte 4, found the end"));
  EXPECT_THAT([] { parse_python_literal("'abc\\"); }, is_refused("found the end"));
  EXPECT_THAT([] { parse_python_literal(""); }, is_refused("expected a value at byte 0"));
  EXPECT_THAT([] { parse_python_literal("{} {}"); }, is_refused("expected the end at byte 3"));
  EXPECT_THAT([] { parse_python_literal("__import__('os')"); }, is_refused("expected a value"));
}

TEST(PythonLiteral, a_zero_byte_is_not_the_end) {
  EXPECT_THAT([] { parse_python_literal(std::string_view("{}\0", 3)); },
              is_refused("expected the end at byte 2"));
}

TEST(PythonLiteral, integers_beyond_64_bits_are_refused) {
  EXPECT_THAT([] { parse_python_literal("9223372036854775808"); }, is_refused("at most 64 bits"));
}

TEST(PythonLiteral, deep_nesting_is_refused) {
  EXPECT_THAT([] { parse_python_literal(std::string(100000, '(')); },
              is_refused("16 levels of nesting"));
}

}  // namespace
}  // namespace vernier
