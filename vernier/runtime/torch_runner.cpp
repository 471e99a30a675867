#include "vernier/runtime/torch_runner.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "vernier/error.h"
#include "vernier/runtime/sidecar.h"
#include "vernier/runtime/torch_module/open.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr const char* module_name = "libvernier_torch.so";

// The folder of this code: of the program, or of a library that has it inside.
fs::path own_folder() {
  Dl_info info{};
  std::error_code ignored;
  if (dladdr(reinterpret_cast<const void*>(&open_torch_runner), &info) && info.dli_fname) {
    const fs::path path = fs::canonical(info.dli_fname, ignored);
    if (!ignored && path.extension() == ".so") return path.parent_path();
  }
  return fs::canonical("/proc/self/exe", ignored).parent_path();
}

fs::path find_module() {
  if (const char* chosen = std::getenv("VERNIER_TORCH_MODULE")) return chosen;
  const fs::path folder = own_folder();
  for (const fs::path& place : {folder, folder / "../lib"})
    if (fs::exists(place / module_name)) return place / module_name;
  throw Error(
      fmt::format("[torch] {}: not found beside {}: this build has no libtorch; run "
                  "`scripts/setup.sh torch` and "
                  "build again, or record the model's tensors to an .npz file and use that",
                  module_name, folder.string()));
}

OpenTorchModule load_module() {
  const fs::path path = find_module();
  // Never closed: libtorch does not survive being unloaded.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw Error(fmt::format("[torch] {}: {}", path.string(), dlerror()));
  void* symbol = dlsym(handle, open_torch_module_symbol);
  if (!symbol)
    throw Error(fmt::format("[torch] {}: is not of this version of vernier; build it again",
                            path.string()));
  return reinterpret_cast<OpenTorchModule>(symbol);
}

TorchOptions with_sidecar(TorchOptions options) {
  const auto sidecar = read_sidecar(options.path);
  if (sidecar && options.inputs.empty()) options.inputs = sidecar->inputs;
  if (sidecar && options.outputs.empty()) options.outputs = sidecar->outputs;
  return options;
}

}  // namespace

std::unique_ptr<TorchRunner> open_torch_runner(const TorchOptions& options) {
  if (!fs::is_regular_file(options.path))
    throw Error(fmt::format("[torch] {}: no such file", options.path.string()));
  if (options.precision != DType::f32 && options.precision != DType::f64)
    throw Error(fmt::format("[torch] precision {}: expected float32 or float64",
                            dtype_name(options.precision)));
  return std::unique_ptr<TorchRunner>(load_module()(with_sidecar(options)));
}

}  // namespace vernier
