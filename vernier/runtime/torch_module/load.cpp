#include "vernier/runtime/torch_module/load.h"

#include <fmt/format.h>
#include <torch/script.h>
#include <torch/version.h>

#include "vernier/error.h"

namespace vernier {

std::string what_failed(const std::exception& error) {
  const auto* libtorch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = libtorch ? libtorch->what_without_backtrace() : error.what();
  // The interpreter's message is a traceback whose end states the cause.
  const auto cause = text.rfind("RuntimeError: ");
  // "Unknown builtin op" begins with an empty line.
  auto begin = cause == std::string::npos ? text.find_first_not_of(" \n") : cause;
  // "[enforce fail at inline_container.cc:129] . file not found": drops the source location.
  if (begin != std::string::npos && text.compare(begin, 9, "[enforce ") == 0)
    begin = text.find_first_not_of("]. \n", std::min(text.find(']', begin), text.size()));
  if (begin == std::string::npos) return "it does not say why";
  return text.substr(begin, text.find('\n', begin) - begin);
}

torch::jit::Module load_torchscript(const std::filesystem::path& path) {
  try {
    torch::jit::Module module = torch::jit::load(path.string(), at::kCPU);
    module.eval();
    return module;
  } catch (const std::exception& error) {
    throw Error(fmt::format(
        "[torch] {}: libtorch {} cannot load it as TorchScript: {}; run the model itself "
        "with --reference FILE.py:FUNCTION, with --reference-model FILE.py:CLASS if "
        "these are its weights, or save it with torch.jit.trace(model, "
        "example).save(...)",
        path.string(), TORCH_VERSION, what_failed(error)));
  }
}

}  // namespace vernier
