#include "vernier/analysis/layers/inputs.h"

#include "vernier/analysis/compare_models.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/analysis/pick_inputs.h"
#include "vernier/model/precision.h"

namespace vernier {

Inputs layers_inputs(const Model& candidate, const InputSpec& spec, const LayersOptions& options) {
  const bool beside = is_automatic(spec) && precision_of(candidate) == Precision::int8;
  const bool taught = !spec.tokens.empty() || !spec.at.empty();
  if ((!beside && !taught) || model_format(options.reference) != ModelFormat::onnx)
    return make_inputs(candidate, spec, options.io, declared_inputs(options.reference));
  const Model reference = Model::load(options.reference);
  CompareModelsOptions compared{.candidate_runtime = options.runtime};
  compared.compare.io = options.io;
  return compare_inputs({.reference = &reference, .candidate = candidate}, spec, compared);
}

}  // namespace vernier
