#pragma once

#include "vernier/analysis/compare.h"
#include "vernier/analysis/inputs.h"
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

// compare() with all that a verdict can rest on: the weights of both models, the candidate in exact
// arithmetic where it holds integers, how its quantizers take the inputs, and what goes into a
// final Softmax or Sigmoid. NaN in the candidate is traced to the tensor where it begins.
CompareResult compare_models(const ComparedModels& models, Samples& samples,
                             CompareModelsOptions options);

}  // namespace vernier
