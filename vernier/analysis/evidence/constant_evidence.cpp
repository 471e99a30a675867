#include "vernier/analysis/evidence/constant_evidence.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <optional>
#include <set>

#include "vernier/analysis/evidence/other_channel.h"
#include "vernier/analysis/pairing/by_name.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/quantization.h"
#include "vernier/model/tensor_data.h"
#include "vernier/runtime/runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The reference's parameters by name.
class NamedParameters {
 public:
  explicit NamedParameters(const FloatReference& reference) : reference_(reference) {
    if (!reference.runner) return;
    for (const TensorSpec& parameter : reference.runner->parameters())
      if (is_float(parameter.dtype)) names_.insert(parameter.name);
  }

  // The parameter of a stored constant's name, in float32; nullopt if there is none.
  std::optional<Tensor> of(const QuantizedWeight& constant) const {
    for (const std::string& name : {constant.name, constant.real_name})
      if (const Counterpart found =
              match_by_name([&](const std::string& each) { return exists(each); }, name))
        if (const auto value = constant_named(reference_, found.tensor))
          return convert(*value, DType::f32);
    return std::nullopt;
  }

 private:
  bool exists(const std::string& name) const {
    return reference_.model ? reference_.model->weight(name) != nullptr : names_.contains(name);
  }

  FloatReference reference_;
  std::set<std::string> names_;  // of a runner's parameters
};

// Matrices and kernels are compared as weights.
bool is_vector(const ModelIndex& model, const QuantizedWeight& constant) {
  const Weight* stored = model.weight(constant.name);
  if (!stored) return false;
  const Shape shape = dims_of(*stored->proto);
  return shape.empty() || element_count(shape) == std::ranges::max(shape);
}

std::optional<OtherConstant> other_constant(const QuantizedWeight& constant,
                                            const NamedParameters& parameters) {
  const bool is_dequantized =
      constant.form == WeightForm::dequantized || constant.form == WeightForm::fake_quantized;
  if (!is_dequantized || constant.real_name.empty() || !is_integer(constant.quantizer.dtype))
    return std::nullopt;
  std::optional<Tensor> reference = parameters.of(constant);
  const Tensor real = constant.real();
  if (!reference || real.size() == 0 || reference->size() != real.size()) return std::nullopt;
  reference->shape = real.shape;
  const double db = sqnr_db(measure_noise(*reference, real));
  const bool is_other = db < lost_constant_db ||
                        (db < same_constant_db &&
                         largest_steps(*reference, real, constant.quantizer) > rounded_steps);
  if (!is_other) return std::nullopt;
  return OtherConstant{constant.name, constant.real_name, db, *std::move(reference)};
}

}  // namespace

std::optional<Tensor> constant_named(const FloatReference& reference, const std::string& name) {
  std::optional<Tensor> found;
  if (reference.model) {
    if (const Weight* weight = reference.model->weight(name))
      found = copy(reference.model->model().view(*weight->proto));
  } else if (reference.runner) {
    reference.runner->visit_parameters_named(
        {&name, 1}, [&](const TensorView& value) { found = convert(value, DType::f32); });
  }
  return found;
}

std::vector<OtherConstant> find_other_constants(const FloatReference& reference,
                                                const ModelIndex& candidate) {
  const NamedParameters parameters(reference);
  std::vector<OtherConstant> others;
  for (const QuantizedWeight& constant : find_quantization(candidate).weights) {
    if (!is_vector(candidate, constant)) continue;
    auto other = other_constant(constant, parameters);
    if (other &&
        std::ranges::find(others, other->candidate, &OtherConstant::candidate) == others.end())
      others.push_back(*std::move(other));
  }
  return others;
}

Model with_reference_constants(const Model& candidate, std::span<const OtherConstant> constants) {
  Model repaired = candidate.clone();
  for (const OtherConstant& constant : constants) {
    auto proto = make_tensor_proto(constant.reference);
    proto.set_name("vernier.reference:" + constant.real_name);
    for (auto& node : *repaired.graph().mutable_node())
      for (std::string& input : *node.mutable_input())
        if (input == constant.real_name) input = proto.name();
    *repaired.graph().add_initializer() = std::move(proto);
  }
  return repaired;
}

}  // namespace vernier
