#include "vernier/metrics/tokenise.h"

#include <gtest/gtest.h>

#include "tests/oracle/numpy.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Words = std::vector<std::string>;

TEST(Tokenise, the_default_separates_western_punctuation) {
  EXPECT_EQ(tokenise("The dog's 3.5-year, \"so\" (to) say."),
            (Words{"The", "dog's", "3.5", "-", "year", ",", "\"", "so", "\"", "(", "to", ")", "say",
                   "."}));
}

TEST(Tokenise, digits_keep_their_points_and_lose_their_dashes) {
  EXPECT_EQ(tokenise("1,000.5 6-7 -8"), (Words{"1,000.5", "6", "-", "7", "-8"}));
}

TEST(Tokenise, escapes_are_undone) {
  EXPECT_EQ(tokenise("&lt;a&gt;<skipped> &amp;"), (Words{"<", "a", ">", "&"}));
}

TEST(Tokenise, none_splits_at_white_space_only) {
  EXPECT_EQ(tokenise(" a,\t b.\xe3\x80\x80 c ", {.tokenisation = Tokenisation::none}),
            (Words{"a,", "b.", "c"}));
}

TEST(Tokenise, international_keeps_the_point_of_a_number_at_the_end) {
  const TokeniseOptions options{.tokenisation = Tokenisation::international};
  EXPECT_EQ(tokenise("«Yes», 2019.", options), (Words{"«", "Yes", "»", ",", "2019."}));
  EXPECT_EQ(tokenise("5€", options), (Words{"5", "€"}));
}

TEST(Tokenise, chinese_characters_stand_alone) {
  EXPECT_EQ(tokenise("中文abc。", {.tokenisation = Tokenisation::chinese}),
            (Words{"中", "文", "abc", "。"}));
}

TEST(Tokenise, characters_leave_white_space_out) {
  EXPECT_EQ(tokenise("a é", {.tokenisation = Tokenisation::character}), (Words{"a", "é"}));
}

TEST(Tokenise, lowercase_reaches_beyond_ascii) {
  EXPECT_EQ(tokenise("ÉCOLE Σ Ж", {.lowercase = true}), (Words{"école", "σ", "ж"}));
}

TEST(Tokenise, an_empty_sentence_has_no_tokens) {
  EXPECT_EQ(tokenise(""), Words{});
  EXPECT_EQ(tokenise(" \n"), Words{});
}

TEST(Tokenise, what_is_not_utf8_is_an_error) { EXPECT_THROW(tokenise("\xff"), Error); }

TEST(Tokenise, names_are_read_as_they_are_written) {
  for (std::size_t i = 0; i < tokenisation_names().size(); ++i)
    EXPECT_EQ(parse_tokenisation(tokenisation_names()[i]), static_cast<Tokenisation>(i));
  EXPECT_FALSE(parse_tokenisation("13b"));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

TEST(Tokenise, regular_expressions_agree) {
  const auto python = oracle::python_with("unicodedata");
  if (!python) GTEST_SKIP() << "no Python";
  const std::string output = oracle::output_of("PYTHONIOENCODING=utf-8 " + *python +
                                               " " VERNIER_ORACLES "/tokenise_cases.py");
  int cases = 0;
  for (const std::string& line : split(output, '\x03')) {
    if (line.empty()) continue;
    const std::vector<std::string> parts = split(line, '\x02');
    ASSERT_EQ(parts.size(), 3u);
    const Words expected = parts[2].empty() ? Words{} : split(parts[2], '\x01');
    EXPECT_EQ(tokenise(parts[1], {.tokenisation = *parse_tokenisation(parts[0])}), expected)
        << parts[0] << " of '" << parts[1] << "'";
    ++cases;
  }
  EXPECT_GT(cases, 1000);
}

TEST(UnicodeCategories, known_characters_are_in_them) {
  EXPECT_TRUE(is_punctuation('!') && is_punctuation(U'。') && is_punctuation(U'«'));
  EXPECT_TRUE(is_symbol('$') && is_symbol(U'€') && is_symbol(U'\U0001f600'));
  EXPECT_TRUE(is_number('7') && is_number(U'½') && is_number(U'٣'));
  for (const char32_t code : {U'a', U' ', U'中', U'\U0010ffff', U'\0'})
    EXPECT_FALSE(is_punctuation(code) || is_symbol(code) || is_number(code));
}

}  // namespace
}  // namespace vernier
