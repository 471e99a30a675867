#include "vernier/analysis/debug/plan.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/analysis/decoding/fed_decoder.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

bool is_clip(const std::string& op) { return op == "Relu" || op == "Clip"; }

// Sets the node's name to the float model's, since quantization tools rename nodes that they
// replace. Skips a folded Relu or Clip.
void name_float_node(PlannedTensor& planned, const ModelIndex& float_model) {
  const std::string& op = planned.activation.writer_op;
  const FoundNode* same = float_model.node(planned.activation.writer);
  if (same && same->node->op_type() == op) return;
  const FoundTensor* found = float_model.tensor(planned.counterpart.tensor);
  if (found && is_clip(found->node->op_type()) && !is_clip(op))
    found = float_model.tensor(found->graph->label(found->node->input(0)));
  if (found) planned.activation.writer = found->node->name();
}

// The tensor at which an activation is observed after its quantizer (before it, if dynamic).
const std::string& observed_tensor(const QuantizedActivation& activation) {
  if (activation.dynamic) return activation.before;
  return activation.after.empty() ? activation.stored : activation.after;
}

// The real values of the activations without a counterpart, by their index.
std::map<std::size_t, Tensor> unmatched_values(const Model& model,
                                               const std::vector<QuantizedActivation>& activations,
                                               const std::vector<Counterpart>& counterparts,
                                               const std::vector<Tensor>& sample,
                                               OrtOptions runtime) {
  std::multimap<std::string, std::size_t, std::less<>> wanted;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < activations.size(); ++i)
    if (!counterparts[i]) {
      names.push_back(observed_tensor(activations[i]));
      wanted.emplace(names.back(), i);
    }
  runtime.watch = Watch::only(names);
  std::map<std::size_t, Tensor> values;
  OrtRunner(model.clone(), runtime).run(sample, [&](const TensorView& tensor) {
    const auto [first, last] = wanted.equal_range(tensor.name);
    for (auto entry = first; entry != last; ++entry) {
      const QuantizedActivation& activation = activations[entry->second];
      values[entry->second] =
          is_float(tensor.dtype) ? copy(tensor) : dequantize(tensor, activation.quantizer);
    }
  });
  return values;
}

std::vector<Counterpart> find_counterparts(const ModelIndex& float_model,
                                           const Model& quantized_model,
                                           const std::vector<QuantizedActivation>& activations,
                                           const std::vector<Tensor>& sample,
                                           const InputBindings& bindings,
                                           const DebugOptions& options) {
  std::vector<Counterpart> counterparts;
  for (const QuantizedActivation& activation : activations)
    counterparts.push_back(find_counterpart(float_model, activation));
  if (std::ranges::all_of(counterparts, [](const Counterpart& found) { return bool(found); }))
    return counterparts;
  const auto values =
      unmatched_values(quantized_model, activations, counterparts, sample, options.runtime);
  OrtOptions watching = options.runtime;
  watching.watch = Watch::all();
  OrtRunner own(float_model.model().clone(), watching);
  const auto fed = feed_decoder(own, float_model.model(), quantized_model, options.io.roles);
  Runner& runner = fed ? *fed : own;
  return match_by_value(runner, apply_bindings(bindings, runner.inputs(), sample), values,
                        std::move(counterparts));
}

// If the output, with or without its bias, is quantized next, that activation's row covers both.
// Otherwise it gets its own row, under the first of its names that the float model has.
void add_output(const WeightedOutput& output, const ModelIndex& float_model, DebugPlan& plan) {
  for (PlannedTensor& planned : plan.tensors)
    if (std::ranges::count(output.tensors, planned.activation.before) > 0) {
      planned.activation.writer = output.node;
      planned.activation.writer_op = output.op;
      return;
    }
  PlannedTensor planned{.activation = {.name = output.tensors.back(),
                                       .after = output.tensors.back(),
                                       .writer = output.node,
                                       .writer_op = output.op}};
  for (const std::string& tensor : output.tensors) {
    planned.counterpart = find_counterpart(float_model, tensor);
    if (!planned.counterpart) continue;
    planned.activation.name = planned.activation.after = tensor;
    break;
  }
  plan.tensors.push_back(std::move(planned));
}

}  // namespace

const DebugPlan::Observed* DebugPlan::at(std::string_view tensor) const {
  const auto found = observed.find(tensor);
  return found == observed.end() ? nullptr : &found->second;
}

Quantization require_quantization(const ModelIndex& float_model,
                                  const ModelIndex& quantized_model) {
  Quantization quantization = find_quantization(quantized_model);
  const Model &real = float_model.model(), &model = quantized_model.model();
  const bool is_float = find_quantization(float_model).empty();
  if (is_float == quantization.empty() && real.serialize() == model.serialize())
    throw Error(fmt::format("[debug] {} and {} are the same model; pass the {} one as the {}",
                            real.name(), model.name(), is_float ? "quantized" : "float",
                            is_float ? "model" : "--reference"));
  if (!quantization.empty()) return quantization;
  if (!is_float)
    throw Error(fmt::format(
        "[debug] {} is the quantized one of the two; swap the model and --reference", real.name()));
  throw Error(fmt::format(
      "[debug] {}: nothing in it is quantized; pass a quantized model, and this one as --reference",
      model.name()));
}

DebugPlan make_plan(const ModelIndex& float_model, const ModelIndex& quantized_model,
                    const Quantization& quantization, const std::vector<Tensor>& sample,
                    const DebugOptions& options) {
  DebugPlan plan{
      .unread = quantization.unread,
      .bindings = bind_inputs(
          quantized_model.model().inputs(),
          fed_inputs(float_model.model(), quantized_model.model(), options.io.roles), options.io),
      .mapped_outputs = options.io.outputs};
  const std::vector<Counterpart> found =
      find_counterparts(float_model, quantized_model.model(), quantization.activations, sample,
                        plan.bindings, options);
  for (std::size_t i = 0; i < found.size(); ++i)
    plan.tensors.push_back({.activation = quantization.activations[i], .counterpart = found[i]});
  for (const WeightedOutput& output : quantization.outputs) add_output(output, float_model, plan);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    PlannedTensor& planned = plan.tensors[i];
    const QuantizedActivation& activation = planned.activation;
    name_float_node(planned, float_model);
    if (!is_weighted_output(planned)) {
      FoldedCounterpart clipped =
          fold_clip(float_model, quantized_model, activation, std::move(planned.counterpart));
      planned.counterpart = std::move(clipped.counterpart);
      planned.folded = clipped.folded;
    }
    DebugPlan::Observed& observed = plan.observed[observed_tensor(activation)];
    (activation.dynamic ? observed.dynamic : observed.after).push_back(i);
    if (activation.before.empty() || activation.dynamic) continue;
    planned.range = representable_range(activation.quantizer);
    plan.observed[activation.before].before.push_back(i);
  }
  return plan;
}

RequestCounts requests_of(const DebugPlan& plan) {
  RequestCounts requests;
  for (const PlannedTensor& planned : plan.tensors)
    if (planned.counterpart) ++requests[planned.counterpart.tensor];
  return requests;
}

bool is_weighted_output(const PlannedTensor& planned) {
  return planned.activation.stored.empty() && !planned.activation.dynamic;
}

}  // namespace vernier
