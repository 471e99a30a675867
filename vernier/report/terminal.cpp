#include "vernier/report/terminal.h"

#include <fmt/format.h>

#include <algorithm>

namespace vernier {
namespace {

const char* escape_of(Tone tone) {
  switch (tone) {
    case Tone::plain: return "";
    case Tone::strong: return "\x1b[1m";
    case Tone::faint: return "\x1b[2m";
    case Tone::good: return "\x1b[32m";
    case Tone::fair: return "\x1b[33m";
    case Tone::bad: return "\x1b[31m";
  }
  return "";
}

// Control characters in a tensor's or file's name must not reach the terminal.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

// Columns that a UTF-8 text takes, counting one for every code point.
int display_width(const std::string& text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

class Writer {
 public:
  explicit Writer(bool colour) : colour_(colour) {}

  void operator()(const Panel& panel) {
    int width = 0;
    for (const auto& [name, value] : panel.facts) width = std::max(width, display_width(name));
    title(panel.title);
    for (const auto& [name, value] : panel.facts)
      line("  " + paint({name, Tone::faint}, width, Align::left) + "  " + paint(value));
  }

  void operator()(const Table& table) {
    title(table.title);
    std::vector<Cell> header;
    for (const Column& column : table.columns) header.emplace_back(column.title, Tone::strong);
    const std::vector<int> widths = column_widths(table);
    row(table, header, widths);
    for (const auto& cells : table.rows) row(table, cells, widths);
    if (!table.note.empty()) line("  " + paint({table.note, Tone::faint}));
  }

  void operator()(const Paragraph& paragraph) { line(paint(paragraph.text)); }
  void operator()(const Code& code) { line("  " + code.text); }

  void title(const std::string& text) {
    if (!text.empty()) line(paint({text, Tone::strong}));
  }
  void blank_line() { text_ += '\n'; }
  std::string take() { return std::move(text_); }

 private:
  static std::vector<int> column_widths(const Table& table) {
    std::vector<int> widths;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      int width = display_width(table.columns[i].title);
      for (const auto& cells : table.rows)
        width = std::max(width, display_width(printable(cells[i].text)));
      widths.push_back(width);
    }
    return widths;
  }

  void row(const Table& table, const std::vector<Cell>& cells, const std::vector<int>& widths) {
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i)
      out += "  " + paint(cells[i], widths[i], table.columns[i].align);
    line(out);
  }

  std::string paint(const Cell& cell, int width = 0, Align align = Align::left) const {
    std::string text = printable(cell.text);
    const std::string padding(std::max(0, width - display_width(text)), ' ');
    if (colour_ && cell.tone != Tone::plain) text = escape_of(cell.tone) + text + "\x1b[0m";
    return align == Align::left ? text + padding : padding + text;
  }

  void line(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    text_ += text + '\n';
  }

  bool colour_;
  std::string text_;
};

}  // namespace

std::string render_terminal(const Document& document, bool colour) {
  Writer writer(colour);
  writer.title(document.title);
  bool first = document.title.empty();
  for (const Block& block : document.blocks) {
    if (!first) writer.blank_line();
    first = false;
    std::visit(writer, block);
  }
  return writer.take();
}

}  // namespace vernier
