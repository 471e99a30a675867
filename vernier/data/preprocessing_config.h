#pragma once

#include <filesystem>
#include <optional>

#include "vernier/data/preprocess.h"

namespace vernier {

// Reads a preprocessor_config.json as Hugging Face's image processors write it, or the
// "preprocessing" object of a model's sidecar (docs/formats.md). Throws Error for what is
// malformed, and for steps that would change the pixels and that Preprocessing has not.
Preprocessing read_preprocessing(const std::filesystem::path& path);

// The file beside a model that says how its images are prepared: its sidecar (model.json for
// model.onnx), if that has a "preprocessing" object, else preprocessor_config.json.
std::optional<std::filesystem::path> find_preprocessing(const std::filesystem::path& model);

}  // namespace vernier
