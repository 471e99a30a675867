#include "vernier/data/sample_order.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

fs::path first_archive(const fs::path& recording) {
  if (!fs::is_directory(recording)) return recording;
  fs::path first;
  for (const auto& entry : fs::directory_iterator(recording))
    if (entry.path().extension() == ".npz" && (first.empty() || entry.path() < first))
      first = entry.path();
  return first;
}

}  // namespace

std::string describe_order(const SampleOrder& order) {
  return order.shuffled ? fmt::format("shuffled with seed {}", order.seed)
                        : std::string("in the dataset's order");
}

std::string format_order(const SampleOrder& order) {
  Json json = {{"examples", order.examples}, {"first", order.first}, {"batch", order.batch}};
  if (order.shuffled) json["shuffle_seed"] = order.seed;
  return json_line(Json{{"vernier_samples", json}});
}

std::optional<SampleOrder> parse_order(const std::string& comment) {
  const Json json = try_parse_json<Json>(comment);
  if (!json.is_object() || !json.contains("vernier_samples")) return std::nullopt;
  try {
    const Json& samples = json["vernier_samples"];
    SampleOrder order{.examples = samples.at("examples").get<std::int64_t>(),
                      .first = samples.at("first").get<std::int64_t>(),
                      .batch = samples.at("batch").get<std::int64_t>(),
                      .shuffled = samples.contains("shuffle_seed")};
    if (order.shuffled) order.seed = samples["shuffle_seed"].get<std::uint64_t>();
    return order;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::optional<SampleOrder> recorded_order(const fs::path& recording) {
  const fs::path archive = first_archive(recording);
  if (archive.extension() != ".npz") return std::nullopt;
  return parse_order(NpzReader(archive).comment());
}

void require_recorded_order(const SampleOrder& order, const fs::path& recording) {
  const auto recorded = recorded_order(recording);
  if (!recorded || *recorded == order) return;
  const auto text = [](const SampleOrder& samples) {
    return fmt::format("from sample {} of {} examples {}, {} in each", samples.first,
                       samples.examples, describe_order(samples), samples.batch);
  };
  throw Error(
      fmt::format("[recorded] {}: was recorded {}; the inputs are {}: pass the options that "
                  "it was recorded with",
                  recording.string(), text(*recorded), text(order)));
}

}  // namespace vernier
