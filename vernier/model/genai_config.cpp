#include "vernier/model/genai_config.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/tensor/inflate_limit.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

// Keys of the "inputs" object and their roles. "%d" in an input's name stands for the layer number.
constexpr std::array<std::pair<const char*, DecoderRole>, 6> known_inputs = {
    {{"input_ids", DecoderRole::tokens},
     {"attention_mask", DecoderRole::mask},
     {"position_ids", DecoderRole::positions},
     {"past_key_names", DecoderRole::cache},
     {"past_value_names", DecoderRole::cache},
     {"past_names", DecoderRole::cache}}};

std::string as_pattern(std::string name) {
  if (const std::size_t place = name.find("%d"); place != name.npos) name.replace(place, 2, "*");
  return name;
}

}  // namespace

std::optional<GenaiConfig> read_genai_config(const std::filesystem::path& folder) {
  require_file("[model]", folder / "genai_config.json");
  std::ifstream file(folder / "genai_config.json");
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json config = try_parse_json<Json>(text);
  if (config.is_discarded())
    throw Error(fmt::format("[model] {}: is no JSON", (folder / "genai_config.json").string()));
  const Json::json_pointer place("/model/decoder");
  if (!config.is_object() || !config.contains(place)) return std::nullopt;
  const Json& decoder = config.at(place);
  if (!decoder.is_object() || !decoder.contains("filename") || !decoder["filename"].is_string())
    return std::nullopt;
  GenaiConfig result{.model = folder / decoder["filename"].get<std::string>(), .roles = {}};
  const Json inputs = decoder.value("inputs", Json::object());
  for (const auto& [key, role] : known_inputs)
    if (inputs.is_object() && inputs.contains(key) && inputs[key].is_string())
      result.roles.emplace_back(as_pattern(inputs[key].get<std::string>()), role);
  return result;
}

}  // namespace vernier
