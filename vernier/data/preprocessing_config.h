#pragma once

#include <filesystem>
#include <optional>

#include "vernier/data/preprocess.h"

namespace vernier {

// Reads a preprocessor_config.json of Hugging Face's image processors, or the "preprocessing"
// object of a model's sidecar (docs/formats.md). Throws Error if the file is malformed, or has a
// step that would change the pixels and that Preprocessing does not support.
Preprocessing read_preprocessing(const std::filesystem::path& path);

// The file next to a model that describes its preprocessing: the sidecar (model.json for
// model.onnx), if that has a "preprocessing" object, else preprocessor_config.json; nullopt if
// there is neither.
std::optional<std::filesystem::path> find_preprocessing(const std::filesystem::path& model);

}  // namespace vernier
