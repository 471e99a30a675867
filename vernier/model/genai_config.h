#pragma once

#include <filesystem>
#include <optional>

#include "vernier/model/decoder.h"

namespace vernier {

// What the genai_config.json of an onnxruntime-genai folder says of its decoder: the file, and what
// its inputs are. Nothing where there is none, or where it names no decoder. Throws Error for one
// that is no JSON.
struct GenaiConfig {
  std::filesystem::path model;
  RoleOverrides roles;
};
std::optional<GenaiConfig> read_genai_config(const std::filesystem::path& folder);

}  // namespace vernier
