#include "vernier/metrics/tokenise.h"

#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "vernier/error.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

using Text = std::u32string;
using Test = bool (*)(char32_t);

constexpr std::array<std::string_view, 5> tokenisations{"none", "13a", "intl", "zh", "char"};

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_not_digit(char32_t c) { return !is_digit(c); }
bool is_stop(char32_t c) { return c == '.' || c == ','; }
bool is_dash(char32_t c) { return c == '-'; }
bool is_not_number(char32_t c) { return !is_number(c); }

// ASCII characters that are always tokens of their own: all but letters, digits and ' , - .
bool is_western_symbol(char32_t c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

// sacreBLEU's definition of Chinese, reproduced to get its scores, including its error: two ranges
// meant for code points above U+FFFF begin at U+2001 and U+2F81.
bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> ranges[] = {
      {0x2001, 0x2a6d}, {0x2e80, 0x2fdf}, {0x2ff0, 0x303f}, {0x3100, 0x312f}, {0x31a0, 0x31ef},
      {0x3200, 0x4db5}, {0x4e00, 0x9fbb}, {0xf900, 0xfa2d}, {0xfa30, 0xfa6a}, {0xfa70, 0xfad9},
      {0xfe10, 0xfe1f}, {0xfe30, 0xfe4f}, {0xff00, 0xffef}};
  return std::ranges::any_of(
      ranges, [&](const auto& range) { return c >= range.first && c <= range.second; });
}

// Puts spaces around every character that passes.
Text isolate(const Text& text, Test test) {
  Text result;
  for (const char32_t c : text) {
    if (test(c))
      result += {' ', c, ' '};
    else
      result += c;
  }
  return result;
}

enum class Side { left, right };

// Puts spaces around one character of each adjacent pair that passes the tests. Pairs are found
// from left to right and do not overlap.
Text isolate_in_pairs(const Text& text, Test first, Test second, Side isolated) {
  Text result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
    } else {
      if (isolated == Side::left)
        result += {' ', text[i], ' ', text[i + 1]};
      else
        result += {text[i], ' ', text[i + 1], ' '};
      ++i;
    }
  }
  return result;
}

Text separate_western(Text text) {
  text = isolate(text, is_western_symbol);
  text = isolate_in_pairs(text, is_not_digit, is_stop, Side::right);
  text = isolate_in_pairs(text, is_stop, is_not_digit, Side::left);
  return isolate_in_pairs(text, is_digit, is_dash, Side::right);
}

Text separate_international(Text text) {
  text = isolate_in_pairs(text, is_not_number, is_punctuation, Side::right);
  text = isolate_in_pairs(text, is_punctuation, is_not_number, Side::left);
  return isolate(text, is_symbol);
}

void replace_all(Text& text, std::u32string_view from, std::u32string_view to) {
  for (std::size_t at = text.find(from); at != Text::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// The preprocessing of the script mteval-v13a, before punctuation is separated.
Text unescape(Text text) {
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  return U" " + text + U" ";
}

Text without_leading_space(const Text& text) {
  return {std::ranges::find_if_not(text, is_white_space), text.end()};
}

void trim_end(Text& text) {
  while (!text.empty() && is_white_space(text.back())) text.pop_back();
}

void lower(Text& text) {
  const std::unique_ptr<std::remove_pointer_t<locale_t>, void (*)(locale_t)> locale(
      newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr), freelocale);
  if (!locale) throw Error("[text] cannot lowercase: this system has no C.UTF-8 locale");
  for (char32_t& c : text)
    c = static_cast<char32_t>(towlower_l(static_cast<wint_t>(c), locale.get()));
}

Text separate(Text text, Tokenisation tokenisation) {
  switch (tokenisation) {
    case Tokenisation::none: return text;
    case Tokenisation::mteval_13a: return separate_western(unescape(std::move(text)));
    case Tokenisation::international: return separate_international(std::move(text));
    case Tokenisation::chinese:
      return separate_western(isolate(without_leading_space(text), is_chinese));
    case Tokenisation::character: return isolate(text, [](char32_t) { return true; });
  }
  return text;
}

std::vector<std::string> split(const Text& text) {
  std::vector<std::string> tokens;
  for (auto begin = text.begin();;) {
    begin = std::find_if_not(begin, text.end(), is_white_space);
    if (begin == text.end()) return tokens;
    const auto end = std::find_if(begin, text.end(), is_white_space);
    tokens.push_back(encode_utf8({begin, end}));
    begin = end;
  }
}

}  // namespace

std::optional<Tokenisation> parse_tokenisation(std::string_view name) {
  const auto found = std::ranges::find(tokenisations, name);
  if (found == tokenisations.end()) return std::nullopt;
  return static_cast<Tokenisation>(found - tokenisations.begin());
}

std::span<const std::string_view> tokenisation_names() { return tokenisations; }

std::vector<std::string> tokenise(std::string_view sentence, const TokeniseOptions& options) {
  Text text = decode_utf8(sentence);
  if (options.lowercase) lower(text);
  trim_end(text);
  return split(separate(std::move(text), options.tokenisation));
}

}  // namespace vernier
