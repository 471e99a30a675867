#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/analysis/check/batches.h"
#include "vernier/analysis/check/groups.h"
#include "vernier/analysis/check/operators.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"

namespace vernier {
namespace {

// Opens the model with this axis of its inputs dynamic, and without other tensors' declared shapes.
std::unique_ptr<Runner> open_axis(const Model& model, const DynamicAxis& axis,
                                  const CheckOptions& options) {
  OrtOptions runtime = options.runtime;
  runtime.optimization = Optimization::disabled;
  Model opened = model.clone();
  GraphProto& graph = opened.graph();
  const std::vector<TensorSpec> inputs = model.inputs();
  for (const DynamicAxis::Place& place : axis.places)
    for (auto& input : *graph.mutable_input())
      if (input.name() == inputs[place.input].name)
        input.mutable_type()
            ->mutable_tensor_type()
            ->mutable_shape()
            ->mutable_dim(static_cast<int>(place.axis))
            ->set_dim_param(axis.name);
  graph.clear_value_info();
  for (auto& output : *graph.mutable_output())
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
  try {
    return open_trial(std::move(opened), runtime, options);
  } catch (const Error&) {
    return nullptr;
  }
}

// Whether the first half of a doubled batch gives the same outputs as alone.
bool doubles(const std::vector<Tensor>& alone, const std::vector<Tensor>& together) {
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const Tensor& output = together[i];
    if (output.shape.empty() || output.shape.size() != alone[i].shape.size() ||
        output.shape[0] != 2 * alone[i].shape[0])
      return false;
    const Tensor half = slice_axis(output, 0, 0, 2);
    if (half.shape != alone[i].shape || similarity(alone[i], half).sqnr_db < same_rows_db)
      return false;
  }
  return !alone.empty();
}

// Kernels of ONNX Runtime's own operators rely on declared sizes.
bool has_runtime_operators(const ModelIndex& index) {
  return std::ranges::any_of(index.graphs(), [](const GraphIndex& graph) {
    return std::ranges::any_of(graph.graph().node(), [](const NodeProto& node) {
      return is_runtime_domain(node.domain()) && !node.op_type().ends_with("quantizeLinear") &&
             !node.op_type().ends_with("QuantizeLinear");
    });
  });
}

// Axis 0 of every input of rank 2 or more, if all have the same fixed size.
std::optional<DynamicAxis> fixed_batch(const std::vector<TensorSpec>& inputs) {
  DynamicAxis axis{.name = "batch", .is_batch = true};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape.size() < 2) continue;
    if (inputs[i].shape[0].is_dynamic()) return std::nullopt;
    axis.places.push_back({i, 0});
    if (inputs[i].shape[0] != inputs[axis.places[0].input].shape[0]) return std::nullopt;
  }
  return axis.places.empty() ? std::nullopt : std::optional(axis);
}

Findings try_fixed_batch(const ModelIndex& index, const Runs& runs, const CheckOptions& options) {
  const std::vector<TensorSpec> inputs = index.model().inputs();
  const std::optional<DynamicAxis> axis = fixed_batch(inputs);
  if (!axis) return {};
  const auto runner = open_axis(index.model(), *axis, options);
  if (!runner) return {};
  const std::vector<Sample> samples = like_first(runs.samples, 2);
  const Trial alone = try_run(*runner, samples[0]);
  const Trial together = try_run(*runner, join_samples(samples, *axis));
  if (!alone.outputs || !together.outputs || !doubles(*alone.outputs, *together.outputs)) return {};
  const TensorSpec& input = inputs[axis->places[0].input];
  const std::int64_t size = input.shape[0].size;
  return {make_finding("fixed-batch", {SubjectKind::tensor, input.name},
                       {StatementKind::fixed_batch, {size, 2 * size}})};
}

// Axis 1 of ids [batch, length] and of features [batch, length, size], if all have the same size.
std::optional<DynamicAxis> fixed_sequence(const std::vector<TensorSpec>& inputs) {
  DynamicAxis axis{.name = "sequence"};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& shape = inputs[i].shape;
    const bool is_sequence = (is_integer(inputs[i].dtype) && shape.size() == 2) ||
                             (is_float(inputs[i].dtype) && shape.size() == 3);
    if (!is_sequence || shape[1].size < 4) continue;
    axis.places.push_back({i, 1});
    if (shape[1] != inputs[axis.places[0].input].shape[1]) return std::nullopt;
  }
  return axis.places.empty() ? std::nullopt : std::optional(axis);
}

Findings try_fixed_sequence(const ModelIndex& index, const Runs& runs,
                            const CheckOptions& options) {
  const std::vector<TensorSpec> inputs = index.model().inputs();
  const std::optional<DynamicAxis> axis = fixed_sequence(inputs);
  const auto runner = axis ? open_axis(index.model(), *axis, options) : nullptr;
  if (!runner) return {};
  std::map<std::string, Shape> shapes;
  for (const Tensor& tensor : runs.samples.front()) shapes[tensor.name] = tensor.shape;
  const TensorSpec& input = inputs[axis->places[0].input];
  const std::int64_t length = input.shape[1].size;
  for (const DynamicAxis::Place& place : axis->places)
    shapes[inputs[place.input].name][1] = length / 2;
  const Trial trial = try_run(*runner, draw_inputs(runs, runner->inputs(), shapes, 0));
  if (!trial.outputs) return {};
  return {make_finding("fixed-sequence", {SubjectKind::tensor, input.name},
                       {StatementKind::fixed_sequence, {length, length / 2}})};
}

}  // namespace

Findings check_fixed_axes(const ModelIndex& index, const Runs& runs, const CheckOptions& options) {
  if (has_runtime_operators(index)) return {};
  Findings findings = try_fixed_batch(index, runs, options);
  append(findings, try_fixed_sequence(index, runs, options));
  return findings;
}

}  // namespace vernier
