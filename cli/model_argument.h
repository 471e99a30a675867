#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vernier::cli {

// A model as it is named on the command line.
struct ModelArgument {
  std::filesystem::path model;
  std::filesystem::path reference;  // what it was exported from; empty when that is not known
};

// Resolves -m: a file, a folder with one .onnx file, or the folder of an export (whose reference is
// the model.pt beside it). Throws Error for composite models, with the components and the command
// to run for each.
ModelArgument resolve_model_argument(const std::vector<std::string>& arguments);

}  // namespace vernier::cli
