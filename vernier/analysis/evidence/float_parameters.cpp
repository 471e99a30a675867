#include "vernier/analysis/evidence/float_parameters.h"

#include "vernier/runtime/runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {

FloatParameters::FloatParameters(const Runner& runner) : runner_(runner) {
  for (const TensorSpec& parameter : runner.parameters()) {
    if (!is_float(parameter.dtype)) continue;
    are_wide_ = are_wide_ && (parameter.dtype == DType::f32 || parameter.dtype == DType::f64);
    std::int64_t elements = 1;
    for (const Dim& dim : parameter.shape) elements *= dim.size;
    names_[elements].push_back(parameter.name);
  }
}

const std::vector<Tensor>& FloatParameters::of_size(std::int64_t elements) {
  const auto [found, is_new] = read_.try_emplace(elements);
  const auto names = names_.find(elements);
  if (is_new && names != names_.end())
    runner_.visit_parameters_named(names->second, [&](const TensorView& parameter) {
      found->second.push_back(convert(parameter, DType::f32));
    });
  return found->second;
}

}  // namespace vernier
