#include "vernier/json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

namespace vernier {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string nested_lists(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']');
}

TEST(Json, what_is_written_is_read_again) {
  const ordered_json value = {{"b", 1}, {"a", {2.5, "x"}}};
  EXPECT_EQ(json_line(value), R"({"b":1,"a":[2.5,"x"]})");
  EXPECT_EQ(json_text(json{{"b", 1}, {"a", 2}}), "{\n  \"a\": 2,\n  \"b\": 1\n}\n");
  EXPECT_EQ(parse_json<ordered_json>(json_text(value)), value);
}

TEST(Json, bytes_that_are_not_utf8_are_replaced) {
  EXPECT_EQ(json_line(json("a\xff")), "\"a\uFFFD\"");
}

TEST(Json, what_is_nested_too_deep_is_refused_before_it_is_parsed) {
  EXPECT_NO_THROW(parse_json<json>(nested_lists(most_json_levels)));
  EXPECT_THROW(parse_json<json>(nested_lists(most_json_levels + 1)), json::exception);
  EXPECT_TRUE(try_parse_json<json>(nested_lists(most_json_levels + 1)).is_discarded());
}

TEST(Json, brackets_in_strings_are_no_levels) {
  const std::string text = '"' + std::string(1000, '[') + R"(\"[")";
  EXPECT_EQ(parse_json<json>(text).get<std::string>().size(), 1002U);
}

TEST(Json, the_reason_has_no_name_of_an_exception) {
  EXPECT_TRUE(try_parse_json<json>("{").is_discarded());
  try {
    parse_json<json>("{");
    FAIL() << "parsed";
  } catch (const json::exception& error) {
    EXPECT_THAT(json_reason(error), HasSubstr("parse error"));
    EXPECT_THAT(json_reason(error), Not(HasSubstr("json.exception")));
  }
}

}  // namespace
}  // namespace vernier
