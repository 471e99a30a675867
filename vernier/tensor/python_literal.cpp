#include "vernier/tensor/python_literal.h"

#include <fmt/format.h>

#include <charconv>

#include "vernier/error.h"

namespace vernier {
namespace {

constexpr int max_depth = 16;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  PythonLiteral parse_all() {
    PythonLiteral literal = parse_value(0);
    if (peek() != '\0' || position_ < text_.size()) fail("the end");
    return literal;
  }

 private:
  // The next character that is not whitespace, '\0' at the end.
  char peek() {
    constexpr std::string_view whitespace = " \t\r\n\f";
    position_ = std::min(text_.find_first_not_of(whitespace, position_), text_.size());
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool accept(char wanted) {
    if (peek() != wanted || position_ == text_.size()) return false;
    ++position_;
    return true;
  }

  bool accept_word(std::string_view word) {
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("'{}'", wanted));
  }

  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found =
        position_ == text_.size() ? "the end" : fmt::format("{:?}", text_.substr(position_, 1));
    throw Error(fmt::format("expected {} at byte {}, found {}", expected, position_, found));
  }

  PythonLiteral parse_value(int depth) {
    if (depth == max_depth) fail(fmt::format("at most {} levels of nesting", max_depth));
    const char next = peek();
    if (accept('{')) return {parse_dict(depth)};
    if (accept('(')) return parse_tuple(depth);
    if (accept('[')) return {PythonLiteral::List{parse_items(']', depth).first}};
    if (next == '\'' || next == '"') return {parse_string()};
    if (accept_word("True")) return {true};
    if (accept_word("False")) return {false};
    if (accept_word("None")) return {PythonLiteral::None{}};
    return {parse_integer()};
  }

  PythonLiteral::Dict parse_dict(int depth) {
    PythonLiteral::Dict dict;
    while (!accept('}')) {
      if (!dict.entries.empty()) {
        expect(',');
        if (accept('}')) break;
      }
      PythonLiteral key = parse_value(depth + 1);
      expect(':');
      dict.entries.emplace_back(std::move(key), parse_value(depth + 1));
    }
    return dict;
  }

  // The items up to `close`, and whether a comma followed the last.
  std::pair<std::vector<PythonLiteral>, bool> parse_items(char close, int depth) {
    std::vector<PythonLiteral> items;
    while (!accept(close)) {
      if (!items.empty()) {
        expect(',');
        if (accept(close)) return {std::move(items), true};
      }
      items.push_back(parse_value(depth + 1));
    }
    return {std::move(items), false};
  }

  // "(3)" is 3 in parentheses; "(3,)" is a tuple.
  PythonLiteral parse_tuple(int depth) {
    auto [items, comma] = parse_items(')', depth);
    if (items.size() == 1 && !comma) return std::move(items[0]);
    return {PythonLiteral::Tuple{std::move(items)}};
  }

  std::string parse_string() {
    const char quote = text_[position_++];
    std::string result;
    while (position_ < text_.size() && text_[position_] != quote) {
      if (text_[position_] == '\\') ++position_;  // escapes are not decoded: "\n" becomes "n"
      if (position_ < text_.size()) result += text_[position_++];
    }
    expect(quote);
    return result;
  }

  std::int64_t parse_integer() {
    std::int64_t value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail("an integer of at most 64 bits");
    if (error != std::errc{}) fail("a value");
    position_ += static_cast<std::size_t>(end - begin);
    accept_word("L");  // the suffix of long integers in Python 2
    return value;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

PythonLiteral parse_python_literal(std::string_view text) { return Parser(text).parse_all(); }

}  // namespace vernier
