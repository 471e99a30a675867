#pragma once

#include <filesystem>
#include <memory>

#include "vernier/runtime/host_runner.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/recorded_runner.h"
#include "vernier/runtime/runner.h"
#include "vernier/runtime/torch_runner.h"

namespace vernier {

enum class ModelFormat { onnx, torchscript, recorded, hosted };

// hosted if is_host_source() says so; else by the extension: onnx for .onnx or a folder with a
// genai_config.json; torchscript for .pt, .pth, .jit, .ts or .torchscript; recorded for .npz, any
// other folder, or arrays of this process. Throws Error if the file does not exist or has another
// extension.
ModelFormat model_format(const std::filesystem::path& path);

// Options for each kind of runner; only those of the opened kind are used.
struct RunnerOptions {
  OrtOptions onnx;
  TorchOptions torch;  // `path` is ignored
  RecordedOptions recorded;
  HostOptions host;  // `source` is ignored
};

std::unique_ptr<Runner> open_runner(const std::filesystem::path& path,
                                    const RunnerOptions& options = {});

}  // namespace vernier
