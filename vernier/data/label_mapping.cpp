#include "vernier/data/label_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "vernier/data/read_file.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Json = nlohmann::json;

std::optional<std::int64_t> parse_label(std::string_view text) {
  std::int64_t label = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
  if (error != std::errc{} || end != text.data() + text.size() || label < 0) return std::nullopt;
  return label;
}

// A name comes first: classes may be named by numbers.
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

}  // namespace

LabelMapping read_label_mapping(const std::filesystem::path& path,
                                const std::vector<std::string>& classes) {
  const auto fail = [&](const std::string& reason) -> Error {
    return Error(fmt::format("[labels] {}: {}", path.string(), reason));
  };
  const auto bytes = read_file(path, "labels");
  const Json json = Json::parse(as_text(bytes), nullptr, false);
  if (!json.is_object()) throw fail("expected a JSON object from dataset labels to model labels");
  LabelMapping mapping;
  for (const auto& [key, value] : json.items()) {
    const auto from = dataset_label(key, classes);
    const auto to = model_label(value);
    if (!from) throw fail(fmt::format("'{}' is neither a class of the dataset nor a label", key));
    if (!to)
      throw fail(fmt::format("'{}' is mapped to {}, expected a label of the model, from 0", key,
                             value.dump()));
    mapping[*from] = *to;
  }
  return mapping;
}

}  // namespace vernier
