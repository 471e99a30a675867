#include "vernier/data/dataset_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/json.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;
using Holds = DatasetColumn::Holds;

// The inner object of {"info": {"features": {"label": {"_type": "ClassLabel", "names": [...]}}}};
// empty if it is missing.
Json features_in(std::string_view metadata) {
  Json json = try_parse_json<Json>(metadata);
  for (const char* key : {"info", "features"}) {
    if (!json.is_object() || !json.contains(key)) return Json::object();
    json = Json(json[key]);
  }
  return json.is_object() ? json : Json::object();
}

}  // namespace

DatasetColumns::DatasetColumns(std::string subject, std::vector<DatasetColumn> columns,
                               std::string_view metadata)
    : subject_(std::move(subject)), columns_(std::move(columns)) {
  try {
    const Json features = features_in(metadata);
    for (const auto& [name, value] : features.items()) {
      if (!value.is_object()) continue;
      Feature& feature = features_[name];
      feature.type = value.value("_type", "");
      for (const Json& label : value.value("names", Json::array()))
        feature.classes.push_back(label.is_string() ? label.get<std::string>() : json_line(label));
    }
  } catch (const Json::exception&) {
    features_.clear();
  }
}

const DatasetColumn& DatasetColumns::inputs(const std::string& wanted) const {
  const auto* found = find_any(
      wanted, {{Holds::images, "Image", {"image", "img"}},
               {Holds::text, "Image", {"image", "img", "path", "file_name"}},
               {Holds::arrays, "", {"input", "inputs", "pixel_values", "input_ids", "x"}}});
  if (!found) fail(wanted.empty() ? "no column of images" : "no such column of images: " + wanted);
  return *found;
}

// A label column of images holds label maps; one of arrays holds token ids.
const DatasetColumn* DatasetColumns::labels(const std::string& wanted) const {
  const auto* found =
      find_any(wanted, {{Holds::integers, "ClassLabel", {"label", "labels"}},
                        {Holds::images, "", {"label", "labels", "annotation", "mask"}},
                        {Holds::text, "ClassLabel", {"label", "labels", "class"}},
                        {Holds::arrays, "", {"label", "labels"}}});
  if (!found && !wanted.empty()) fail("no such column of labels or maps of them: " + wanted);
  return found;
}

std::vector<std::string> DatasetColumns::classes(const std::string& column) const {
  const auto found = features_.find(column);
  return found == features_.end() ? std::vector<std::string>() : found->second.classes;
}

const DatasetColumn* DatasetColumns::find_any(const std::string& wanted,
                                              const std::vector<Rule>& rules) const {
  for (const Rule& rule : rules)
    if (const auto* found = find(wanted, rule)) return found;
  return nullptr;
}

const DatasetColumn* DatasetColumns::find(const std::string& wanted, const Rule& rule) const {
  const auto named = [&](const std::string& name) -> const DatasetColumn* {
    for (const DatasetColumn& column : columns_)
      if (column.name == name && column.holds == rule.holds) return &column;
    return nullptr;
  };
  if (!wanted.empty()) return named(wanted);
  for (const auto& column : columns_)
    if (const auto described = features_.find(column.name);
        *rule.feature && described != features_.end() && described->second.type == rule.feature &&
        column.holds == rule.holds)
      return &column;
  for (const char* name : rule.usual)
    if (const auto* column = named(name)) return column;
  return nullptr;
}

void DatasetColumns::fail(const std::string& reason) const {
  std::vector<std::string> all;
  for (const DatasetColumn& column : columns_) all.push_back(column.name + " " + column.type);
  throw Error(fmt::format("{}: {}; it has {}", subject_, reason, fmt::join(all, ", ")));
}

std::variant<Unreadable, EncodedImage, Image, Tensor> image_of_row(
    std::optional<std::string_view> bytes, std::optional<std::string_view> path,
    const std::filesystem::path& folder, const std::string& id) {
  if (bytes) return encoded_image(*bytes);
  if (!path) return Unreadable{id + ": the image has no bytes"};
  for (const std::filesystem::path& base : {folder, folder.parent_path()})
    if (std::filesystem::is_regular_file(base / *path)) return read_file(base / *path, "dataset");
  return Unreadable{fmt::format("{}: the image has no bytes, and there is no file {}", id, *path)};
}

EncodedImage encoded_image(std::string_view bytes) {
  const auto values = std::as_bytes(std::span(bytes));
  return {values.begin(), values.end()};
}

}  // namespace vernier
