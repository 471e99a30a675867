#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace vernier {

// A report before it is rendered: every command describes its result once as a Document, and the
// terminal and Markdown renderers show it. Text is UTF-8.

enum class Tone { plain, strong, faint, good, fair, bad };
enum class Align { left, right };

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
  Cell() = default;
  Cell(std::string cell_text, Tone cell_tone = Tone::plain)  // NOLINT: a text is a cell
      : text(std::move(cell_text)), tone(cell_tone) {}
  Cell(const char* cell_text) : text(cell_text) {}  // NOLINT
  bool operator==(const Cell&) const = default;
};

struct Column {
  std::string title;
  Align align = Align::right;
  int spare = 0;  // left out where a terminal is too narrow, the highest first; 0: never
  bool operator==(const Column&) const = default;
};

// Named facts, one a line: what was run on what.
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

// Something to paste, kept verbatim.
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
