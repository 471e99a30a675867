#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vernier {

// What `vernier export` is told. A source is torchvision/NAME, FILE.py:FUNCTION,
// package.module:FUNCTION, or a Hugging Face id or folder.
struct ExportOptions {
  std::string source;
  std::string task;
  std::filesystem::path weights;  // a state dict; empty: the source's own, or random ones
  std::int64_t seed = 42;
  std::string shape;          // of the example input, "1x3x224x224"; empty: the source's own
  std::string exporter;       // "torchscript" or "dynamo"; empty: what PyTorch offers
  int opset = 0;              // 0: the newest that PyTorch writes
  std::string dynamic;        // more dynamic axes: "NAME:AXIS[=SYMBOL],..."
  bool instrument = false;    // also the model with each leaf as an output
  bool allow_frozen = false;  // export a trace that is not the model on other inputs
  std::string python;         // the interpreter; empty: the first on PATH that has PyTorch
};

// The files of an export. The sidecar tells names, shapes and how it was made.
struct ExportedModel {
  std::filesystem::path onnx;
  std::filesystem::path torchscript;  // empty if there is none: the sidecar names the reference
  std::filesystem::path sidecar;
  std::filesystem::path layers;  // empty unless instrumented
  bool operator==(const ExportedModel&) const = default;
};

// The export whose files are in the folder.
ExportedModel exported_in(const std::filesystem::path& folder);

// Exports the model into the folder, which is made or has its files replaced, all or none. Progress
// and warnings go to standard error. Throws Error with the reason when it cannot be done.
ExportedModel export_model(const ExportOptions& options, const std::filesystem::path& folder);

// Whether the text names a model to export: it is no file, and has not the ending of a model's or
// array's; or it is a folder of Hugging Face's.
bool is_export_source(const std::string& text);

// The export of a model id from the cache ($XDG_CACHE_HOME/vernier, else ~/.cache/vernier), made on
// the first use, and again when an option or the version of a package differs or on `rebuild`. A
// function in a Python file is exported each time: what it does may have changed.
ExportedModel resolve_model(const ExportOptions& options, bool rebuild = false);

}  // namespace vernier
