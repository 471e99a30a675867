#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/onnx_edits.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

// A float32 model with its activations on uint8 and its weights of two or more axes on int8, as
// quantizers write it: a QuantizeLinear and a DequantizeLinear behind each tensor, calibrated on
// these samples. Scales are called "<tensor>_scale".
inline Model quantized_copy(const Model& model, const std::vector<std::vector<Tensor>>& samples) {
  std::map<std::string, std::pair<float, float>> ranges;
  OrtRunner runner(model.clone(), {.watch = Watch::all(), .optimization = Optimization::disabled});
  const auto observe = [&](const TensorView& tensor) {
    if (tensor.dtype != DType::f32) return;
    auto& [low, high] = ranges[std::string(tensor.name)];
    for (const float value : elements<float>(tensor)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  };
  for (const std::vector<Tensor>& sample : samples) {
    for (const Tensor& input : sample) observe(input);
    runner.run(sample, [&](const TensorView& tensor) { observe(tensor); });
  }

  Model quantized = model.clone();
  vernier_onnx::GraphProto& graph = quantized.graph();
  GraphBuilder added;
  std::set<std::string> outputs, real;
  for (const auto& output : graph.output()) outputs.insert(output.name());

  const auto add_pair = [&](const std::string& from, const std::string& to) {
    const auto [low, high] = ranges.at(to.substr(0, to.rfind("_real")));
    const float scale = (high - low) / 255;
    const auto zero = static_cast<std::uint8_t>(std::lround(-low / scale));
    const std::string name = to.substr(0, to.rfind("_real"));
    added.weight(tensor_of<float>(name + "_scale", DType::f32, {}, {scale}))
        .weight(tensor_of<std::uint8_t>(name + "_zero", DType::u8, {}, {zero}))
        .node("QuantizeLinear", {from, name + "_scale", name + "_zero"}, {name + "_stored"})
        .node("DequantizeLinear", {name + "_stored", name + "_scale", name + "_zero"}, {to});
  };
  for (auto& weight : *graph.mutable_initializer()) {
    if (weight.data_type() != vernier_onnx::TensorProto::FLOAT || weight.dims_size() < 2) continue;
    const Tensor values = quantized.tensor(weight);
    float largest = 0;
    for (const float value : elements<float>(values.view()))
      largest = std::max(largest, std::abs(value));
    Tensor stored = make_tensor(values.name + "_quantized", DType::i8, values.shape);
    std::ranges::transform(
        elements<float>(values.view()), elements<std::int8_t>(stored).begin(),
        [&](float value) { return static_cast<std::int8_t>(std::lround(value / largest * 127)); });
    added.weight(tensor_of<float>(values.name + "_scale", DType::f32, {}, {largest / 127}))
        .weight(tensor_of<std::int8_t>(values.name + "_zero", DType::i8, {}, {0}))
        .node("DequantizeLinear", {stored.name, values.name + "_scale", values.name + "_zero"},
              {values.name + "_real"});
    real.insert(values.name);
    weight = make_tensor_proto(stored);
  }
  for (const TensorSpec& input : model.inputs())
    if (ranges.contains(input.name)) {
      add_pair(input.name, input.name + "_real");
      real.insert(input.name);
    }
  for (vernier_onnx::NodeProto node : graph.node()) {
    node.set_name("original_" + node.name());  // added nodes are numbered, too
    for (std::string& input : *node.mutable_input())
      if (real.contains(input)) input += "_real";
    const std::string output = node.output(0);
    const bool is_float = ranges.contains(output);
    const bool is_output = outputs.contains(output);
    if (is_float && is_output) node.set_output(0, output + "_before");
    *added.graph().add_node() = node;
    if (!is_float) continue;
    add_pair(is_output ? output + "_before" : output, is_output ? output : output + "_real");
    if (!is_output) real.insert(output);
  }
  graph.mutable_node()->Swap(added.graph().mutable_node());
  graph.mutable_initializer()->MergeFrom(added.graph().initializer());
  return quantized;
}

}  // namespace vernier
