#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vernier {

// A report before it is rendered. Every command describes its result as a Document, which the
// terminal, Markdown and HTML renderers show. Text is UTF-8.

enum class Tone { plain, strong, faint, good, fair, bad };
enum class Align { left, right };

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
  Cell() = default;
  Cell(std::string cell_text, Tone cell_tone = Tone::plain)  // NOLINT: a text is a cell
      : text(std::move(cell_text)), tone(cell_tone) {}
  Cell(std::string_view cell_text, Tone cell_tone = Tone::plain)  // NOLINT
      : text(cell_text), tone(cell_tone) {}
  Cell(const char* cell_text, Tone cell_tone = Tone::plain)  // NOLINT
      : text(cell_text), tone(cell_tone) {}
  bool operator==(const Cell&) const = default;
};

// A cell of what is not known or does not apply.
inline Cell no_value() { return {"-", Tone::faint}; }

struct Column {
  std::string title;
  Align align = Align::right;
  int spare = 0;  // dropped if the terminal is too narrow, highest first; 0 means never
  bool operator==(const Column&) const = default;
};

// Named facts, one per line: what was run, and on what.
struct Panel {
  std::string title;
  std::vector<std::pair<std::string, Cell>> facts;
  bool operator==(const Panel&) const = default;
};

// Every row has as many cells as there are columns.
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::string note;  // one line below the table
  bool operator==(const Table&) const = default;
};

struct Paragraph {
  Cell text;
  bool operator==(const Paragraph&) const = default;
};

// Text to copy and paste, shown verbatim.
struct Code {
  std::string text;
  bool operator==(const Code&) const = default;
};

using Block = std::variant<Panel, Table, Paragraph, Code>;

struct Document {
  std::string title;
  std::vector<Block> blocks;
  bool operator==(const Document&) const = default;
};

}  // namespace vernier
