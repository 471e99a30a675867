#include "vernier/runtime/open_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "vernier/error.h"
#include "vernier/model/genai_config.h"
#include "vernier/tensor/in_process.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

constexpr std::array<std::string_view, 5> torch_endings = {".pt", ".pth", ".jit", ".ts",
                                                           ".torchscript"};

}  // namespace

ModelFormat model_format(const std::filesystem::path& path) {
  if (is_host_source(path.string())) return ModelFormat::hosted;
  if (find_arrays(path)) return ModelFormat::recorded;
  if (!std::filesystem::exists(path))
    throw Error(fmt::format("[open] {}: no such file or folder", path.string()));
  if (std::filesystem::is_directory(path))
    return read_genai_config(path) ? ModelFormat::onnx : ModelFormat::recorded;
  const std::string ending = lower_case(path.extension().string());
  if (ending == ".onnx") return ModelFormat::onnx;
  if (ending == ".npz") return ModelFormat::recorded;
  if (std::ranges::find(torch_endings, ending) != torch_endings.end())
    return ModelFormat::torchscript;
  if (ending == ".py")
    throw Error(fmt::format("[open] {0}: name the function that makes the model, as {0}:FUNCTION",
                            path.string()));
  throw Error(fmt::format(
      "[open] {}: expected a model (.onnx, or TorchScript in .pt), or recorded tensors (.npz or a "
      "folder of them); rename the file if it is one of these",
      path.string()));
}

std::unique_ptr<Runner> open_runner(const std::filesystem::path& path,
                                    const RunnerOptions& options) {
  switch (model_format(path)) {
    case ModelFormat::onnx: return std::make_unique<OrtRunner>(Model::load(path), options.onnx);
    case ModelFormat::recorded: return std::make_unique<RecordedRunner>(path, options.recorded);
    case ModelFormat::hosted: {
      HostOptions host = options.host;
      host.source = path.string();
      return open_host_runner(host);
    }
    case ModelFormat::torchscript: break;
  }
  TorchOptions torch = options.torch;
  torch.path = path;
  return open_torch_runner(torch);
}

}  // namespace vernier
