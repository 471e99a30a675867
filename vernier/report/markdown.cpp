#include "vernier/report/markdown.h"

#include <fmt/format.h>

#include <cctype>
#include <ranges>
#include <string_view>

#include "vernier/utf8.h"

namespace vernier {
namespace {

bool is_word(std::string_view text, std::size_t i) {
  return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
}

// Whether the character is markup at this position: sqnr_db and [1,10] need no escapes.
bool is_markup(std::string_view text, std::size_t i) {
  switch (text[i]) {
    case '\\':
    case '`':
    case '*':
    case '|':
    case '<': return true;
    case '_': return i == 0 || !is_word(text, i - 1) || !is_word(text, i + 1);
    case ']': return i + 1 < text.size() && (text[i + 1] == '(' || text[i + 1] == '[');
    case '#':
    case '>': return i == 0;
    default: return false;
  }
}

std::string escaped(std::string_view raw) {
  const std::string text = printable(raw);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_markup(text, i)) out += '\\';
    out += text[i];
  }
  return out;
}

std::string emphasised(const Cell& cell) {
  const std::string text = escaped(cell.text);
  const bool loud = cell.tone == Tone::strong || cell.tone == Tone::bad;
  return loud && !text.empty() ? "**" + text + "**" : text;
}

class Writer {
 public:
  void heading(int level, const std::string& text) {
    if (!text.empty()) text_ += fmt::format("{} {}\n\n", std::string(level, '#'), escaped(text));
  }

  void operator()(const Panel& panel) {
    heading(2, panel.title);
    for (const auto& [name, value] : panel.facts)
      text_ += fmt::format("- {}: {}\n", escaped(name), emphasised(value));
    text_ += '\n';
  }

  void operator()(const Table& table) {
    heading(2, table.title);
    for (const Column& column : table.columns) text_ += fmt::format("| {} ", escaped(column.title));
    text_ += "|\n";
    for (const Column& column : table.columns)
      text_ += column.align == Align::left ? "|---" : "|--:";
    text_ += "|\n";
    for (const auto& cells : table.rows) {
      for (const Cell& cell : cells) text_ += fmt::format("| {} ", emphasised(cell));
      text_ += "|\n";
    }
    if (!table.note.empty()) text_ += "\n" + escaped(table.note) + "\n";
    text_ += '\n';
  }

  void operator()(const Paragraph& paragraph) { text_ += emphasised(paragraph.text) + "\n\n"; }
  // Uses a fence that does not occur in the text.
  void operator()(const Code& code) {
    std::string fence = "```";
    while (code.text.find(fence) != std::string::npos) fence += '`';
    text_ += fence + "\n";
    for (const auto part : std::views::split(code.text, '\n'))
      text_ += printable({part.begin(), part.end()}) + "\n";
    text_ += fence + "\n\n";
  }

  std::string take() {
    while (text_.ends_with("\n\n")) text_.pop_back();
    return std::move(text_);
  }

 private:
  std::string text_;
};

}  // namespace

std::string render_markdown(const Document& document) {
  Writer writer;
  writer.heading(1, document.title);
  for (const Block& block : document.blocks) std::visit(writer, block);
  return writer.take();
}

}  // namespace vernier
