#pragma once

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "vernier/data/random.h"
#include "vernier/model/graph.h"
#include "vernier/model/model.h"
#include "vernier/model/tensor_data.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier::bench {

// A quantized model of realistic size: a Q-DQ pair on what every Conv, MatMul and Gemm reads, uint8
// with the ranges that one random sample has, weights as floats behind an int8 pair.
class Quantizer {
 public:
  explicit Quantizer(const Model& model) : model_(model.clone()) { observe_ranges(); }

  Model run() {
    auto& graph = model_.graph();
    const google::protobuf::RepeatedPtrField<vernier_onnx::NodeProto> nodes = graph.node();
    graph.clear_node();
    for (vernier_onnx::NodeProto node : nodes) {
      if (is_op(node, "Conv") || is_op(node, "MatMul") || is_op(node, "Gemm"))
        for (int i = 0; i < 2; ++i) node.set_input(i, quantized(node.input(i)));
      *graph.add_node() = node;
    }
    return std::move(model_);
  }

 private:
  void observe_ranges() {
    const auto note = [&](const TensorView& tensor) {
      if (tensor.dtype != DType::f32 || tensor.size() == 0) return;
      const auto [low, high] = std::ranges::minmax(elements<float>(tensor));
      ranges_[std::string(tensor.name)] = {low, high};
    };
    for (const auto& tensor : model_.graph().initializer()) {
      note(model_.tensor(tensor));
      weights_.insert(tensor.name());
    }
    const auto samples = random_samples(model_.inputs(), {.samples = 1});
    for (const Tensor& input : samples->sample(0)) note(input);
    OrtRunner(model_.clone(), {.watch = Watch::all()}).run(samples->sample(0), note);
  }

  // The tensor behind its pair, which is made when it is first asked for.
  std::string quantized(const std::string& tensor) {
    const auto range = ranges_.find(tensor);
    if (range == ranges_.end()) return tensor;
    const std::string after = tensor + "_DequantizeLinear_Output";
    if (!made_.insert(tensor).second) return after;
    const auto [low, high] = range->second;
    const bool is_weight = weights_.contains(tensor);
    const float width =
        is_weight ? 2 * std::max(-low, high) : std::max(high, 0.F) - std::min(low, 0.F);
    const float scale = width > 0 ? width / 255 : 1;
    Tensor zero = make_tensor(tensor + "_zero", is_weight ? DType::i8 : DType::u8, {});
    if (!is_weight)
      zero.bytes[0] = static_cast<std::byte>(std::lround(-std::min(low, 0.F) / scale));
    Tensor step = make_tensor(tensor + "_scale", DType::f32, {});
    elements<float>(step)[0] = scale;
    for (const Tensor& constant : {step, zero})
      *model_.graph().add_initializer() = make_tensor_proto(constant);
    add_node("QuantizeLinear", tensor, tensor, tensor + "_QuantizeLinear_Output");
    add_node("DequantizeLinear", tensor + "_QuantizeLinear_Output", tensor, after);
    return after;
  }

  void add_node(const std::string& op, const std::string& input, const std::string& tensor,
                const std::string& output) {
    auto& node = *model_.graph().add_node();
    node.set_op_type(op);
    node.set_name(tensor + "_" + op);
    for (const std::string& name : {input, tensor + "_scale", tensor + "_zero"})
      node.add_input(name);
    node.add_output(output);
  }

  Model model_;
  std::map<std::string, std::pair<float, float>> ranges_;
  std::set<std::string> weights_, made_;
};

}  // namespace vernier::bench
