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

// Hosted if is_host_source() says so; else by the file's ending: .onnx; .pt, .pth, .jit, .ts or
// .torchscript; .npz or a folder. Throws Error if there is no such file or it has another ending.
ModelFormat model_format(const std::filesystem::path& path);

// What each kind of runner is to do; those of the other kinds are not used.
struct RunnerOptions {
  OrtOptions onnx;
  TorchOptions torch;  // without a path
  RecordedOptions recorded;
  HostOptions host;  // without a source
};

std::unique_ptr<Runner> open_runner(const std::filesystem::path& path,
                                    const RunnerOptions& options = {});

}  // namespace vernier
