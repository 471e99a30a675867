#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vernier/exporting/sidecar.h"
#include "vernier/model/index.h"

namespace vernier {

// A model as a user names it, resolved to files.
struct ResolvedModel {
  std::filesystem::path model;
  std::filesystem::path reference;  // what it was exported from; empty if not known
  std::string name;                 // for reports: the file's own name, or the id
  SidecarReference host = {};       // how the reference is run, if a host runs it
};

// How a model that is given by an id is exported.
struct ModelIdOptions {
  std::string task;
  std::string python;  // the interpreter; empty: the first on PATH that has PyTorch
  bool rebuild = false;
};

// Resolves a file, a folder with one .onnx file, the folder of an export (whose reference is the
// model.pt in it, or the source that its sidecar names), or the id of a model, which is exported
// unless that was done before. Throws Error for composite models, with the components and the
// command to run for each.
ResolvedModel resolve_model_argument(const std::vector<std::string>& arguments,
                                     const ModelIdOptions& options = {});

// The named reference, else the one that belongs to the model. Throws Error if there is neither.
std::filesystem::path resolve_reference(const std::string& named, const ResolvedModel& model);

// The candidate in the requested precision ("": as it is). Throws Error if the file is not an ONNX
// model, or cannot be converted.
Model load_candidate(const std::filesystem::path& path, const std::string& precision = "");

// The model of an ONNX file; nullopt, or null, for other formats.
std::optional<Model> load_if_onnx(const std::filesystem::path& path);
std::unique_ptr<const ModelIndex> index_if_onnx(const std::filesystem::path& path);

// The inputs that a model's file declares: an ONNX model, or the sidecar of a TorchScript module.
// Empty if there is no declaration.
std::vector<TensorSpec> declared_inputs(const std::filesystem::path& path);

// The file that describes the preprocessing of a model's images: beside a model file, in a folder,
// in the Hugging Face cache, or beside what is exported from an id. Throws Error if there is none.
std::filesystem::path preprocessing_of_model(const std::string& model,
                                             const ModelIdOptions& options = {});

}  // namespace vernier
