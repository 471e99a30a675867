#include "vernier/report/markdown.h"

#include <fmt/format.h>

#include <string_view>

namespace vernier {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\`*_|<>[]#").find(c) != std::string_view::npos) out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
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
  void operator()(const Code& code) { text_ += "```\n" + code.text + "\n```\n\n"; }

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
