#pragma once

// The library in one header: one function for each question about a reference and a candidate. Each
// takes the paths of both, the inputs to run them on and options. Headers that this one does not
// include are not installed, and may change. Every function throws Error if it cannot answer.

#include <filesystem>

#include "vernier/analysis/check/check.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/diagnosis/diagnosis.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/task/evaluate.h"
#include "vernier/analysis/task/score_files.h"
#include "vernier/error.h"
#include "vernier/report/finding.h"
#include "vernier/report/warning.h"
#include "vernier/runtime/open_runner.h"
#include "vernier/version.h"

namespace vernier {

// How far apart are the outputs? Each is an ONNX model, a TorchScript file or recorded outputs; of
// a candidate that is no ONNX model only the outputs are compared. Uses 100 samples, or 12
// synthetic images, unless `inputs` says otherwise. If `options` has no limits, those of the
// candidate's precision apply.
CompareResult compare(const std::filesystem::path& reference,
                      const std::filesystem::path& candidate, const InputSpec& inputs = {},
                      CompareModelsOptions options = {});

// Which tensors and weights did quantization damage? Both are ONNX models. Uses 8 samples, or 12
// synthetic images, unless `inputs` says otherwise. With `options.switches` also gives advice,
// chosen and judged on samples that it takes itself.
DebugResult debug(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                  const InputSpec& inputs = {}, DebugOptions options = {});

// At which layer do reference and candidate start to differ, and why? The reference is a
// TorchScript file, an ONNX model or recorded tensors. Uses one sample, drawn from a normal
// distribution, unless `inputs` says otherwise.
LayersResult layers(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                    const InputSpec& inputs = {}, LayersOptions options = {});

// What is wrong with the candidate? The reference may be empty: the candidate is then checked
// alone.
CheckResult check(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                  const InputSpec& inputs, CheckOptions options = {});

// How well do both do their task on the labelled examples of `inputs.dataset`? With an empty
// reference the candidate is scored alone. Uses 1000 samples unless `inputs` says otherwise.
TaskResult evaluate(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                    const InputSpec& inputs, const EvaluateOptions& options);

// What is wrong, where, and what brings it back? diagnose(reference, candidate, inputs, options),
// declared in diagnosis.h, asks the questions above in turn, until the cause is known. Uses 64
// samples unless `inputs` says otherwise.

}  // namespace vernier
