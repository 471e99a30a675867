#include "vernier/runtime/exporter.h"

#include <fmt/format.h>

#include "vernier/error.h"
#include "vernier/runtime/python.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> arguments(const ExportOptions& options, const fs::path& folder) {
  std::vector<std::string> list = {
      options.source,     "--output", folder.string(), "--seed", std::to_string(options.seed),
      "--error-to-stdout"};
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) list.push_back(name + "=" + value);
  };
  add("--task", options.task);
  add("--weights", options.weights.string());
  add("--shape", options.shape);
  add("--opset", options.opset ? std::to_string(options.opset) : "");
  add("--dynamic", options.dynamic);
  if (options.instrument) list.push_back("--instrument");
  if (options.allow_frozen) list.push_back("--allow-frozen");
  return list;
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

ExportedModel exported_in(const fs::path& folder) {
  const fs::path layers = folder / "model.layers.onnx";
  return {.onnx = folder / "model.onnx",
          .torchscript = folder / "model.pt",
          .sidecar = folder / "model.json",
          .layers = fs::exists(layers) ? layers : fs::path()};
}

ExportedModel export_model(const ExportOptions& options, const fs::path& folder) {
  const Python python = find_python(options.python);
  const ProcessResult result = run_exporter(python, arguments(options, folder));
  if (result.exit_code != 0) {
    const std::string reason = last_line(result.out);
    throw Error(reason.starts_with("[export]")
                    ? reason
                    : fmt::format("[export] {}: {} ended with exit code {}", options.source,
                                  python.program, result.exit_code));
  }
  return exported_in(folder);
}

}  // namespace vernier
