#include "vernier/runtime/torch_runner.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "vernier/activity.h"
#include "vernier/error.h"
#include "vernier/exporting/sidecar.h"
#include "vernier/installation.h"
#include "vernier/runtime/torch_module/open.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr const char* module_name = "libvernier_torch.so";

fs::path find_module() {
  if (const char* chosen = std::getenv("VERNIER_TORCH_MODULE")) return chosen;
  if (const fs::path path = installed_file(module_name); !path.empty()) return path;
  throw Error(fmt::format(
      "[torch] {}: not found: this build has no libtorch, which runs TorchScript; give the model "
      "itself (FILE.py:FUNCTION, hf:FOLDER, timm:NAME, a .pt2), or build Vernier where libtorch is "
      "installed",
      module_name));
}

void require_same_build(void* module, const fs::path& path) {
  const auto build = reinterpret_cast<TorchModuleBuild>(dlsym(module, torch_module_build_symbol));
  const std::string_view found = build ? build() : "no module of vernier";
  if (found != VERNIER_TORCH_MODULE_BUILD)
    throw Error(fmt::format("[torch] {}: is {}, and this library is {}; build them together",
                            path.string(), found, VERNIER_TORCH_MODULE_BUILD));
}

OpenTorchModule load_module() {
  const fs::path path = find_module();
  // Never closed: libtorch cannot be unloaded safely.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw Error(fmt::format("[torch] {}: {}", path.string(), dlerror()));
  require_same_build(handle, path);
  return reinterpret_cast<OpenTorchModule>(dlsym(handle, open_torch_module_symbol));
}

TorchOptions with_sidecar(TorchOptions options) {
  const auto sidecar = read_sidecar(options.path);
  if (sidecar && options.inputs.empty()) options.inputs = sidecar->inputs;
  if (sidecar && options.outputs.empty()) options.outputs = sidecar->outputs;
  return options;
}

}  // namespace

std::unique_ptr<Runner> open_torch_runner(const TorchOptions& options) {
  if (!fs::is_regular_file(options.path))
    throw Error(fmt::format("[torch] {}: no such file or folder", options.path.string()));
  if (options.precision != DType::f32 && options.precision != DType::f64)
    throw Error(fmt::format("[torch] precision {}: expected float32 or float64",
                            dtype_name(options.precision)));
  const OpenTorchModule open = load_module();
  const Activity loading(ForeignCode::torch, ForeignWork::loading, options.path.string());
  return std::unique_ptr<Runner>(open(with_sidecar(options)));
}

}  // namespace vernier
