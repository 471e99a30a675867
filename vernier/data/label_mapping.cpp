#include "vernier/data/label_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/json.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

std::optional<std::int64_t> parse_label(std::string_view text) {
  std::int64_t label = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
  if (error != std::errc{} || end != text.data() + text.size() || label < 0) return std::nullopt;
  return label;
}

// Class names take precedence: they may be numbers.
std::optional<std::int64_t> dataset_label(const std::string& key,
                                          const std::vector<std::string>& classes) {
  const auto found = std::ranges::find(classes, key);
  if (found != classes.end()) return found - classes.begin();
  return parse_label(key);
}

std::optional<std::int64_t> model_label(const Json& value) {
  if (value.is_string()) return parse_label(value.get<std::string>());
  if (!value.is_number_integer() || value < 0) return std::nullopt;
  return value.get<std::int64_t>();
}

// A name for comparison: lower-case letters and digits, so "Tinca_tinca" equals "tinca tinca".
std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || byte >= 128) letters += static_cast<char>(std::tolower(byte));
  }
  return letters;
}

// The names of a label of the model: in full, and each comma-separated part.
struct LabelNames {
  std::vector<std::string> full, parts;
};

// The names of the model's labels: "id2label" of a config.json, or an object from labels to one or
// more names ({"0": ["n01440764", "tench"]}). A name may list several, separated by commas. Empty
// if the object has another form.
std::map<std::int64_t, LabelNames> label_names(const Json& json) {
  std::map<std::int64_t, LabelNames> names;
  const Json& labels = json.contains("id2label") ? json["id2label"] : json;
  if (!labels.is_object()) return {};
  for (const auto& [key, value] : labels.items()) {
    const auto label = parse_label(key);
    const Json list = value.is_array() ? value : Json::array({value});
    if (!label) return {};
    for (const Json& name : list) {
      if (!name.is_string() || parse_label(name.get<std::string>())) return {};
      const std::string text = name.get<std::string>();
      names[*label].full.push_back(plain(text));
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        names[*label].parts.push_back(plain(std::string_view(text).substr(begin, end - begin)));
        begin = end + 1;
      }
    }
  }
  return names;
}

// The labels that match a class: by full name, else by a comma-separated part.
std::vector<std::int64_t> labels_named(const std::map<std::int64_t, LabelNames>& names,
                                       const std::string& name) {
  for (const auto list : {&LabelNames::full, &LabelNames::parts}) {
    std::vector<std::int64_t> found;
    for (const auto& [label, known] : names)
      if (std::ranges::count(known.*list, plain(name)) > 0) found.push_back(label);
    if (!found.empty()) return found;
  }
  return {};
}

// Throws Error, without the file's name, for a class that matches several labels.
LabelMapping map_by_name(const std::map<std::int64_t, LabelNames>& names,
                         const std::vector<std::string>& classes) {
  LabelMapping mapping;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::vector<std::int64_t> labels = labels_named(names, classes[i]);
    if (labels.size() > 1)
      throw Error(
          fmt::format("'{}' may be label {} or {}; give an object from dataset labels to "
                      "model labels",
                      classes[i], labels[0], labels[1]));
    if (!labels.empty()) mapping.emplace(static_cast<std::int64_t>(i), labels[0]);
  }
  return mapping;
}

}  // namespace

LabelMapping read_label_mapping(const std::filesystem::path& path,
                                const std::vector<std::string>& classes) {
  const auto fail = [&](const std::string& reason) -> Error {
    return Error(fmt::format("[labels] {}: {}", path.string(), reason));
  };
  const Json json = try_parse_json<Json>(as_text(read_file(path, "labels")));
  if (!json.is_object()) throw fail("expected a JSON object from dataset labels to model labels");
  if (const auto names = label_names(json); !names.empty()) {
    LabelMapping mapping;
    try {
      mapping = map_by_name(names, classes);
    } catch (const Error& error) {
      throw fail(error.what());
    }
    if (mapping.empty())
      throw fail(
          "none of its names is a class of the dataset; give an object from dataset labels "
          "to model labels");
    return mapping;
  }
  LabelMapping mapping;
  for (const auto& [key, value] : json.items()) {
    const auto from = dataset_label(key, classes);
    const auto to = model_label(value);
    if (!from) throw fail(fmt::format("'{}' is neither a class of the dataset nor a label", key));
    if (!to)
      throw fail(fmt::format("'{}' is mapped to {}, expected a label of the model, from 0", key,
                             json_line(value)));
    mapping[*from] = *to;
  }
  return mapping;
}

std::optional<std::filesystem::path> find_label_names(const std::filesystem::path& model,
                                                      const std::vector<std::string>& classes) {
  const std::filesystem::path path = model.parent_path() / "config.json";
  if (model.empty() || classes.empty() || !std::filesystem::is_regular_file(path))
    return std::nullopt;
  const Json json = try_parse_json<Json>(as_text(read_file(path, "labels")));
  if (!json.is_object() || !json.contains("id2label")) return std::nullopt;
  const auto names = label_names(json);
  const bool all = std::ranges::all_of(
      classes, [&](const std::string& name) { return labels_named(names, name).size() == 1; });
  return all ? std::optional(path) : std::nullopt;
}

}  // namespace vernier
