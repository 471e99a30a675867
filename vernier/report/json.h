#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "vernier/json.h"
#include "vernier/report/number.h"
#include "vernier/version.h"

namespace vernier {

// Parts that all JSON results share. They are templates, so that this header needs no header of the
// JSON library; Json is always nlohmann::ordered_json.

inline constexpr int json_schema_version = 2;

// A JSON number; non-finite values become the strings "inf", "-inf" and "nan".
template <typename Json>
Json json_number(double value) {
  if (std::isfinite(value)) return Json(value);
  return Json(std::string(nonfinite_name(value)));
}

// A JSON number, or null for nullopt.
template <typename Json, typename Number>
Json optional_json(const std::optional<Number>& value) {
  if (!value) return Json(nullptr);
  if constexpr (std::is_same_v<Number, double>) return json_number<Json>(*value);
  return Json(*value);
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
