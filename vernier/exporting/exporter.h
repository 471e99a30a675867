#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace vernier {

// The options of `vernier export`. `source` is torchvision/NAME, FILE.py:FUNCTION,
// package.module:FUNCTION, or a Hugging Face id or folder.
struct ExportOptions {
  std::string source;
  std::string task;
  std::filesystem::path weights;  // a state dict; if empty, the source's own weights or random ones
  std::int64_t seed = 42;
  std::string shape;          // of the example input, "1x3x224x224"; if empty, the source's own
  std::string exporter;       // "torchscript" or "dynamo"; if empty, PyTorch's default
  int opset = 0;              // 0 means the newest that PyTorch writes
  std::string dynamic;        // additional dynamic axes: "NAME:AXIS[=SYMBOL],..."
  bool instrument = false;    // also write a model with each leaf as an output
  bool allow_frozen = false;  // export even if the trace differs from the model on other inputs
  std::string python;         // the interpreter; if empty, see find_python()
};

// The files of an export. The sidecar holds names, shapes and how the export was made.
struct ExportedModel {
  std::filesystem::path onnx;
  std::filesystem::path torchscript;  // empty if absent: the sidecar then names the reference
  std::filesystem::path sidecar;
  std::filesystem::path layers;  // empty unless instrumented
  bool operator==(const ExportedModel&) const = default;
};

// The files of the export in the folder.
ExportedModel exported_in(const std::filesystem::path& folder);

// Exports the model into the folder, which is created if needed; existing files are replaced, all
// or none. Progress and warnings go to standard error. Throws Error with the reason if the export
// fails.
ExportedModel export_model(const ExportOptions& options, const std::filesystem::path& folder);

// Whether the text names a model to export: a Hugging Face folder without an export in it, or a
// text that is neither a file nor has the extension of a model or array file.
bool is_export_source(const std::string& text);

// The export of a model from the cache ($XDG_CACHE_HOME/vernier, else ~/.cache/vernier). It is made
// at the first use, and again if an option or a package version differs or if `rebuild` is set. A
// Python function is exported every time, because its code may have changed.
ExportedModel resolve_model(const ExportOptions& options, bool rebuild = false);

}  // namespace vernier
