#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "vernier/analysis/compare/compare.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/runtime/open_runner.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

// The two sides of a comparison. Of the reference either the model is known, and is run here, or
// only something that runs it.
struct ComparedModels {
  const Model* reference = nullptr;
  Runner* reference_runner = nullptr;
  const Model& candidate;
};

struct CompareModelsOptions {
  CompareOptions compare;  // its evidence needs only say where inputs and limits come from
  bool weights = true;     // compare weights as well
  OrtOptions candidate_runtime, reference_runtime;
};

// What both models are fed: automatic inputs, unless the spec says otherwise or the reference is
// recorded. Sizes that the candidate leaves open are the reference's.
Inputs compare_inputs(const ComparedModels& models, const InputSpec& spec,
                      const CompareModelsOptions& options);

// Two models, opened to be compared, and what they are fed.
struct OpenedModels {
  Model candidate;
  std::optional<Model> reference;            // of an ONNX file
  std::unique_ptr<Runner> reference_runner;  // of anything else
  Inputs inputs;
  ComparedModels compared() const;
};

// Opens a reference of any format and makes the inputs; a live model is told what it will be fed.
// Completes the options: without limits, those of the candidate's precision, and whether inputs are
// real.
OpenedModels open_models(Model candidate, const std::filesystem::path& reference,
                         const InputSpec& spec, CompareModelsOptions& options,
                         RunnerOptions reference_options = {});

// compare() with all that a verdict can rest on: the weights of both models, the candidate in exact
// arithmetic where it holds integers, how its quantizers take the inputs, and what goes into a
// final Softmax or Sigmoid. NaN in the candidate is traced to the tensor where it begins.
CompareResult compare_models(const ComparedModels& models, Samples& samples,
                             CompareModelsOptions options);

}  // namespace vernier
