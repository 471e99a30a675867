#pragma once

// The library in one header: questions about a reference and a candidate, each asked with the
// paths of both, the inputs to run them on and options. What this header does not reach is not
// installed, and may change. Every function throws Error for what cannot be done.

#include <filesystem>

#include "vernier/analysis/check/check.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/diagnosis/diagnosis.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/task/evaluate.h"
#include "vernier/error.h"
#include "vernier/runtime/open_runner.h"
#include "vernier/version.h"

namespace vernier {

// How far are the outputs apart? The reference is an ONNX model, a TorchScript file or recorded
// outputs. 100 samples unless `inputs` says otherwise; without limits, those of the candidate's
// precision.
CompareResult compare(const std::filesystem::path& reference,
                      const std::filesystem::path& candidate, const InputSpec& inputs = {},
                      CompareModelsOptions options = {});

// Which tensors and weights did quantization damage? Both are ONNX models. 8 samples unless
// `inputs` says otherwise.
DebugResult debug(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                  const InputSpec& inputs = {}, DebugOptions options = {});

// At which layer do they start to differ, and why? The reference is a TorchScript file, an ONNX
// model or recorded tensors. One sample, drawn from a normal distribution, unless `inputs` says
// otherwise.
LayersResult layers(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                    const InputSpec& inputs = {}, LayersOptions options = {});

// What is wrong with the candidate? An empty reference is not compared with.
CheckResult check(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                  const InputSpec& inputs, CheckOptions options = {});

// How well do both do their task on the labelled examples of `inputs.dataset`? With an empty
// reference the candidate is scored alone. 1000 samples unless `inputs` says otherwise.
TaskResult evaluate(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                    const InputSpec& inputs, const EvaluateOptions& options);

}  // namespace vernier
