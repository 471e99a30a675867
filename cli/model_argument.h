#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace vernier::cli {

// A model as it is named on the command line.
struct ModelArgument {
  std::filesystem::path model;
  std::filesystem::path reference;  // what it was exported from; empty when that is not known
  std::string name;                 // for reports: the file's own name, or the id
};

// How a model that is named by an id is exported.
struct ModelIdOptions {
  std::string task;
  std::string python;
  bool rebuild = false;
};

// --python --rebuild; the task is an option of its own.
void add_model_id_options(CLI::App& command, ModelIdOptions& options);

// Resolves -m: a file, a folder with one .onnx file, the folder of an export (whose reference is
// the model.pt beside it), or the id of a model, which is exported unless that was done before.
// Throws Error for composite models, with the components and the command to run for each.
ModelArgument resolve_model_argument(const std::vector<std::string>& arguments,
                                     const ModelIdOptions& options);

// The file that says how the images of a model are prepared: beside a model file, in a folder, in
// the Hugging Face cache, or beside what is exported from an id. Throws Error if there is none.
std::filesystem::path preprocessing_of_model(const std::string& model,
                                             const ModelIdOptions& options);

}  // namespace vernier::cli
