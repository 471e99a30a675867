#pragma once

#include <string>

#include "tests/model_builder.h"

namespace vernier {

// `norms` batch norms, each of its input's mean 0 and variance 1, which change nothing.
inline Model batch_norms(int norms) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{-1, "batch"}, {1}, {2}});
  builder.weight(tensor_of<float>("one", DType::f32, {1}, {1}));
  builder.weight(tensor_of<float>("zero", DType::f32, {1}, {0}));
  std::string tensor = "x";
  for (int i = 0; i < norms; ++i) {
    const std::string next = "t" + std::to_string(i);
    builder.node("Identity", {tensor}, {next + "i"})
        .node("BatchNormalization", {next + "i", "one", "zero", "zero", "one"}, {next});
    tensor = next;
  }
  return builder.output(tensor).model();
}

}  // namespace vernier
