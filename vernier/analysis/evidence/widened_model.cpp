#include "vernier/analysis/evidence/widened_model.h"

#include <vernier_onnx.pb.h>

#include <map>

#include "vernier/metrics/ulp.h"
#include "vernier/model/widen_half.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Whether this is what was rounded to the stored values: to a neighbour at most, as converters
// clamp what the type cannot hold.
bool rounds_to(const TensorView& wide, const TensorView& stored) {
  Tensor rounded = convert(wide, stored.dtype);
  rounded.shape.assign(stored.shape.begin(), stored.shape.end());
  const auto distance = ulp_distance(rounded, stored);
  return distance && distance->max <= 1;
}

class Counterparts {
 public:
  Counterparts(const ModelIndex& reference, std::map<std::string, FloatWeight> weights)
      : reference_(reference), weights_(std::move(weights)) {}

  std::optional<Tensor> of(const std::string& name, const TensorView& stored) {
    if (const auto found = weights_.find(name); found != weights_.end())
      return shaped(found->second.weight.view(), stored);
    const Weight* named = reference_.weight(name);
    if (named && is_number(*named) && element_count(named->proto) == stored.size()) {
      const WeightView value = reference_.model().view(*named->proto);
      return rounds_to(value, stored) ? std::optional(shaped(value, stored)) : std::nullopt;
    }
    for (const Weight* weight : reference_.weights_of_size(stored.size())) {
      if (!is_number(*weight)) continue;
      const WeightView value = reference_.model().view(*weight->proto);
      if (rounds_to(value, stored)) return shaped(value, stored);
    }
    rounded_.push_back(name);
    return std::nullopt;
  }

  std::vector<std::string> take_rounded() { return std::move(rounded_); }

 private:
  static bool is_number(const Weight& weight) {
    return weight.proto->data_type() == vernier_onnx::TensorProto::FLOAT ||
           weight.proto->data_type() == vernier_onnx::TensorProto::DOUBLE;
  }

  static std::int64_t element_count(const vernier_onnx::TensorProto* proto) {
    return vernier::element_count(Shape(proto->dims().begin(), proto->dims().end()));
  }

  static Tensor shaped(const TensorView& value, const TensorView& stored) {
    Tensor wide = convert(value, DType::f32);
    wide.shape.assign(stored.shape.begin(), stored.shape.end());
    return wide;
  }

  const ModelIndex& reference_;
  std::map<std::string, FloatWeight> weights_;
  std::vector<std::string> rounded_;
};

}  // namespace

WidenedModel widen(const ModelIndex& reference, const Model& candidate,
                   const WeightEvidence& weights) {
  const ModelIndex index(candidate);
  Counterparts counterparts(reference, float_weights_of(reference, index, weights));
  Model model = widen_half(candidate, [&](const std::string& name, const TensorView& stored) {
    return counterparts.of(name, stored);
  });
  return {std::move(model), counterparts.take_rounded()};
}

}  // namespace vernier
