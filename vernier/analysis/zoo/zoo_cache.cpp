#include "vernier/analysis/zoo/zoo_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "vernier/analysis/parts/content_hash.h"
#include "vernier/analysis/parts/cpu.h"
#include "vernier/data/hub_cache.h"
#include "vernier/error.h"
#include "vernier/exporting/exporter.h"
#include "vernier/installation.h"
#include "vernier/json.h"
#include "vernier/tensor/atomic_file.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// Files beside a model that commands read without an option: sidecars, preprocessing, labels,
// tokens.
std::vector<fs::path> files_beside(const fs::path& model) {
  std::vector<fs::path> files = {fs::path(model).replace_extension(".json")};
  for (const char* name :
       {"model.json", "config.json", "preprocessor_config.json", "tokenizer.json"})
    if (const fs::path file = model.parent_path() / name; file != files.front())
      files.push_back(file);
  return files;
}

// Options that change no number of a result.
constexpr std::array without_effect = {"checkpoint",   "detail",        "host-timeout",
                                       "memory-limit", "inflate-limit", "no-color",
                                       "timeout",      "timings",       "verbose"};

// The hash of the program itself: a changed build may measure differently under the same version.
std::string library_hash() {
  std::set<std::string> hashes;  // the order of a folder differs between machines
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(installation_folder(), error))
    if (entry.is_regular_file() && entry.path().filename().string().starts_with("libvernier"))
      hashes.insert(model_hash(entry.path()));
  return fmt::format("{}", fmt::join(hashes, ""));
}

std::string key_of(const ZooFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += fmt::format("{}\n{}\n", name, value);
  return content_hash(text).text();
}

std::string value_of(const NamedOptions& options, const std::string& name) {
  const auto found = options.find(name);
  return found == options.end() || found->second.empty() ? "" : found->second.front();
}

Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double cached_number(const Json& json) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (json.is_number()) return json.get<double>();
  return json == "inf" ? infinity : json == "-inf" ? -infinity : std::nan("");
}

std::optional<Json> read_object(const fs::path& path) {
  std::ifstream stream(path);
  Json json = try_parse_json<Json>(std::string{std::istreambuf_iterator<char>(stream), {}});
  return json.is_object() ? std::optional(std::move(json)) : std::nullopt;
}

// The folder in which a model is made; it is renamed when the model is complete.
fs::path making_folder(const ZooPlan& plan) { return plan.candidate.parent_path().concat(".new"); }

ZooLast last_of(const Json& row) {
  ZooLast last{.outcome = parse_outcome(row.value("outcome", ""))};
  if (row.contains("metric"))
    last.figure = {row["metric"].get<std::string>(), cached_number(row.at("value")),
                   row.at("higher_is_better").get<bool>() ? Better::higher : Better::lower};
  return last;
}

Json last_json(const ZooRow& row, const ZooFacts& facts) {
  Json json = {{"model", row.entry.model}, {"precision", row.entry.precision}};
  if (row.outcome) json["outcome"] = std::string(outcome_name(*row.outcome));
  if (row.figure) {
    json["metric"] = row.figure->metric;
    json["value"] = number_json(row.figure->value);
    json["higher_is_better"] = row.figure->better == Better::higher;
  }
  json["facts"] = Json::object();
  for (const auto& [name, value] : facts) json["facts"][name] = value;
  return json;
}

}  // namespace

ZooPlanner::ZooPlanner(fs::path cache)
    : cache_(std::move(cache)),
      versions_{{"Vernier", version() + " " + library_hash()},
                {"ONNX Runtime", onnxruntime_version()},
                {"CPU", cpu_kind()}} {}

std::string ZooPlanner::content(const fs::path& path) {
  const auto [found, is_new] = contents_.try_emplace(path);
  if (is_new) found->second = model_hash(path);
  return found->second;
}

void ZooPlanner::add_model(const std::string& name, const std::string& model,
                           const NamedOptions& options, ZooPlan& plan) {
  if (model.empty()) return;
  fs::path file = model;
  if (is_export_source(model)) {
    if (model.find(':') != std::string::npos) {
      plan.known = false;
      return plan.facts.emplace_back(name, model), void();
    }
    file = resolve_model({.source = model,
                          .task = value_of(options, "task"),
                          .python = value_of(options, "python")})
               .onnx.parent_path();
  } else if (!fs::exists(file)) {
    throw Error(fmt::format("[zoo] {} {}: no such file or folder", name, model));
  }
  plan.facts.emplace_back(name, content(file));
  if (fs::is_directory(file)) return;
  std::string beside;
  for (const fs::path& other : files_beside(file))
    if (fs::is_regular_file(other))
      beside += other.filename().string() + " " + content(other) + "\n";
  if (!beside.empty()) plan.facts.emplace_back("files beside the " + name, beside);
}

void ZooPlanner::add_options(const std::string& name, const NamedOptions& options,
                             ZooFacts& facts) {
  NamedOptions effective = options;
  for (const char* each : without_effect) effective.erase(each);
  facts.emplace_back(name, fmt::format("{}", fmt::join(arguments_of(effective), "\n")));
  std::error_code error;
  for (const auto& [option, values] : effective) {
    std::string contents;
    for (const std::string& value : values)
      if (fs::exists(value, error))
        contents += content(value);
      else if (option == "dataset" && is_hub_id(value))
        contents += find_hub_dataset(value).string();
    if (!contents.empty()) facts.emplace_back(fmt::format("content of --{}", option), contents);
  }
}

ZooPlan ZooPlanner::plan(const ZooEntry& entry) {
  ZooPlan plan;
  add_model("reference", entry.reference, entry.options, plan);
  if (entry.candidate.empty()) {
    add_options("conversion", entry.convert, plan.facts);
    ZooFacts made = plan.facts;
    made.insert(made.end(), versions_.begin(), versions_.end());
    plan.candidate =
        cache_ / "models" / row_file_name(entry) / key_of(made) / (row_file_name(entry) + ".onnx");
  } else {
    add_model("candidate", entry.candidate, entry.options, plan);
  }
  plan.facts.emplace_back("command", entry.command);
  add_options("options", entry.options, plan.facts);
  plan.facts.insert(plan.facts.end(), versions_.begin(), versions_.end());
  plan.key = key_of(plan.facts);
  return plan;
}

namespace {

// The options of a conversion. Precisions of a model share them: each takes those of its own kind.
NamedOptions conversion_of(const ZooEntry& entry) {
  NamedOptions options = entry.convert;
  const auto precision = options.find("precision");
  const bool is_half =
      precision != options.end() && precision->second == std::vector<std::string>{"fp16"};
  constexpr std::array of_half = {"io", "keep-fp32", "convert-all"};
  constexpr std::array of_all = {"precision", "threads"};
  std::erase_if(options, [&](const auto& option) {
    if (std::ranges::count(of_half, option.first) > 0) return !is_half;
    return is_half && std::ranges::count(of_all, option.first) == 0;
  });
  return options;
}

}  // namespace

std::vector<std::vector<std::string>> command_lines(const ZooEntry& entry, const ZooPlan& plan,
                                                    const fs::path& result) {
  std::vector<std::vector<std::string>> lines;
  std::string candidate = entry.candidate;
  if (!plan.candidate.empty()) {
    candidate = plan.candidate.string();
    std::vector<std::string> line = {
        "convert", "--model=" + entry.reference,
        "--output=" + (making_folder(plan) / plan.candidate.filename()).string()};
    std::ranges::move(arguments_of(conversion_of(entry)), std::back_inserter(line));
    if (!fs::exists(plan.candidate)) lines.push_back(std::move(line));
  }
  std::vector<std::string> line = {entry.command, "--model=" + candidate};
  if (!entry.reference.empty()) line.push_back("--reference=" + entry.reference);
  std::ranges::move(arguments_of(entry.options), std::back_inserter(line));
  line.insert(line.end(), {"--format=json", "--output=" + result.string()});
  lines.push_back(std::move(line));
  return lines;
}

ZooCache::ZooCache(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  for (const char* name : {"results", "models", "work"}) {
    fs::create_directories(folder_ / name, error);
    if (error)
      throw Error(fmt::format("[zoo] {}: cannot be created ({}); choose another --cache",
                              folder_.string(), error.message()));
  }
  const auto json = read_object(folder_ / "last.json");
  if (!json || !json->contains("rows")) return;
  try {
    for (const Json& row : json->at("rows"))
      last_[{row.at("model").get<std::string>(), row.at("precision").get<std::string>()}] = {
          last_of(row), row.at("facts").get<std::map<std::string, std::string>>()};
  } catch (const Json::exception&) {
    last_.clear();
  }
}

std::optional<ZooCache::Stored> ZooCache::find(const std::string& key) const {
  const auto json = read_object(folder_ / "results" / (key + ".json"));
  if (!json) return std::nullopt;
  if (json->contains("error") && (*json)["error"].is_string())
    return Stored{.result = "", .error = (*json)["error"]};
  if (!json->contains("result") || !(*json)["result"].is_object()) return std::nullopt;
  return Stored{.result = json_text((*json)["result"]), .error = ""};
}

void ZooCache::keep(const std::string& key, const Stored& stored) {
  const Json json = stored.error.empty() ? Json{{"result", parse_json<Json>(stored.result)}}
                                         : Json{{"error", stored.error}};
  write_file_atomically(folder_ / "results" / (key + ".json"), json_text(json));
}

fs::path ZooCache::work_file(const std::string& key) const {
  return folder_ / "work" / (key + ".json");
}

void ZooCache::begin_model(const ZooPlan& plan) const {
  fs::remove_all(making_folder(plan));
  fs::create_directories(making_folder(plan));
}

void ZooCache::adopt_model(const ZooEntry& entry, const ZooPlan& plan) const {
  const fs::path making = making_folder(plan), own = plan.candidate.parent_path();
  const std::vector<fs::path> beside = files_beside(entry.reference);
  for (const fs::path& file : beside) {
    const bool is_sidecar = file == beside.front();
    const fs::path name =
        is_sidecar ? plan.candidate.filename().replace_extension(".json") : file.filename();
    if (fs::is_regular_file(file))
      fs::copy_file(file, making / name, fs::copy_options::overwrite_existing);
  }
  for (const auto& other : fs::directory_iterator(own.parent_path()))
    if (other.path() != making) fs::remove_all(other.path());
  fs::rename(making, own);
}

void ZooCache::compare_with_last(const ZooFacts& facts, ZooRow& row) const {
  const auto found = last_.find({row.entry.model, row.entry.precision});
  if (found == last_.end()) return;
  row.last = found->second.result;
  std::map<std::string, std::string> before = found->second.facts;
  for (const auto& [name, value] : facts) {
    const auto same = before.find(name);
    if (same == before.end() || same->second != value) row.changed.push_back(name);
    if (same != before.end()) before.erase(same);
  }
  for (const auto& [name, value] : before) row.changed.push_back(name);
}

void ZooCache::write_last(const std::vector<ZooRow>& rows,
                          const std::vector<ZooPlan>& plans) const {
  Json json = {{"rows", Json::array()}};
  for (std::size_t i = 0; i < rows.size(); ++i)
    json["rows"].push_back(last_json(rows[i], plans[i].facts));
  write_file_atomically(folder_ / "last.json", json_text(json));
}

}  // namespace vernier
