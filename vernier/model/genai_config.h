#pragma once

#include <filesystem>
#include <optional>

#include "vernier/model/decoder.h"

namespace vernier {

// The decoder section of an onnxruntime-genai folder's genai_config.json.
struct GenaiConfig {
  std::filesystem::path model;
  RoleOverrides roles;
};
// nullopt if the folder has no genai_config.json, or if that names no decoder. Throws Error if the
// file is not JSON.
std::optional<GenaiConfig> read_genai_config(const std::filesystem::path& folder);

}  // namespace vernier
