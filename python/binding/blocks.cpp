#include "python/binding/blocks.h"

#include <nanobind/stl/string.h>

#include <array>
#include <string_view>

namespace nb = nanobind;

namespace vernier::binding {
namespace {

nb::tuple cell_of(const Cell& cell) {
  constexpr std::array<std::string_view, 6> tones = {"plain", "strong", "faint",
                                                     "good",  "fair",   "bad"};
  const std::string_view tone = tones[static_cast<std::size_t>(cell.tone)];
  return nb::make_tuple(cell.text, nb::str(tone.data(), tone.size()));
}

nb::dict block_of(const Panel& panel) {
  nb::list facts;
  for (const auto& [name, value] : panel.facts) facts.append(nb::make_tuple(name, cell_of(value)));
  nb::dict block;
  block["kind"] = "panel";
  block["title"] = panel.title;
  block["facts"] = facts;
  return block;
}

nb::dict block_of(const Table& table) {
  nb::list columns, rows;
  for (const Column& column : table.columns)
    columns.append(nb::make_tuple(column.title, column.align == Align::left ? "left" : "right"));
  for (const std::vector<Cell>& cells : table.rows) {
    nb::list row;
    for (const Cell& cell : cells) row.append(cell_of(cell));
    rows.append(row);
  }
  nb::dict block;
  block["kind"] = "table";
  block["title"] = table.title;
  block["columns"] = columns;
  block["rows"] = rows;
  block["note"] = table.note;
  return block;
}

nb::dict block_of(const Paragraph& paragraph) {
  nb::dict block;
  block["kind"] = "paragraph";
  block["text"] = cell_of(paragraph.text);
  return block;
}

nb::dict block_of(const Code& code) {
  nb::dict block;
  block["kind"] = "code";
  block["text"] = code.text;
  return block;
}

}  // namespace

nb::list blocks_of(const Document& document) {
  nb::list blocks;
  for (const Block& block : document.blocks)
    blocks.append(std::visit([](const auto& each) { return block_of(each); }, block));
  return blocks;
}

}  // namespace vernier::binding
