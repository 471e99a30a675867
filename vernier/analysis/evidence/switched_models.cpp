#include "vernier/analysis/evidence/switched_models.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "vernier/analysis/evidence/float_parameters.h"
#include "vernier/analysis/pairing/weight_counterpart.h"
#include "vernier/error.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/edit.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

std::optional<Tensor> float_weight(const ModelIndex& float_model, const QuantizedWeight& weight,
                                   const Weight& counterpart) {
  const Tensor real = weight.real();
  const auto found = shaped_like(float_model, counterpart, real);
  return found ? std::optional(copy(found->view)) : std::nullopt;
}

// The third input of each operator that reads the weight.
std::vector<Tensor> float_bias(const Weight& weight) {
  std::vector<Tensor> found;
  for (const NodeProto* reader : weight.graph->consumers(weight.name))
    if (auto bias = weight.graph->value(input_name(*reader, 2))) found.push_back(*std::move(bias));
  return found;
}

std::optional<RealRange> range_of(const std::optional<ClipRange>& folded) {
  return folded ? std::optional(RealRange{folded->low, folded->high, 0}) : std::nullopt;
}

// The bounds of the float model's Relu or Clip that the quantizer's codes keep too.
std::optional<RealRange> kept_bounds(const std::optional<ClipRange>& folded,
                                     const Quantizer& quantizer) {
  const auto range = representable_range(quantizer);
  if (!folded || !range) return std::nullopt;
  RealRange kept{-INFINITY, INFINITY, 0};
  if (range->low >= folded->low - range->step) kept.low = folded->low;
  if (range->high <= folded->high + range->step) kept.high = folded->high;
  return kept;
}

// The node that reads this constant as its bias; null if it is read otherwise.
const NodeProto* bias_reader(const ModelIndex& model, const QuantizedWeight& bias) {
  const FoundNode* reader = bias.reader_input == 2 ? model.node(bias.reader) : nullptr;
  return reader ? reader->node : nullptr;
}

// The upper bounds of leaves: 6 of a ReLU6, max_val of a Hardtanh.
std::vector<double> highest_of_leaves(const Runner& runner) {
  std::vector<double> highs;
  for (const WatchedTensor& leaf : runner.watched()) {
    const auto high = leaf.constants.find("max_val");
    if (high != leaf.constants.end())
      highs.push_back(high->second);
    else if (leaf.type == "ReLU6")
      highs.push_back(6);
  }
  return highs;
}

double largest_difference(const TensorView& reference, const TensorView& candidate) {
  const std::span<const float> expected = elements<float>(reference);
  const std::span<const float> found = elements<float>(candidate);
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(double{expected[i]} - found[i]);
    if (!(difference <= largest)) largest = difference;  // also NaN
  }
  return largest;
}

class FloatParts {
 public:
  FloatParts(const FloatReference& reference, const ModelIndex& candidate,
             const WeightEvidence& weights, FoldedBounds bounds)
      : reference_(reference.model),
        candidate_(candidate),
        bounds_(bounds),
        weights_(float_weights_of(reference, candidate, weights)) {
    if (reference_) {
      parameters_.emplace(*reference_);
    } else if (reference.runner) {
      parameters_.emplace(*reference.runner);
      leaf_highs_ = highest_of_leaves(*reference.runner);
    }
  }

  // Once: gives the weights away.
  FloatCounterparts of(const Quantization& quantization) && {
    FloatCounterparts counterparts;
    for (const QuantizedActivation& activation : quantization.activations)
      counterparts.folded.push_back(folded(activation));
    for (const QuantizedWeight& weight : quantization.weights) {
      const auto found = weights_.find(weight.name);
      const bool is_paired = found != weights_.end();
      counterparts.weights.push_back(is_paired ? std::nullopt : other_constant(weight));
      const bool stores_bias = is_paired && weight.form == WeightForm::q_operator;
      counterparts.biases.emplace_back();
      if (stores_bias)
        for (const Tensor& bias : found->second.biases)
          counterparts.biases.back().push_back(copy(bias.view()));
    }
    // Of weights that are read several times, the first entry counts.
    for (std::size_t i = 0; i < quantization.weights.size(); ++i)
      if (auto weight = weights_.extract(quantization.weights[i].name))
        counterparts.weights[i] = std::move(weight.mapped().weight);
    return counterparts;
  }

 private:
  std::optional<RealRange> folded(const QuantizedActivation& activation) const {
    if (activation.dynamic) return std::nullopt;
    if (!parameters_) return std::nullopt;
    if (!reference_) return bounds_of_codes(activation.quantizer);
    const auto found =
        fold_clip(*reference_, candidate_, activation, find_counterpart(*reference_, activation));
    if (!found.counterpart) return bounds_of_codes(activation.quantizer);
    return bounds_ == FoldedBounds::all ? range_of(found.folded)
                                        : kept_bounds(found.folded, activation.quantizer);
  }

  // For an activation without a counterpart: codes that begin at zero cut off negative values, as a
  // Relu does; without a Relu, no value is negative. A leaf or Clip that ends where the codes do is
  // the upper bound.
  std::optional<RealRange> bounds_of_codes(const Quantizer& quantizer) const {
    const auto range = representable_range(quantizer);
    if (!range || range->low != 0) return std::nullopt;
    RealRange bounds{0, INFINITY, 0};
    const auto take = [&](double high) {
      if (std::abs(high - range->high) <= range->step) bounds.high = high;
    };
    std::ranges::for_each(leaf_highs_, take);
    if (!reference_) {
      if (bounds_ == FoldedBounds::all && bounds.high == INFINITY) bounds.high = range->high;
      return bounds;
    }
    for (const GraphIndex& graph : reference_->graphs())
      for (const NodeProto& node : graph.graph().node())
        if (const auto clip = clip_range(node, graph)) take(clip->high);
    return bounds;
  }

  // A constant that is not compared as a weight.
  std::optional<Tensor> other_constant(const QuantizedWeight& weight) {
    if (auto found = vector_of(weight)) return found;
    auto computed = computed_constant(weight);
    return computed || weight.form != WeightForm::fake_quantized ? std::move(computed)
                                                                 : stored_float(weight);
  }

  // What the candidate itself holds, if it quantizes a float constant in each run.
  std::optional<Tensor> stored_float(const QuantizedWeight& weight) const {
    const Weight* found = candidate_.weight(weight.name);
    if (!found) return std::nullopt;
    return convert(candidate_.model().view(*found->proto), DType::f32);
  }

  // A constant of the candidate that the reference computes from constants: optimisers fold these.
  std::optional<Tensor> computed_constant(const QuantizedWeight& weight) const {
    if (!reference_) return std::nullopt;
    for (const std::string& name : {weight.name, weight.real_name}) {
      const Counterpart found = find_counterpart(*reference_, name);
      if (!found) continue;
      try {
        OrtRunner runner(extract_subgraph(reference_->model(), {}, std::array{found.tensor}));
        return rounded_from(convert(runner.run({}).front(), DType::f32), weight.real());
      } catch (const Stopped&) {
        throw;
      } catch (const Error&) {
        continue;  // it depends on inputs
      }
    }
    return std::nullopt;
  }

  // Biases, and other constants with too few axes or elements to be compared as a weight.
  std::optional<Tensor> vector_of(const QuantizedWeight& weight) {
    const Tensor real = weight.real();
    if (real.shape.size() > 1 && real.size() >= 16) return std::nullopt;
    if (const NodeProto* reader = bias_reader(candidate_, weight)) {
      const WeightSource beside = candidate_.main().weight_source(reader->input(1));
      const auto found = beside ? weights_.find(beside.stored->name()) : weights_.end();
      const Tensor* bias =
          found == weights_.end() ? nullptr : nearest_bias(found->second.biases, real);
      if (bias) {
        Tensor shaped = copy(bias->view());
        shaped.shape = real.shape;
        return shaped;
      }
    }
    auto named = by_name(weight, real);
    return named || !parameters_ ? named : parameter_of(weight, real);
  }

  // The nearest parameter that, within rounding, is the constant.
  std::optional<Tensor> parameter_of(const QuantizedWeight& weight, const Tensor& real) {
    constexpr std::int64_t named_only = 4;  // with fewer elements, values agree by accident
    constexpr double rounding = 1.01;
    const std::vector<double> steps = to_f64(weight.quantizer.scale);
    if (steps.empty()) return std::nullopt;
    const Tensor* nearest = nullptr;
    double least = rounding * std::ranges::max(steps);
    for (const Tensor& parameter : parameters_->of_size(real.size())) {
      const bool is_named =
          weight.name.starts_with(parameter.name) || weight.real_name.starts_with(parameter.name);
      if (real.size() < named_only && !is_named) continue;
      const double difference = largest_difference(parameter, real);
      if (!(difference <= least)) continue;
      least = difference;
      nearest = &parameter;
    }
    return nearest ? rounded_from(copy(nearest->view()), real) : std::nullopt;
  }

  // The value in the stored one's shape, if both agree within rounding; nullopt otherwise.
  static std::optional<Tensor> rounded_from(Tensor value, const Tensor& stored) {
    constexpr double rounded_db = 20;
    if (value.size() != stored.size()) return std::nullopt;
    value.shape = stored.shape;
    return sqnr_db(measure_noise(value, stored)) >= rounded_db ? std::optional(std::move(value))
                                                               : std::nullopt;
  }

  // The reference's constant of the same name.
  std::optional<Tensor> by_name(const QuantizedWeight& weight, const Tensor& real) const {
    if (!reference_) return std::nullopt;
    const Counterpart found = find_counterpart(*reference_, weight);
    const Weight* counterpart = found ? reference_->weight(found.tensor) : nullptr;
    if (!counterpart) return std::nullopt;
    return rounded_from(convert(reference_->model().view(*counterpart->proto), DType::f32), real);
  }

  const ModelIndex* reference_;  // null if a runner or nothing is known
  const ModelIndex& candidate_;
  FoldedBounds bounds_;
  std::map<std::string, FloatWeight> weights_;
  std::optional<FloatParameters> parameters_;
  std::vector<double> leaf_highs_;
};

}  // namespace

SwitchedModel switch_quantizers(const ModelIndex& float_model, const ModelIndex& quantized_model,
                                const Quantization& quantization,
                                std::span<const std::optional<ClipRange>> folded) {
  require_room_for_floats(quantized_model, quantization);
  FloatCounterparts counterparts;
  for (std::size_t i = 0; i < quantization.activations.size(); ++i) {
    const QuantizedActivation& activation = quantization.activations[i];
    counterparts.folded.push_back(
        range_of(folded.empty() ? fold_clip(float_model, quantized_model, activation,
                                            find_counterpart(float_model, activation))
                                      .folded
                                : folded[i]));
  }
  for (const QuantizedWeight& weight : quantization.weights) {
    const Counterpart found = find_counterpart(float_model, weight, weight.real());
    const Weight* counterpart = found ? float_model.weight(found.tensor) : nullptr;
    const bool stores_bias = counterpart && weight.form == WeightForm::q_operator;
    counterparts.weights.push_back(counterpart ? float_weight(float_model, weight, *counterpart)
                                               : std::nullopt);
    counterparts.biases.push_back(stores_bias ? float_bias(*counterpart) : std::vector<Tensor>());
  }
  return insert_switches(quantized_model, quantization, std::move(counterparts));
}

SwitchedModel switch_quantizers(const FloatReference& reference, const ModelIndex& quantized_model,
                                const WeightEvidence& weights, FoldedBounds bounds) {
  const Quantization quantization = find_quantization(quantized_model);
  require_room_for_floats(quantized_model, quantization);
  return insert_switches(quantized_model, quantization,
                         FloatParts(reference, quantized_model, weights, bounds).of(quantization));
}

std::optional<LostBound> find_lost_bound(const ModelIndex& float_model,
                                         const ModelIndex& quantized_model) {
  for (const QuantizedActivation& activation : find_quantization(quantized_model).activations) {
    if (activation.dynamic) continue;
    const auto found = fold_clip(float_model, quantized_model, activation,
                                 find_counterpart(float_model, activation));
    const auto kept = kept_bounds(found.folded, activation.quantizer);
    if (found.counterpart && kept &&
        (kept->low != found.folded->low || kept->high != found.folded->high))
      return LostBound{activation.name, *representable_range(activation.quantizer), *found.folded};
  }
  return std::nullopt;
}

}  // namespace vernier
