#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixture.h"
#include "vernier/runtime/torch_runner.h"
#include "vernier/version.h"

namespace vernier {

// Skips where there is no libtorch.
class TorchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  }
};

inline std::unique_ptr<Runner> watch(const std::string& name) {
  return open_torch_runner({.path = fixture(name), .watch_leaves = true});
}

// What the observer saw in one run.
inline std::vector<Tensor> observe(Runner& runner, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> seen;
  runner.run(inputs, [&](const TensorView& view) { seen.push_back(copy(view)); });
  return seen;
}

inline std::vector<std::string> names(const std::vector<Tensor>& tensors) {
  std::vector<std::string> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.name);
  return result;
}

template <typename T>
Tensor filled(const std::string& name, DType dtype, Shape shape, const std::vector<T>& values) {
  Tensor tensor = make_tensor(name, dtype, std::move(shape));
  std::ranges::copy(values, elements<T>(tensor).begin());
  return tensor;
}

inline Tensor torch_input(Shape shape, const std::vector<float>& values) {
  return filled("x", DType::f32, std::move(shape), values);
}

template <typename T>
std::vector<T> values(const TensorView& tensor) {
  const auto span = elements<T>(tensor);
  return {span.begin(), span.end()};
}

}  // namespace vernier
