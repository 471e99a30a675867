#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "vernier/analysis/compare/compare.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/runtime/open_runner.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

class ModelIndex;

// The two sides of a comparison. The reference is either a model that is run here, or a runner.
struct ComparedModels {
  const ModelIndex* reference = nullptr;
  Runner* reference_runner = nullptr;
  const ModelIndex& candidate;
};

// Unless the inputs and options say otherwise.
inline constexpr std::int64_t default_compare_samples = 100;
inline constexpr std::int64_t default_compare_steps = 10;  // of a decoder, behind its prompt

struct CompareModelsOptions {
  CompareOptions compare;  // of its evidence, set only the origin of inputs and limits
  bool weights = true;     // whether to compare weights as well
  OrtOptions candidate_runtime, reference_runtime;
  // Only for compare() by paths: what an ONNX candidate is made first, as load_candidate() takes
  // it. For any other candidate it only chooses the default limits.
  std::string precision = {};
};

// What both models are fed: automatic inputs, unless the spec names inputs or the reference is
// recorded. Sizes that the candidate leaves open are taken from the reference.
Inputs compare_inputs(const ComparedModels& models, const InputSpec& spec,
                      const CompareModelsOptions& options);

// Two models, opened for comparison, and their inputs.
struct OpenedModels {
  std::shared_ptr<const ModelIndex> candidate;
  std::shared_ptr<const ModelIndex> reference;  // if it is an ONNX file
  std::unique_ptr<Runner> reference_runner;     // if it is anything else
  Inputs inputs;
  ComparedModels compared() const;
};

// Opens a reference of any format and makes the inputs; a live model is told what it will be fed.
// Completes the options: sets the default limits of the candidate's precision if there are none,
// and whether the inputs are real. `reference_model` is an ONNX reference that is loaded already.
OpenedModels open_models(std::shared_ptr<const ModelIndex> candidate,
                         const std::filesystem::path& reference, const InputSpec& spec,
                         CompareModelsOptions& options, RunnerOptions reference_options = {},
                         std::shared_ptr<const ModelIndex> reference_model = nullptr);

// compare() with everything that a verdict can rest on: the weights of both models, the candidate
// in exact arithmetic if it is quantized, how its calibration ranges fit the inputs, and what goes
// into a final Softmax or Sigmoid. NaN in the candidate is traced to the tensor where it begins.
CompareResult compare_models(const ComparedModels& models, Samples& samples,
                             CompareModelsOptions options);

}  // namespace vernier
