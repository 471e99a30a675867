#include "vernier/report/html.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/report/html_page.h"
#include "vernier/report/json.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view data_mark = "__VERNIER_DATA__";

std::string_view tone_name(Tone tone) {
  switch (tone) {
    case Tone::plain: return "plain";
    case Tone::strong: return "strong";
    case Tone::faint: return "faint";
    case Tone::good: return "good";
    case Tone::fair: return "fair";
    case Tone::bad: return "bad";
  }
  return "plain";
}

// The text, or [text, tone] if the tone is not plain.
Json cell_json(const Cell& cell) {
  if (cell.tone == Tone::plain) return cell.text;
  return {cell.text, tone_name(cell.tone)};
}

struct BlockJson {
  Json operator()(const Panel& panel) const {
    Json facts = Json::array();
    for (const auto& [name, cell] : panel.facts)
      facts.push_back(Json::array({name, cell_json(cell)}));
    return {{"kind", "panel"}, {"title", panel.title}, {"facts", std::move(facts)}};
  }
  Json operator()(const Table& table) const {
    Json columns = Json::array(), rows = Json::array();
    for (const Column& column : table.columns)
      columns.push_back({{"title", column.title}, {"left", column.align == Align::left}});
    for (const auto& cells : table.rows) {
      Json row = json_list<Json>(cells, cell_json);
      rows.push_back(std::move(row));
    }
    return {{"kind", "table"},
            {"title", table.title},
            {"columns", std::move(columns)},
            {"rows", std::move(rows)},
            {"note", table.note}};
  }
  Json operator()(const Paragraph& paragraph) const {
    return {{"kind", "paragraph"}, {"text", cell_json(paragraph.text)}};
  }
  Json operator()(const Code& code) const { return {{"kind", "code"}, {"text", code.text}}; }
};

Json in_blocks(const Document& document) {
  Json blocks = json_list<Json>(document.blocks,
                                [&](const Block& block) { return std::visit(BlockJson(), block); });
  return {{"title", document.title}, {"blocks", std::move(blocks)}};
}

Json parse_result(const std::string& text) {
  Json json = try_parse_json<Json>(text);
  if (!json.is_object() || !json.contains("command") || !json.contains("schema_version"))
    throw Error("[html] no result of Vernier: give files that a command wrote with -f json");
  if (json["schema_version"] != json_schema_version)
    throw Error(fmt::format(
        "[html] a result of schema_version {}, this program reads {}: run the command again",
        json_line(json["schema_version"]), json_schema_version));
  return json;
}

Json result_json(const HtmlResult& result) {
  Json json = {{"result", parse_result(result.json)}};
  if (result.document) json["document"] = in_blocks(*result.document);
  if (!result.command_line.empty()) json["command_line"] = result.command_line;
  if (!result.graph.empty()) json["graph"] = parse_json<Json>(result.graph);
  if (!result.detail.empty()) json["detail"] = parse_json<Json>(result.detail);
  return json;
}

// Escapes all texts, so that none can hide or reorder others on the page.
Json shown(Json json) {
  if (json.is_string()) return printable_lines(json.get_ref<const std::string&>());
  if (json.is_array())
    for (Json& value : json) value = shown(std::move(value));
  if (!json.is_object()) return json;
  Json result = Json::object();
  for (auto& [key, value] : json.items()) result[printable_lines(key)] = shown(std::move(value));
  return result;
}

// Escapes JSON for a script element. These characters occur in JSON only inside strings, where \u
// escapes are equivalent; so no text of a model can end the element or start a comment.
std::string escape_for_script(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char character : json) switch (character) {
      case '<': text += "\\u003c"; break;
      case '>': text += "\\u003e"; break;
      case '&': text += "\\u0026"; break;
      default: text += character;
    }
  return text;
}

}  // namespace

void require_html() {
  if (html_page().empty())
    throw Error(
        "[html] this build has no page, for Node.js was not there when it was configured: run "
        "scripts/setup.sh build and build again, or choose another format");
}

std::string render_html(std::span<const HtmlResult> results) {
  require_html();
  Json data = {{"results", Json::array()}};
  for (const HtmlResult& result : results) data["results"].push_back(result_json(result));
  const std::string_view page = html_page();
  const std::size_t mark = page.find(data_mark);
  std::string text(page.substr(0, mark));
  text += escape_for_script(json_line(shown(std::move(data))));
  text += page.substr(mark + data_mark.size());
  return text;
}

std::string document_json(const Document& document) { return json_line(in_blocks(document)); }

std::string render_html(const HtmlResult& result) { return render_html(std::span(&result, 1)); }

}  // namespace vernier
