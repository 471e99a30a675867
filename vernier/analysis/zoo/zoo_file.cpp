#include "vernier/analysis/zoo/zoo_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "vernier/analysis/parts/content_hash.h"
#include "vernier/close_names.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/json.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// A place in the file, for messages: "models.resnet18.precisions.int8".
struct Place {
  fs::path file;
  std::string path;

  Place at(const std::string& key) const {
    return {file, path.empty() ? key : fmt::format("{}.{}", path, key)};
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(
        fmt::format("[zoo] {}: {}{}{}", file.string(), path, path.empty() ? "" : ": ", expected));
  }
};

// JSON allows duplicate keys, and the library keeps only one of them: a row would be lost.
Json parse_once(const Place& place, std::string_view text) {
  std::vector<std::set<std::string>> keys;
  std::string doubled;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value).second) doubled = value;
    return true;
  };
  try {
    Json json = Json::parse(text, watch);
    if (!doubled.empty()) place.fail(fmt::format("key '{}' occurs twice; remove one", doubled));
    return json;
  } catch (const Json::exception& error) {
    place.fail(fmt::format("is not valid JSON ({})", json_reason(error)));
  }
}

void require_object(const Json& json, const Place& place) {
  if (!json.is_object())
    place.fail(fmt::format("expected an object {{...}}, found {}", json.type_name()));
}

void require_keys(const Json& json, const Place& place, const std::vector<std::string>& known) {
  require_object(json, place);
  for (const auto& [key, value] : json.items())
    if (std::ranges::find(known, key) == known.end()) {
      const auto close = close_names(key, known);
      place.at(key).fail(close.empty()
                             ? fmt::format("is not known here; {} are", fmt::join(known, ", "))
                             : fmt::format("is not known; did you mean '{}'?", close.front()));
    }
}

std::string text_at(const Json& json, const Place& place, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return "";
  if (!found->is_string() || found->get<std::string>().empty())
    place.at(key).fail(fmt::format("expected a text, found {}", found->dump()));
  return *found;
}

std::string option_text(const Json& value, const Place& place) {
  if (value.is_string()) return value;
  if (value.is_number()) return json_line(value);
  place.fail(
      fmt::format("expected a text, a number, true, false or a list, found {}", json_line(value)));
}

// Sets the values of an option; null and false remove it, even if an outer level has set it.
void set_option(const std::string& name, const Json& value, const Place& place,
                NamedOptions& options) {
  if (name.starts_with('-'))
    place.fail(fmt::format("write it as '{}'", name.substr(name.find_first_not_of('-'))));
  options.erase(name);
  if (value.is_null() || value == false) return;
  std::vector<std::string>& values = options[name];
  if (value == true) return;
  if (!value.is_array()) return values.push_back(option_text(value, place));
  if (value.empty()) place.fail("the list is empty; give values, or null to leave the option out");
  for (const Json& each : value) values.push_back(option_text(each, place));
}

// Options that the program sets itself.
constexpr std::array reserved = {"model",  "reference", "output",    "format",         "shard",
                                 "report", "from-part", "candidate", "update-baseline"};

void read_options(const Json& json, const Place& place, const char* key, NamedOptions& options) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  const Place inside = place.at(key);
  require_object(*found, inside);
  for (const auto& [name, value] : found->items()) {
    if (std::ranges::find(reserved, name) != reserved.end())
      inside.at(name).fail("is set by vernier zoo; leave it out");
    set_option(name, value, inside.at(name), options);
  }
}

// Reads the settings that all models, one model or one precision may have.
void read_settings(const Json& json, const Place& place, ZooEntry& entry) {
  if (const std::string command = text_at(json, place, "command"); !command.empty()) {
    const std::vector<std::string> known = zoo_commands();
    if (std::ranges::find(known, command) == known.end())
      place.at("command").fail(
          fmt::format("'{}' is not a command that a zoo can run; use one of {}", command,
                      fmt::join(known, ", ")));
    entry.command = command;
  }
  if (const std::string metric = text_at(json, place, "metric"); !metric.empty())
    entry.metric = metric;
  read_options(json, place, "options", entry.options);
  read_options(json, place, "convert", entry.convert);
}

ZooEntry read_precision(const Json& json, const Place& place, ZooEntry entry) {
  if (json.is_string()) {
    entry.candidate = json;
  } else {
    if (!json.is_object())
      place.fail(fmt::format("expected the model's file, or an object {{...}}, found {}",
                             json.type_name()));
    require_keys(json, place, {"model", "command", "metric", "options", "convert"});
    entry.candidate = text_at(json, place, "model");
    read_settings(json, place, entry);
  }
  if (!entry.candidate.empty()) {
    if (json.is_object() && json.contains("convert"))
      place.fail("has both a model and 'convert', which would make one; leave one out");
    entry.convert.clear();
    return entry;
  }
  if (json.is_string()) place.fail("expected the model's file, found an empty text");
  if (entry.reference.empty())
    place.fail("has no model, and there is no reference to make it from; give one of them");
  entry.convert.try_emplace("precision", std::vector{entry.precision});
  return entry;
}

void read_model(const Json& json, const Place& place, ZooEntry entry, Zoo& zoo) {
  require_keys(json, place, {"reference", "precisions", "command", "metric", "options", "convert"});
  entry.reference = text_at(json, place, "reference");
  read_settings(json, place, entry);
  const auto precisions = json.find("precisions");
  if (precisions == json.end() || !precisions->is_object() || precisions->empty())
    place.fail("expected \"precisions\": {\"int8\": \"FILE.onnx\", ...}");
  for (const auto& [name, precision] : precisions->items()) {
    const Place inside = place.at("precisions").at(name);
    if (name.empty()) inside.fail("a precision needs a name");
    entry.precision = name;
    zoo.entries.push_back(read_precision(precision, inside, entry));
  }
}

}  // namespace

std::string row_name(const ZooEntry& entry) {
  return fmt::format("{} {}", entry.model, entry.precision);
}

std::string row_file_name(const ZooEntry& entry) {
  const std::string name = fmt::format("{}.{}", entry.model, entry.precision);
  std::string readable = name;
  std::ranges::replace_if(
      readable,
      [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '_' && c != '-'; }, '_');
  if (readable.starts_with('.')) readable.front() = '_';
  // With a dot in the precision, "a" and "b.c" would be what "a.b" and "c" are.
  if (readable == name && entry.precision.find('.') == std::string::npos) return name;
  const std::string hash = content_hash(entry.model + "\n" + entry.precision).text();
  return fmt::format("{}-{}", readable, hash.substr(0, 8));
}

std::vector<std::string> zoo_commands() { return {"eval", "debug", "layers", "check", "diagnose"}; }

Zoo read_zoo(const fs::path& path) {
  const Place place{path, ""};
  const Json json = parse_once(place, as_text(read_file(path, "zoo")));
  require_object(json, place);
  if (!json.contains("vernier_zoo"))
    place.fail(fmt::format("is no zoo: expected \"vernier_zoo\": {}", zoo_file_version));
  if (json["vernier_zoo"] != zoo_file_version)
    place.fail(fmt::format("has version {}, this program reads {}", json_line(json["vernier_zoo"]),
                           zoo_file_version));
  require_keys(json, place,
               {"$schema", "vernier_zoo", "models", "command", "metric", "options", "convert"});
  ZooEntry common;
  read_settings(json, place, common);
  const auto models = json.find("models");
  if (models == json.end() || !models->is_object() || models->empty())
    place.fail("expected \"models\": {\"NAME\": {...}, ...}");
  Zoo zoo{.folder = fs::absolute(path).parent_path(), .entries = {}};
  for (const auto& [name, model] : models->items()) {
    common.model = name;
    if (name.empty()) place.at("models").fail("a model needs a name");
    read_model(model, place.at("models").at(name), common, zoo);
  }
  return zoo;
}

std::vector<std::string> arguments_of(const NamedOptions& options) {
  std::vector<std::string> arguments;
  for (const auto& [name, values] : options) {
    if (values.empty()) arguments.push_back("--" + name);
    for (const std::string& value : values)
      arguments.push_back(fmt::format("--{}={}", name, value));
  }
  return arguments;
}

}  // namespace vernier
