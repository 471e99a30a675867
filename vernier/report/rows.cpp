#include "vernier/report/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "vernier/json.h"
#include "vernier/report/number.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

// A list of a result whose elements are rows: its key, the kind of its rows, the key of their
// names, and the group of their failures if it is not called as their kind.
struct RowList {
  const char *key, *kind, *name, *group = kind;
};
constexpr RowList row_lists[] = {
    {"inputs", "input", "name"},
    {"outputs", "output", "name"},
    {"arrays", "array", "name"},
    {"layers", "layer", "layer"},
    {"activations", "tensor", "tensor_name", "activation"},
    {"weights", "weight", "weight_name"},
    {"model_outputs", "output", "output_name"},
    {"findings", "finding", "id"},
    {"metrics", "metric", "name"},
    {"configurations", "configuration", "precision"},
    {"decisions", "decision", "choice"},
    {"rows", "model", "name"},
    {"curve", "point", "kept_nodes"},
};

struct Row {
  const char *kind, *group;
  std::string name;
  const Json* json;
};

bool is_interrupted(const Json& result) { return result.value("interrupted", false); }

// The most detailed result inside a diagnosis; any other result itself.
const Json& deepest(const Json&& result) = delete;
const Json& deepest(const Json& result) {
  if (result.value("command", "") != "diagnose") return result;
  for (const char* command : {"debug", "layers", "eval", "check"})
    if (result.contains(command)) return result[command];
  return result;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return printable(value.get<std::string>());
  return value.is_null() ? "" : json_line(value);
}

std::vector<Row> rows_of(const Json& result) {
  std::vector<Row> rows;
  for (const RowList& list : row_lists) {
    const auto found = result.find(list.key);
    if (found == result.end() || !found->is_array()) continue;
    for (const Json& row : *found) {
      if (!row.is_object()) continue;
      // `layers` stores the name of an output under the key of a layer's name.
      const auto name = row.contains(list.name) ? row.find(list.name) : row.find("layer");
      rows.push_back({list.kind, list.group, name == row.end() ? "" : text_of(*name), &row});
    }
  }
  return rows;
}

// The sentence about the loss from how the candidate runs on this machine; empty if it is
// negligible or was not measured.
std::string loss_of(const Json& result) {
  const Json& run = deepest(result);
  const auto found = run.find("runtime_finding");
  return found == run.end() ? "" : found->get<std::string>();
}

using Cells = std::vector<std::pair<std::string, std::string>>;  // column, text

// Facts about the whole run, repeated in each row because rows are read one by one.
Cells run_cells(const Json& result) {
  Cells cells;
  if (is_interrupted(result)) cells.emplace_back("interrupted", "true");
  if (!loss_of(result).empty())
    cells.emplace_back("runtime_loss_db", text_of(deepest(result)["runtime_loss_db"]));
  return cells;
}

// Adds the numbers and texts of a row; those of a nested object get the object's name as a prefix.
void flatten(const Json& json, const std::string& prefix, Cells& cells) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_array()) continue;
    const std::string name = prefix + printable(key);
    if (!value.is_object())
      cells.emplace_back(name, text_of(value));
    else if (key == "metrics")
      flatten(value, prefix, cells);
    else
      flatten(value, name + "_", cells);
  }
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + "\"";
}

std::string xml(const std::string& text) {
  std::string escaped;
  for (const char character : printable(text)) {
    switch (character) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += character;
    }
  }
  return escaped;
}

// Whether a failure of the verdict is the row's: it names the row, or counts findings of its
// severity.
bool is_about(const Json& failure, const Row& row) {
  if (const auto severity = row.json->find("severity"); severity != row.json->end())
    return failure.value("metric", "") == severity->get<std::string>() + "s";
  // The weight of a layer that was fused, and so was not compared.
  if (std::string_view(row.group) == "layer" && failure.value("group", "") == "weight" &&
      text_of(row.json->value("cause", Json())) == "weight_bit_mismatch" &&
      row.json->value("max_abs_diff", Json()).is_null())
    return true;
  return failure.value("group", "") == row.group &&
         text_of(failure.value("subject", Json())) == row.name;
}

// Why a row fails, by the verdict's failures or by a verdict of its own; nullopt if it does not.
std::optional<std::string> failure_of(const Row& row, const Json& verdict) {
  const Json& json = *row.json;
  const Json none = Json::array();
  std::vector<std::string> reasons;
  if (json.contains("outcome")) {
    for (const Json& reason : json.value("failures", none)) reasons.push_back(text_of(reason));
    if (reasons.empty() && !json.value("pass", true))
      reasons.push_back(text_of(json.value("state", Json())));
  } else {
    const std::string prefix = fmt::format("{} {}: ", row.group, row.name);
    for (const Json& failure : verdict.value("failures", none)) {
      if (!is_about(failure, row)) continue;
      const std::string text = text_of(json.value("evidence", failure.value("text", Json())));
      reasons.push_back(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
    }
  }
  if (reasons.empty()) return std::nullopt;
  const std::string cause = text_of(json.value("cause", Json()));
  return fmt::format("{}{}{}", cause, cause.empty() ? "" : ": ", fmt::join(reasons, "; "));
}

// The failures and doubts of the verdict, after the cause if the result is a diagnosis.
std::string verdict_text(const Json& result) {
  const Json& verdict = result["verdict"];
  std::string text;
  if (const auto cause = result.find("cause"); cause != result.end() && cause->is_object())
    text = "cause: " + text_of(cause->value("text", Json()));
  for (const char* list : {"failures", "doubts"})
    for (const Json& each : verdict.value(list, Json::array()))
      text += (text.empty() ? "" : "; ") + text_of(each.value("text", Json()));
  return text;
}

std::string test_case(const std::string& group, const std::string& name,
                      const std::optional<std::string>& failure, const char* type) {
  std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(group), xml(name));
  if (!failure) return text + "/>\n";
  return text + fmt::format(">\n      <failure type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
                            type, xml(*failure));
}

// The SQNR that a row gives for its tensor; nullopt if it has none.
std::optional<double> figure_of(const Json& row) {
  for (const char* key : {"cumulative_sqnr_db", "sqnr_db", "local_sqnr_db", "weight_sqnr_db"})
    if (const auto value = row.find(key); value != row.end() && value->is_number())
      return value->get<double>();
  return std::nullopt;
}

// The name of the node that writes each tensor. Nodes without a name are skipped: graph_json()
// gives them labels, which Model Explorer does not know.
std::map<std::string, std::string> writers_of(const std::string& graph) {
  std::map<std::string, std::string> writers;
  if (graph.empty()) return writers;
  const Json json = parse_json<Json>(graph);
  for (const Json& node : json["nodes"]) {
    const auto name = node["name"].get<std::string>();
    if (name.starts_with(node["op"].get<std::string>() + "(")) continue;
    for (const Json& tensor : node["out"])
      if (tensor >= 0) writers[json["tensors"][tensor.get<std::size_t>()]] = name;
  }
  return writers;
}

}  // namespace

std::string render_csv(const std::string& json) {
  const Json result = parse_json<Json>(json);
  std::vector<std::string> columns;
  std::vector<std::pair<const char*, Cells>> lines;
  const Cells of_run = run_cells(result);
  for (const Row& row : rows_of(deepest(result))) {
    Cells& cells = lines.emplace_back(row.kind, Cells()).second;
    flatten(*row.json, "", cells);
    cells.insert(cells.begin(), of_run.begin(), of_run.end());
    for (const auto& [column, text] : cells)
      if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  }
  if (lines.empty() && !of_run.empty()) {
    for (const auto& [column, text] : of_run) columns.push_back(column);
    lines.push_back({"run", of_run});
  }
  std::string text = "kind";
  for (const std::string& column : columns) text += "," + csv_cell(column);
  text += "\r\n";
  for (const auto& [kind, cells] : lines) {
    text += kind;
    for (const std::string& column : columns) {
      const auto cell =
          std::ranges::find(cells, column, &std::pair<std::string, std::string>::first);
      text += "," + (cell == cells.end() ? "" : csv_cell(cell->second));
    }
    text += "\r\n";
  }
  return text;
}

std::string render_junit(const std::string& json) {
  const Json result = parse_json<Json>(json);
  const std::string command = text_of(result["command"]);
  const std::string outcome =
      result.contains("verdict") ? text_of(result["verdict"]["outcome"]) : "";
  std::string cases;
  int tests = 0, failures = 0;
  const auto add = [&](const std::string& group, const std::string& name,
                       const std::optional<std::string>& failure, const char* type) {
    cases += test_case(group, name, failure, type);
    ++tests;
    failures += failure.has_value();
  };
  if (!outcome.empty())
    add(command, "verdict", outcome == "pass" ? std::nullopt : std::optional(verdict_text(result)),
        outcome == "fail" ? "fail" : "inconclusive");
  if (is_interrupted(result))
    add(command, "interrupted", "the run was interrupted: run it to its end", "inconclusive");
  // If the verdict is a pass, no row fails: single rows may exceed while the model is within
  // limits.
  const Json& run = deepest(result);
  const Json verdict = run.value("verdict", Json::object());
  for (const Row& row : rows_of(run))
    add(command + "." + row.kind, row.name,
        outcome == "pass" ? std::nullopt : failure_of(row, verdict), "fail");
  const std::string loss = loss_of(result);
  if (!loss.empty()) cases += fmt::format("    <system-out>{}</system-out>\n", xml(loss));
  const std::string suite =
      fmt::format("{} {}", command,
                  result.contains("run") ? text_of(result["run"].value("candidate", Json())) : "");
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{0}\" failures=\"{1}\">\n  "
      "<testsuite name=\"{2}\" tests=\"{0}\" failures=\"{1}\">\n{3}  </testsuite>\n</testsuites>\n",
      tests, failures, xml(suite), cases);
}

std::string render_model_explorer(const std::string& json, const std::string& graph) {
  const Json result = parse_json<Json>(json);
  const std::map<std::string, std::string> writers = writers_of(graph);
  Json nodes = Json::object();
  for (const Row& row : rows_of(deepest(result))) {
    const std::string tensor =
        row.json->contains("tensor") ? text_of((*row.json)["tensor"]) : row.name;
    const auto figure = figure_of(*row.json);
    if (tensor.empty() || !figure) continue;
    const auto writer = writers.find(tensor);
    nodes[writer == writers.end() ? tensor : writer->second] = {{"value", *figure}};
  }
  // The HTML page's colours, each up to a value.
  const auto below = [](double value, const char* colour) {
    return Json{{"value", value}, {"bgColor", colour}};
  };
  const Json data = {
      {"name", is_interrupted(result) ? "SQNR (dB), interrupted run" : "SQNR (dB)"},
      {"results", nodes},
      {"thresholds",
       {below(fair_db, "#fce8df"), below(good_db, "#fdf1d8"), below(1e9, "#e3f3ee")}}};
  return printable_json(json_text(data));
}

}  // namespace vernier
