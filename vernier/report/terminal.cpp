#include "vernier/report/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <sstream>
#include <string_view>

#include "vernier/utf8.h"

namespace vernier {
namespace {

const char* escape_of(Tone tone) {
  switch (tone) {
    case Tone::plain: return "";
    case Tone::strong: return "\x1b[1m";
    case Tone::faint: return "\x1b[2m";
    case Tone::good: return "\x1b[36m";  // cyan, which colour-blind readers can tell from red
    case Tone::fair: return "\x1b[33m";
    case Tone::bad: return "\x1b[31m";
  }
  return "";
}

// The width of UTF-8 text in columns, one per code point.
int display_width(const std::string& text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

// The byte offset of the code point with this index.
std::size_t byte_offset(const std::string& text, int code_point) {
  std::size_t offset = 0;
  for (; offset < text.size(); ++offset)
    if ((text[offset] & 0xc0) != 0x80 && code_point-- == 0) break;
  return offset;
}

constexpr int least_column = 12;  // smallest width of a column of names

int total_width(const std::vector<int>& widths) {
  return std::accumulate(widths.begin(), widths.end(), 2 * static_cast<int>(widths.size()));
}

constexpr std::pair<std::string_view, std::string_view> symbols[] = {
    {"✓", "+"},  {"✗", "x"}, {"·", "-"}, {"±", "+/-"}, {"–", "-"}, {"×", "x"},
    {"→", "->"}, {"…", "~"}, {"▁", "1"}, {"▂", "2"},   {"▃", "3"}, {"▄", "4"},
    {"▅", "5"},  {"▆", "6"}, {"▇", "7"}, {"█", "8"}};

std::string ascii_symbols(std::string text) {
  for (const auto& [symbol, ascii] : symbols)
    for (std::size_t at = text.find(symbol); at != std::string::npos;
         at = text.find(symbol, at + ascii.size()))
      text.replace(at, symbol.size(), ascii);
  return text;
}

class Writer {
 public:
  Writer(bool colour, int width) : colour_(colour), width_(width) {}

  void operator()(const Panel& panel) {
    int width = 0;
    for (const auto& [name, value] : panel.facts) width = std::max(width, display_width(name));
    title(panel.title);
    for (const auto& [name, value] : panel.facts) {
      std::string left = "  " + paint({name, Tone::faint}, width, Align::left) + "  ";
      for (const std::string& part : wrapped(value.text, width + 4)) {
        line(left + paint({part, value.tone}));
        left = std::string(width + 4, ' ');
      }
    }
  }

  void operator()(const Table& whole) {
    title(whole.title);
    std::vector<std::string> left_out;
    const Table table = without_spare(whole, left_out);
    std::vector<int> widths = column_widths(table);
    fit(widths, table);
    std::size_t end = 0;
    do {
      const std::size_t begin = std::max<std::size_t>(end, 1);
      end = fitting_end(widths, begin);
      rows(table, widths, begin, end);
    } while (end < widths.size());
    if (!table.note.empty()) paragraph({table.note, Tone::faint}, "  ");
    if (!left_out.empty())
      paragraph({fmt::format("too narrow for: {}", fmt::join(left_out, ", ")), Tone::faint}, "  ");
  }

  void operator()(const Paragraph& text) { paragraph(text.text, ""); }
  void operator()(const Code& code) {
    for (const auto part : std::views::split(code.text, '\n'))
      line("  " + printable({part.begin(), part.end()}));
  }

  void title(const std::string& text) {
    if (!text.empty()) paragraph({text, Tone::strong}, "");
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

  // The smallest width of a column of names in this terminal.
  int least_width() const { return std::max(least_column, std::min(30, width_ / 3)); }

  bool can_fit(const Table& table) const {
    std::vector<int> widths = column_widths(table);
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (table.columns[i].align == Align::left) widths[i] = std::min(widths[i], least_width());
    return total_width(widths) <= width_;
  }

  // Drops spare columns until the table fits, and adds their titles to `left_out`.
  Table without_spare(Table table, std::vector<std::string>& left_out) const {
    while (width_ > 0 && !can_fit(table)) {
      std::size_t most = 0;
      for (std::size_t i = 1; i < table.columns.size(); ++i)
        if (table.columns[i].spare > 0 && table.columns[i].spare >= table.columns[most].spare)
          most = i;
      if (most == 0) break;
      const auto at = static_cast<std::ptrdiff_t>(most);
      left_out.push_back(table.columns[most].title);
      table.columns.erase(table.columns.begin() + at);
      for (auto& row : table.rows) row.erase(row.begin() + at);
    }
    return table;
  }

  // Narrows the widest columns of names if that makes the table fit. Otherwise the table continues
  // below itself, and only columns wider than the terminal are cut.
  void fit(std::vector<int>& widths, const Table& table) const {
    if (width_ <= 0 || total_width(widths) <= width_) return;
    const int least = least_width();
    std::vector<int> narrow = widths;
    while (total_width(narrow) > width_) {
      int* widest = nullptr;
      for (std::size_t i = 0; i < narrow.size(); ++i)
        if (table.columns[i].align == Align::left && narrow[i] > least &&
            (!widest || narrow[i] > *widest))
          widest = &narrow[i];
      if (!widest) break;
      --*widest;
    }
    if (total_width(narrow) <= width_) {
      widths = narrow;
      return;
    }
    widths[0] = std::min(widths[0], std::max(least, width_ / 2));
    for (std::size_t i = 1; i < widths.size(); ++i)
      widths[i] = std::min(widths[i], std::max(least_column, width_ - widths[0] - 4));
  }

  // The end of the columns from `begin` that fit next to the first column; at least one column.
  std::size_t fitting_end(const std::vector<int>& widths, std::size_t begin) const {
    if (width_ <= 0) return widths.size();
    int used = widths.empty() ? 0 : widths[0] + 2;
    std::size_t end = begin;
    while (end < widths.size() && (end == begin || used + widths[end] + 2 <= width_))
      used += widths[end++] + 2;
    return std::max(end, begin + 1);
  }

  // Writes the header and all rows of the first column and the columns [begin, end).
  void rows(const Table& table, const std::vector<int>& widths, std::size_t begin,
            std::size_t end) {
    const auto row = [&](const auto& cell_of) {
      std::string out;
      for (std::size_t i = 0; i < std::min(end, widths.size()); i = i == 0 ? begin : i + 1)
        out += "  " + paint(cell_of(i), widths[i], table.columns[i].align, true);
      line(out);
    };
    row([&](std::size_t i) { return Cell(table.columns[i].title, Tone::strong); });
    for (const auto& cells : table.rows) row([&](std::size_t i) { return cells[i]; });
  }

  void paragraph(const Cell& cell, const std::string& indent) {
    for (const std::string& part : wrapped(cell.text, static_cast<int>(indent.size())))
      line(indent + paint({part, cell.tone}));
  }

  // The text in lines that fit after `indent` columns.
  std::vector<std::string> wrapped(const std::string& text, int indent) const {
    return width_ > 0 ? wrap_text(printable(text), std::max(least_column, width_ - indent))
                      : std::vector{text};
  }

  std::string paint(const Cell& cell, int width = 0, Align align = Align::left,
                    bool elide = false) const {
    std::string text = printable(cell.text);
    if (elide && width_ > 0) text = elide_middle(text, width);
    const std::string padding(std::max(0, width - display_width(text)), ' ');
    if (colour_ && cell.tone != Tone::plain) text = escape_of(cell.tone) + text + "\x1b[0m";
    return align == Align::left ? text + padding : padding + text;
  }

  void line(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    text_ += text + '\n';
  }

  bool colour_;
  int width_;
  std::string text_;
};

}  // namespace

std::string render_terminal(const Document& document, bool colour, int width) {
  Writer writer(colour, width);
  writer.title(document.title);
  bool first = document.title.empty();
  for (const Block& block : document.blocks) {
    if (!first) writer.blank_line();
    first = false;
    std::visit(writer, block);
  }
  return writer.take();
}

Document in_ascii(Document document) {
  const auto change = [](std::string& text) { text = ascii_symbols(std::move(text)); };
  for (Block& block : document.blocks) {
    if (auto* panel = std::get_if<Panel>(&block)) {
      for (auto& [name, value] : panel->facts) {
        change(name);
        change(value.text);
      }
    } else if (auto* table = std::get_if<Table>(&block)) {
      change(table->note);
      for (auto& row : table->rows)
        for (Cell& cell : row) change(cell.text);
    } else if (auto* paragraph = std::get_if<Paragraph>(&block)) {
      change(paragraph->text.text);
    }
  }
  return document;
}

std::vector<std::string> wrap_text(const std::string& text, int width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ' ');) {
    if (!lines.back().empty() && display_width(lines.back()) + 1 + display_width(word) > width)
      lines.emplace_back();
    else if (lines.back().size() > 0)
      lines.back() += ' ';
    for (; display_width(word) > width; word.erase(0, byte_offset(word, width))) {
      lines.back() += word.substr(0, byte_offset(word, width));
      lines.emplace_back();
    }
    lines.back() += word;
  }
  return lines;
}

std::string elide_middle(const std::string& text, int width) {
  const int length = display_width(text);
  if (length <= width || width < 1) return text;
  const int tail = width / 2, head = width - 1 - tail;
  return text.substr(0, byte_offset(text, head)) + "…" +
         text.substr(byte_offset(text, length - tail));
}

}  // namespace vernier
