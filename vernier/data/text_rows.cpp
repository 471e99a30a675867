#include "vernier/data/text_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "vernier/data/arrow_file.h"
#include "vernier/data/duckdb_query.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Rows = std::vector<std::string>;

constexpr std::array<std::string_view, 6> endings = {".csv",  ".tsv",     ".jsonl",
                                                     ".json", ".parquet", ".arrow"};

bool is_table(const fs::path& path) {
  return std::ranges::count(endings, path.extension().string()) > 0;
}

Json parse_row(const std::string& text, const fs::path& path, std::int64_t line) {
  const Json row = try_parse_json<Json>(text);
  if (row.is_discarded() || !row.is_object())
    throw Error(fmt::format("[dataset] {}: row {} is no JSON object", path.string(), line));
  return row;
}

void read_json_lines(const fs::path& path, std::int64_t most, Rows& rows) {
  std::ifstream file(path);
  std::int64_t number = 0;
  for (std::string line; std::ssize(rows) < most && std::getline(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    rows.push_back(json_line(parse_row(line, path, number)));
  }
}

void read_array(const fs::path& path, std::int64_t most, Rows& rows) {
  std::ifstream file(path);
  const Json all = try_parse_json<Json>(std::string{std::istreambuf_iterator<char>(file), {}});
  if (!all.is_array())
    throw Error(
        fmt::format("[dataset] {}: expected a JSON array of rows; one object a line is a "
                    ".jsonl",
                    path.string()));
  for (const Json& row : all) {
    if (std::ssize(rows) == most) return;
    if (!row.is_object())
      throw Error(
          fmt::format("[dataset] {}: row {} is no JSON object", path.string(), rows.size()));
    rows.push_back(json_line(row));
  }
}

void read_by_duckdb(const fs::path& path, const std::string& reader, std::int64_t most,
                    Rows& rows) {
  const std::int64_t left = most - std::ssize(rows);
  DuckDb().query(fmt::format("SELECT CAST(to_json(t) AS VARCHAR) FROM {} t LIMIT {}", reader,
                             std::min<std::int64_t>(left, std::int64_t{1} << 40)),
                 path, path.string(),
                 [&](const DuckDbRow& row) { rows.emplace_back(row.bytes(0).value_or("{}")); });
}

Json value_of(const ArrowArray& array, std::int64_t row) {
  if (!array.has(row)) return nullptr;
  switch (array.field->kind) {
    case ArrowField::Kind::text: {
      const auto bytes = array.bytes(row);
      return bytes ? Json(std::string(as_text(*bytes))) : Json(nullptr);
    }
    case ArrowField::Kind::number: {
      if (const auto integer = is_integer(array.field->dtype) ? array.integer(row) : std::nullopt)
        return *integer;
      const auto bytes = array.bytes(row);
      const std::int64_t one = 1;
      return bytes ? Json(to_f64(TensorView{"", array.field->dtype, std::span(&one, 1), *bytes})[0])
                   : Json(nullptr);
    }
    case ArrowField::Kind::list: {
      Json list = Json::array();
      const auto [begin, end] = array.range(row);
      for (std::int64_t i = begin; i < end; ++i) list.push_back(value_of(array.children[0], i));
      return list;
    }
    case ArrowField::Kind::structure: {
      Json object = Json::object();
      for (const ArrowArray& child : array.children)
        object[child.field->name] = value_of(child, row);
      return object;
    }
    default: return nullptr;
  }
}

void read_arrow(const fs::path& path, std::int64_t most, Rows& rows) {
  const ArrowFile file(path);
  for (std::int64_t i = 0; i < file.rows() && std::ssize(rows) < most; ++i) {
    const auto [columns, row] = file.find(i);
    Json object = Json::object();
    for (const ArrowArray& column : columns) object[column.field->name] = value_of(column, row);
    rows.push_back(json_line(object));
  }
}

void read_table(const fs::path& path, std::int64_t most, Rows& rows) {
  const std::string ending = path.extension().string();
  if (ending == ".jsonl") return read_json_lines(path, most, rows);
  if (ending == ".json") return read_array(path, most, rows);
  if (ending == ".arrow") return read_arrow(path, most, rows);
  if (ending == ".parquet")
    return read_by_duckdb(path, "read_parquet(?, hive_partitioning = false)", most, rows);
  read_by_duckdb(path,
                 fmt::format("read_csv(?, header = true, all_varchar = true, delim = '{}')",
                             ending == ".tsv" ? "\t" : ","),
                 most, rows);
}

}  // namespace

std::vector<std::string> read_text_rows(const fs::path& path, std::int64_t most) {
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.is_regular_file() && is_table(entry.path()) &&
          entry.path().filename() != "state.json" && entry.path().filename() != "dataset_info.json")
        files.push_back(entry.path());
    std::ranges::sort(files);
  } else if (fs::is_regular_file(path) && is_table(path)) {
    files = {path};
  }
  if (files.empty())
    throw Error(fmt::format(
        "[dataset] {}: expected a table of texts: .csv, .tsv, .jsonl, .json, .parquet or .arrow, "
        "or a folder with such files",
        path.string()));
  Rows rows;
  for (const fs::path& file : files)
    if (std::ssize(rows) < most) read_table(file, most, rows);
  return rows;
}

}  // namespace vernier
