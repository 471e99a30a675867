#include "vernier/analysis/evidence/float_form.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "vernier/analysis/evidence/constant_evidence.h"
#include "vernier/analysis/evidence/float_parameters.h"
#include "vernier/analysis/evidence/float_weights.h"
#include "vernier/analysis/evidence/widened_model.h"
#include "vernier/analysis/quantize/bias_correction.h"
#include "vernier/data/synthetic_signals.h"
#include "vernier/metrics/kernels.h"
#include "vernier/model/precision.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Whether the constant holds one number, or it and zeros, and the range ends there: nothing of it
// is rounded. Many a scale of a normalisation is 1 in every channel.
bool is_exact(std::span<const double> values, std::span<const double> steps) {
  constexpr double last_code = 127;
  const double number =
      values.empty()
          ? 0
          : *std::ranges::max_element(values, {}, [](double value) { return std::abs(value); });
  return steps.size() == 1 && std::abs(number / steps[0]) >= last_code - 0.5 &&
         std::ranges::all_of(values, [&](double value) { return value == 0 || value == number; });
}

// Whether the rounding error of a constant is too small to show in the outputs.
bool is_fine(const QuantizedWeight& constant) {
  const std::vector<double> values = to_f64(constant.real());
  const std::vector<double> steps = to_f64(constant.quantizer.scale);
  if (steps.empty()) return false;
  if (is_exact(values, steps)) return true;
  if (constant.quantizer.dtype != DType::i32) return false;
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    signal += values[i] * values[i];
    noise += steps[i % steps.size()] * steps[i % steps.size()] / 12;
  }
  return signal == 0 || 10 * std::log10(signal / noise) >= same_structure_db;
}

// Whether an integer operator's bias, of 32 bits, has codes so large that their rounding is too
// small to show.
bool is_fine_bias(const std::string& name, const ModelIndex& candidate) {
  const auto* stored = candidate.main().constant(name);
  if (!stored || dtype_of(*stored) != DType::i32) return false;
  double squares = 0;
  const std::vector<double> codes = to_f64(candidate.model().tensor(*stored));
  for (const double code : codes) squares += code * code;
  return codes.empty() || squares == 0 ||
         10 * std::log10(12 * squares / static_cast<double>(codes.size())) >= same_structure_db;
}

// Those whose quantization may show in the outputs.
std::vector<Unswitched> showing(std::vector<Unswitched> unswitched, const Quantization& found,
                                const ModelIndex& candidate) {
  std::erase_if(unswitched, [&](const Unswitched& each) {
    const auto weight = std::ranges::find(found.weights, each.subject, &QuantizedWeight::name);
    return weight == found.weights.end() ? is_fine_bias(each.subject, candidate) : is_fine(*weight);
  });
  return unswitched;
}

// The reference's bias of the layer that reads this stored bias of the candidate.
std::optional<Tensor> bias_of_layer(const std::map<std::string, FloatWeight>& weights,
                                    const ModelIndex& candidate, const TensorView& stored) {
  const std::string name(stored.name);
  for (const NodeProto* reader : candidate.main().consumers(name)) {
    if (input_name(*reader, 2) != name) continue;
    const WeightSource weight = candidate.main().weight_source(reader->input(1));
    const auto found = weight ? weights.find(weight.stored->name()) : weights.end();
    if (found == weights.end()) continue;
    if (const Tensor* bias = nearest_bias(found->second.biases, stored)) return copy(bias->view());
  }
  return std::nullopt;
}

// `vernier quantize` corrects biases for the mean error of rounding. In float32 there is no such
// error, so the reference's biases are put back. Returns the biases that stay corrected.
std::vector<std::string> restore_corrected(Model& model, const FloatReference& reference,
                                           const ModelIndex& candidate,
                                           const WeightEvidence& weights) {
  constexpr double corrected_db = 20;  // SQNR of a corrected bias against the original, at least
  std::vector<std::string> kept;
  std::optional<std::map<std::string, FloatWeight>> layers;
  for (auto& proto : *model.graph().mutable_initializer()) {
    if (!proto.name().ends_with(corrected_suffix)) continue;
    const Tensor corrected = model.tensor(proto);
    auto original = constant_named(
        reference, proto.name().substr(0, proto.name().size() - corrected_suffix.size()));
    if (!original && reference.runner) {
      if (!layers) layers = float_weights_of(reference, candidate, weights);
      original = bias_of_layer(*layers, candidate, corrected);
    }
    if (!original || original->dtype != corrected.dtype || original->size() != corrected.size() ||
        !(sqnr_db(measure_noise(*original, corrected)) >= corrected_db)) {
      kept.push_back(proto.name());
      continue;
    }
    original->name = corrected.name;
    original->shape = corrected.shape;
    proto = make_tensor_proto(*original);
  }
  return kept;
}

// [directions, inputs, gates] as [directions, gates, inputs].
Tensor with_swapped_axes(const Tensor& weight) {
  const std::int64_t rows = weight.shape[1], columns = weight.shape[2];
  Tensor swapped = make_tensor("", DType::f32, {weight.shape[0], columns, rows});
  const auto from = elements<float>(weight.view());
  const std::span<float> to = elements<float>(swapped);
  for (std::int64_t matrix = 0; matrix < weight.shape[0]; ++matrix)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        to[static_cast<std::size_t>((matrix * columns + column) * rows + row)] =
            from[static_cast<std::size_t>((matrix * rows + row) * columns + column)];
  return swapped;
}

// An LSTM on real numbers with the reference's weights in place of one that quantizes them. False
// if the weights are not known.
bool make_float_lstm(NodeProto& node, GraphProto& main,
                     const std::map<std::string, FloatWeight>& weights) {
  constexpr int shared_inputs = 8;  // scales and zero points follow
  const auto input = weights.find(input_name(node, 1)),
             recurrent = weights.find(input_name(node, 2));
  for (const auto& weight : {input, recurrent})
    if (weight == weights.end() || weight->second.weight.shape.size() != 3 ||
        weight->second.weight.dtype != DType::f32)
      return false;
  node.set_op_type("LSTM");
  node.clear_domain();
  while (node.input_size() > shared_inputs) node.mutable_input()->RemoveLast();
  for (const auto& [at, weight] : {std::pair(1, input), std::pair(2, recurrent)}) {
    Tensor real = with_swapped_axes(weight->second.weight);
    real.name = fmt::format("vernier.float:{}:{}", node_label(node), at);
    node.set_input(at, real.name);
    *main.add_initializer() = make_tensor_proto(real);
  }
  return true;
}

// Makes the LSTMs of a graph and its subgraphs that quantize float ones, and removes these from
// `rounded`.
void make_float_lstms(GraphProto& graph, GraphProto& main,
                      const std::map<std::string, FloatWeight>& weights,
                      std::vector<std::string>& rounded) {
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) make_float_lstms(*attribute.mutable_g(), main, weights, rounded);
    if (node.op_type() == "DynamicQuantizeLSTM" && make_float_lstm(node, main, weights))
      std::erase(rounded, node_label(node));
  }
}

bool has_quantized_lstm(const Quantization& quantization) {
  return std::ranges::find(quantization.unread, "DynamicQuantizeLSTM", &UnreadQuantization::op) !=
         quantization.unread.end();
}

// The constant with a random error added to each element; nullopt if it has several scales that
// are not one for each channel.
std::optional<Tensor> with_errors(const QuantizedWeight& constant) {
  constexpr double half_width = 1.5;  // steps; rounding to nearest has errors of up to half a step
  Tensor moved = constant.real();
  const std::vector<double> steps = to_f64(constant.quantizer.scale);
  const auto rank = std::ssize(moved.shape);
  const std::int64_t axis =
      constant.quantizer.axis < 0 ? constant.quantizer.axis + rank : constant.quantizer.axis;
  const bool is_one = steps.size() == 1;
  if (!is_one && (axis < 0 || axis >= rank || constant.quantizer.block_size > 0 ||
                  moved.shape[axis] != std::ssize(steps)))
    return std::nullopt;
  const auto inner =
      is_one ? 1
             : static_cast<std::size_t>(element_count(std::span(moved.shape).subspan(axis + 1)));
  Pcg64 random(std::array<std::uint64_t, 1>{1});
  const std::span<float> values = elements<float>(moved);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += static_cast<float>(uniform(random, -half_width, half_width) *
                                    steps[i / inner % steps.size()]);
  return moved;
}

// Whether some node reads the constant, and now reads one with random errors.
bool move_constant(Model& form, const QuantizedWeight& constant) {
  auto moved = with_errors(constant);
  if (!moved) return false;
  moved->name = "vernier.moved:" + constant.name;
  const std::string read =
      constant.real_name.empty() ? "vernier.dequantized:" + constant.name : constant.real_name;
  bool is_read = false;
  for (auto& node : *form.graph().mutable_node())
    for (std::string& input : *node.mutable_input())
      if (input == read) input = moved->name, is_read = true;
  if (is_read) *form.graph().add_initializer() = make_tensor_proto(*moved);
  return is_read;
}

// Whether the reference is in float32.
bool is_wide(const ComparedModels& models) {
  return models.reference ? precision_of(models.reference->model()) == Precision::fp32
                          : FloatParameters(*models.reference_runner).are_wide();
}

}  // namespace

FloatForm float_form(const SwitchedModel& switched, const WeightEvidence& weights,
                     const ComparedRun& run) {
  FloatForm form{.model = switched_off({switched.model.clone(), {}, {}})};
  const ModelIndex& candidate = run.extended;
  const auto corrected = restore_corrected(form.model, run.read, candidate, weights);
  const Quantization quantization = find_quantization(candidate);
  for (const Unswitched& each : showing(switched.unswitched, quantization, candidate))
    form.rounded.push_back(each.subject);
  if (has_quantized_lstm(quantization))
    make_float_lstms(form.model.graph(), form.model.graph(),
                     float_weights_of(run.read, candidate, weights), form.rounded);
  form.only_fine = std::ranges::all_of(form.rounded, [&](const std::string& name) {
    const auto weight = std::ranges::find(quantization.weights, name, &QuantizedWeight::name);
    const auto* operand = candidate.main().constant(name);  // of a QLinearAdd, for example
    return weight != quantization.weights.end() ? bits(weight->quantizer.dtype) >= 8
                                                : operand && bits(dtype_of(*operand)) >= 8;
  });
  // A reference model holds every original bias; a runner may not show it.
  if (!run.models.reference)
    form.rounded.insert(form.rounded.end(), corrected.begin(), corrected.end());
  return form;
}

std::optional<Model> rounded_more(const FloatForm& form, const ModelIndex& candidate) {
  const Quantization quantization = find_quantization(candidate);
  Model moved = form.model.clone();
  for (const std::string& name : form.rounded) {
    if (name.ends_with(corrected_suffix)) continue;  // its correction is no rounding error
    const auto constant = std::ranges::find(quantization.weights, name, &QuantizedWeight::name);
    if (constant == quantization.weights.end() || !move_constant(moved, *constant))
      return std::nullopt;
  }
  return moved;
}

std::optional<FloatForm> widened_form(const CompareResult& result, const ComparedRun& run) {
  const WeightEvidence weights = result.evidence.weights.value_or(WeightEvidence());
  if (!result.evidence.half || weights.answer != WeightEvidence::Answer::same ||
      run.extended.model().proto().functions_size() > 0 || !is_wide(run.models))
    return std::nullopt;
  WidenedModel model = widen(run.read, run.extended, weights);
  return FloatForm{std::move(model.model), std::move(model.rounded), !model.clamped};
}

}  // namespace vernier
