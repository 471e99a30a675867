#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tests/model_builder.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/model/index.h"

namespace vernier {

// The same inputs, once.
class OneSample : public Samples {
 public:
  explicit OneSample(std::vector<Tensor> inputs) : inputs_(std::move(inputs)) {}
  std::int64_t size() const override { return 1; }
  std::vector<Tensor> sample(std::int64_t /*index*/) override { return inputs_; }

 private:
  std::vector<Tensor> inputs_;
};

inline Tensor floats(const std::string& name, const std::vector<float>& values) {
  return tensor_of<float>(name, DType::f32, {std::ssize(values)}, values);
}

inline Tensor scalar(const std::string& name, float value) {
  return tensor_of<float>(name, DType::f32, {}, {value});
}

inline double decibels(double signal, double noise) { return 10 * std::log10(signal / noise); }

inline DebugResult debug_on(const Model& float_model, const Model& quantized_model,
                            std::vector<Tensor> inputs) {
  OneSample samples(std::move(inputs));
  return debug(ModelIndex(float_model), ModelIndex(quantized_model), samples, {});
}

// A model that imports Microsoft's operators too.
inline Model with_contrib(const GraphBuilder& builder, std::int64_t opset = 17) {
  auto proto = builder.proto(opset);
  auto& import = *proto.add_opset_import();
  import.set_domain("com.microsoft");
  import.set_version(1);
  return {proto, {}, "built.onnx"};
}

}  // namespace vernier
