#include "vernier/analysis/model_argument.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/data/hub_cache.h"
#include "vernier/data/preprocessing_config.h"
#include "vernier/error.h"
#include "vernier/exporting/exporter.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/model/genai_config.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/open_runner.h"
#include "vernier/tensor/in_process.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// "role=path" is the path of one component of a composite model.
std::string without_role(const std::string& argument) {
  const auto equals = argument.find('=');
  if (equals == std::string::npos || fs::exists(argument)) return argument;
  return argument.substr(equals + 1);
}

[[noreturn]] void refuse_composite(const std::string& subject,
                                   const std::vector<std::string>& components) {
  std::vector<std::string> commands;
  for (const std::string& component : components)
    commands.push_back(fmt::format("-m {}", without_role(component)));
  throw Error(fmt::format(
      "[model] {}: a composite model of {} components ({}); compare them one by one, with {}",
      subject, components.size(), fmt::join(components, ", "), fmt::join(commands, ", then ")));
}

std::vector<std::string> onnx_files(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

ResolvedModel resolved_export(const ExportedModel& exported, std::string name) {
  ResolvedModel resolved{exported.onnx, exported.torchscript, std::move(name)};
  if (const auto sidecar = read_sidecar(exported.onnx); sidecar && resolved.reference.empty()) {
    resolved.host = sidecar->reference;
    resolved.reference = resolved.host.source;
  }
  return resolved;
}

ResolvedModel resolve_folder(const fs::path& folder) {
  if (fs::exists(folder / "model.json") && fs::exists(folder / "model.onnx"))
    return resolved_export(exported_in(folder), "model.onnx");
  if (const auto config = read_genai_config(folder))
    return {config->model, {}, config->model.filename()};
  const std::vector<std::string> files = onnx_files(folder);
  if (files.empty())
    throw Error(
        fmt::format("[model] {}: no .onnx file in this folder; name the file", folder.string()));
  if (files.size() > 1) refuse_composite(folder.string(), files);
  return {files.front(), {}, fs::path(files.front()).filename()};
}

// Whether it is a folder with a model in it, and not with recorded tensors.
bool holds_model(const fs::path& folder) {
  if (!fs::is_directory(folder)) return false;
  const auto is_recorded = [](const auto& entry) { return entry.path().extension() == ".npz"; };
  return !onnx_files(folder).empty() &&
         std::ranges::none_of(fs::directory_iterator(folder), is_recorded);
}

ResolvedModel resolve_id(const std::string& id, const ModelIdOptions& options) {
  try {
    return resolved_export(
        resolve_model({.source = id, .task = options.task, .python = options.python},
                      options.rebuild),
        id);
  } catch (const Error& error) {  // a plain word is more likely a mistyped file than an id
    const std::string reason = error.what();
    if (id.find_first_of("/:") != id.npos) throw;
    throw Error(fmt::format("[model] {}: no such file or folder; as a model id: {}", id, reason));
  }
}

}  // namespace

ResolvedModel resolve_model_argument(const std::vector<std::string>& arguments,
                                     const ModelIdOptions& options) {
  if (arguments.size() > 1 && std::ranges::count(arguments, arguments.front()) > 1)
    throw Error(
        fmt::format("[model] {}: the model is given twice; leave one out", arguments.front()));
  if (arguments.size() > 1) refuse_composite("-m", arguments);
  const std::string argument = without_role(arguments.front());
  const fs::path path = argument;
  if (is_in_process(path)) return {path, {}, path.filename()};
  if (is_export_source(argument)) return resolve_id(argument, options);
  return fs::is_directory(path) ? resolve_folder(path) : ResolvedModel{path, {}, path.filename()};
}

fs::path resolve_reference(const std::string& named, const ResolvedModel& model) {
  if (const auto config = named.empty() ? std::nullopt : read_genai_config(named))
    return config->model;
  if (!named.empty()) return holds_model(named) ? resolve_folder(named).model : fs::path(named);
  if (!model.reference.empty()) return model.reference;
  throw Error(
      fmt::format("[model] {}: no reference; pass --reference MODEL.onnx, MODEL.pt, "
                  "FILE.py:FUNCTION or TENSORS.npz",
                  model.name));
}

Model load_candidate(const fs::path& path, const std::string& precision) {
  if (model_format(path) != ModelFormat::onnx)
    throw Error(fmt::format("[model] {}: the candidate must be an .onnx model; export it first",
                            path.string()));
  Model model = Model::load(path);
  const Precision found = precision_of(model);
  if (precision.empty() || precision == precision_name(found)) return model;
  if (precision == "fp16" && found == Precision::fp32) return convert_to_fp16(model).model;
  if (named_precision(precision) == Precision::int8 && found == Precision::int8) return model;
  throw Error(fmt::format("[model] {} is {}: it cannot be made {}; give a model that is {} already",
                          path.string(), precision_name(found), precision, precision));
}

std::optional<Model> load_if_onnx(const fs::path& path) {
  if (model_format(path) != ModelFormat::onnx) return std::nullopt;
  return Model::load(path);
}

std::unique_ptr<const ModelIndex> index_if_onnx(const fs::path& path) {
  if (model_format(path) != ModelFormat::onnx) return nullptr;
  return std::make_unique<const ModelIndex>(Model::load(path));
}

std::vector<TensorSpec> declared_inputs(const fs::path& path) {
  const ModelFormat format = model_format(path);
  if (format == ModelFormat::onnx) return Model::load(path).inputs();
  const auto sidecar = format == ModelFormat::torchscript ? read_sidecar(path) : std::nullopt;
  return sidecar ? sidecar->inputs : std::vector<TensorSpec>{};
}

fs::path preprocessing_of_model(const std::string& model, const ModelIdOptions& options) {
  fs::path beside = model;
  if (fs::is_directory(model))
    beside = fs::path(model) / "model.onnx";
  else if (const auto snapshot = find_hub_model(model))
    beside = *snapshot / "model.onnx";
  else if (is_export_source(model))
    beside = resolve_id(model, options).model;
  else if (!fs::exists(model))
    throw Error(fmt::format("[model] {}: no such file or folder", model));
  if (const auto found = find_preprocessing(beside)) return *found;
  throw Error(
      fmt::format("[model] {}: has neither preprocessor_config.json nor a sidecar that says how "
                  "its images are prepared; pass --preprocess",
                  model));
}

}  // namespace vernier
