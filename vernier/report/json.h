#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "vernier/json.h"
#include "vernier/metrics/bootstrap.h"
#include "vernier/report/number.h"
#include "vernier/version.h"

namespace vernier {

// Parts that all JSON results share. They are templates, so that this header needs no header of the
// JSON library; Json is always nlohmann::ordered_json.

inline constexpr int json_schema_version = 2;

// Converts to a JSON number; non-finite values become the strings "inf", "-inf" and "nan".
struct JsonNumber {
  double value = 0;
};
template <typename Json>
void to_json(Json& json, const JsonNumber& number) {
  if (std::isfinite(number.value))
    json = number.value;
  else
    json = nonfinite_name(number.value);
}
inline JsonNumber json_number(double value) { return {value}; }

// Converts to the value, or to null for nullopt.
template <typename Value>
struct JsonOptional {
  std::optional<Value> value;
};
template <typename Json, typename Value>
void to_json(Json& json, const JsonOptional<Value>& optional) {
  if (!optional.value)
    json = nullptr;
  else if constexpr (std::is_same_v<Value, double>)
    json = json_number(*optional.value);
  else
    json = *optional.value;
}
template <typename Value>
JsonOptional<Value> optional_json(const std::optional<Value>& value) {
  return {value};
}

// The array of what `item` makes of each element.
template <typename Json, typename Items, typename Item>
Json json_list(const Items& items, const Item& item) {
  Json list = Json::array();
  for (const auto& each : items) list.push_back(item(each));
  return list;
}

// [low, high]
template <typename Json>
void to_json(Json& json, const ConfidenceInterval& interval) {
  json = {json_number(interval.low), json_number(interval.high)};
}

// The runtimes that a result depends on, whose versions it records.
struct Runtimes {
  bool onnxruntime = false;
  bool torch = false;
};

// The first keys of a result: schema_version, command, versions of the tool and its runtimes.
template <typename Json>
Json json_header(std::string_view command, const Runtimes& runtimes) {
  Json versions = {{"vernier", version()}};
  if (runtimes.onnxruntime) {
    versions["onnxruntime"] = onnxruntime_version();
    versions["onnxruntime_library"] = onnxruntime_library();
  }
  if (runtimes.torch) versions["libtorch"] = torch_version();
  return {{"schema_version", json_schema_version},
          {"command", std::string(command)},
          {"versions", std::move(versions)}};
}

}  // namespace vernier
