#include "vernier/analysis/evidence/float_parameters.h"

#include "vernier/model/index.h"
#include "vernier/runtime/runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {

FloatParameters::FloatParameters(const Runner& runner) : runner_(&runner) {
  for (const TensorSpec& parameter : runner.parameters()) {
    if (!is_float(parameter.dtype)) continue;
    are_wide_ = are_wide_ && (parameter.dtype == DType::f32 || parameter.dtype == DType::f64);
    std::int64_t elements = 1;
    for (const Dim& dim : parameter.shape) elements *= dim.size;
    names_[elements].push_back(parameter.name);
  }
}

FloatParameters::FloatParameters(const ModelIndex& model) : model_(&model) {
  for (const Weight& weight : model.weights()) {
    const WeightView view = model.model().view(*weight.proto);
    if (!is_float(view.dtype) || model.weight(weight.name) != &weight) continue;
    are_wide_ = are_wide_ && (view.dtype == DType::f32 || view.dtype == DType::f64);
    names_[view.size()].push_back(weight.name);
  }
}

const std::vector<Tensor>& FloatParameters::of_size(std::int64_t elements) {
  const auto [found, is_new] = read_.try_emplace(elements);
  const auto names = names_.find(elements);
  if (!is_new || names == names_.end()) return found->second;
  const auto keep = [&](const TensorView& parameter) {
    found->second.push_back(convert(parameter, DType::f32));
  };
  if (runner_)
    runner_->visit_parameters_named(names->second, keep);
  else
    for (const std::string& name : names->second) {
      const WeightView view = model_->model().view(*model_->weight(name)->proto);
      keep(view);
      found->second.back().name = name;
    }
  return found->second;
}

}  // namespace vernier
