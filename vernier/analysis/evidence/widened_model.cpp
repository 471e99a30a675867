#include "vernier/analysis/evidence/widened_model.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "vernier/analysis/evidence/float_parameters.h"
#include "vernier/metrics/ulp.h"
#include "vernier/model/widen_half.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Whether `wide` rounds to the stored values, within one unit: converters clamp values that the
// type cannot hold.
bool rounds_to(const TensorView& wide, const TensorView& stored) {
  Tensor rounded = convert(wide, stored.dtype);
  rounded.shape.assign(stored.shape.begin(), stored.shape.end());
  const auto distance = ulp_distance(rounded, stored);
  return distance && distance->max <= 1;
}

// Whether all numbers have so few digits (0.5, 6, 1/64) that rounding hardly changed them.
bool are_short(const TensorView& stored) {
  constexpr int significant_bits = 6;
  return std::ranges::all_of(to_f64(stored), [](double value) {
    int exponent = 0;
    const double scaled = std::ldexp(std::frexp(value, &exponent), significant_bits);
    return scaled == std::nearbyint(scaled);  // true for infinity, false for NaN
  });
}

// Whether a number is at an end of the range to which converters clamp.
bool may_be_clamped(const TensorView& stored) {
  constexpr double largest = 1e4, least = 1.01e-7;
  return std::ranges::any_of(to_f64(stored), [](double value) {
    return !(std::abs(value) < 0.99 * largest) || (value != 0 && std::abs(value) < least);
  });
}

class Counterparts {
 public:
  Counterparts(const FloatReference& reference, const ModelIndex& candidate,
               const WeightEvidence& evidence)
      : reference_(reference.model), weights_(float_weights_of(reference, candidate, evidence)) {
    if (!reference_ && reference.runner) parameters_.emplace(*reference.runner);
    for (const GraphIndex& graph : candidate.graphs())
      for (const NodeProto& node : graph.graph().node())
        if (node.input_size() > 2)
          if (const WeightSource weight = graph.weight_source(node.input(1)))
            weights_beside_.emplace(node.input(2), weight.stored->name());
  }

  std::optional<Tensor> of(const std::string& name, const TensorView& stored) {
    if (const auto found = weights_.find(name); found != weights_.end())
      return shaped(found->second.weight.view(), stored);
    // The layer's bias first: some exporters keep the name of a bias into which they fold a norm.
    if (auto found = bias_of(name, stored)) return found;
    if (auto found = reference_ ? constant_of(name, stored) : parameter_of(name, stored))
      return std::move(found->value);
    if (are_short(stored)) return std::nullopt;
    rounded_.push_back(name);
    is_clamped_ = is_clamped_ || may_be_clamped(stored);
    return std::nullopt;
  }

  std::vector<std::string> take_rounded() { return std::move(rounded_); }
  bool is_clamped() const { return is_clamped_; }

 private:
  // What was found for a constant; no value if the constant of its name does not round to it.
  struct Found {
    std::optional<Tensor> value;
  };

  static Found compared(const TensorView& named, const TensorView& stored) {
    return {rounds_to(named, stored) ? std::optional(shaped(named, stored)) : std::nullopt};
  }

  std::optional<Found> constant_of(const std::string& name, const TensorView& stored) const {
    const Weight* named = reference_->weight(name);
    if (named && is_number(*named) && element_count(named->proto) == stored.size())
      return compared(reference_->model().view(*named->proto), stored);
    for (const Weight* weight : reference_->weights_of_size(stored.size())) {
      if (!is_number(*weight)) continue;
      const WeightView value = reference_->model().view(*weight->proto);
      if (rounds_to(value, stored)) return Found{shaped(value, stored)};
    }
    return std::nullopt;
  }

  // The reference's bias of the node that reads this one, with a norm folded in if need be.
  std::optional<Tensor> bias_of(const std::string& name, const TensorView& stored) const {
    const auto beside = weights_beside_.find(name);
    if (beside == weights_beside_.end()) return std::nullopt;
    const auto layer = weights_.find(beside->second);
    if (layer == weights_.end()) return std::nullopt;
    for (const Tensor& bias : layer->second.biases)
      if (bias.size() == stored.size() && rounds_to(bias, stored)) return shaped(bias, stored);
    return std::nullopt;
  }

  std::optional<Found> parameter_of(const std::string& name, const TensorView& stored) {
    if (!parameters_) return std::nullopt;
    const std::vector<Tensor>& parameters = parameters_->of_size(stored.size());
    const auto named = std::ranges::find(parameters, name, &Tensor::name);
    if (named != parameters.end()) return compared(*named, stored);
    for (const Tensor& parameter : parameters)
      if (rounds_to(parameter, stored)) return Found{shaped(parameter, stored)};
    return std::nullopt;
  }

  static bool is_number(const Weight& weight) {
    return weight.proto->data_type() == TensorProto::FLOAT ||
           weight.proto->data_type() == TensorProto::DOUBLE;
  }

  static std::int64_t element_count(const TensorProto* proto) {
    return vernier::element_count(Shape(proto->dims().begin(), proto->dims().end()));
  }

  static Tensor shaped(const TensorView& value, const TensorView& stored) {
    Tensor wide = convert(value, DType::f32);
    wide.shape.assign(stored.shape.begin(), stored.shape.end());
    return wide;
  }

  const ModelIndex* reference_;  // null if the parameters are known
  std::map<std::string, FloatWeight> weights_;
  std::optional<FloatParameters> parameters_;
  std::map<std::string, std::string> weights_beside_;  // weight of each node, by bias
  std::vector<std::string> rounded_;
  bool is_clamped_ = false;
};

}  // namespace

WidenedModel widen(const FloatReference& reference, const ModelIndex& candidate,
                   const WeightEvidence& weights) {
  Counterparts counterparts(reference, candidate, weights);
  Model model =
      widen_half(candidate.model(), [&](const std::string& name, const TensorView& stored) {
        return counterparts.of(name, stored);
      });
  return {std::move(model), counterparts.take_rounded(), counterparts.is_clamped()};
}

}  // namespace vernier
