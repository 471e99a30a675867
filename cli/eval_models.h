#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cli/runtime_options.h"
#include "vernier/model/model.h"

namespace vernier::cli {

// The candidate in the precision that was asked for ("": what it is). Throws Error for what is no
// ONNX model or cannot be made so.
Model load_candidate(const std::filesystem::path& path, const std::string& precision);

// Opens a reference of any format; what makes it doubtful is printed as a warning.
std::unique_ptr<Runner> open_reference(const std::filesystem::path& path,
                                       const RuntimeOptions& runtime);

}  // namespace vernier::cli
