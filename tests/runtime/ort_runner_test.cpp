#include "vernier/runtime/ort_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/error.h"

namespace vernier {
namespace {

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(VERNIER_FIXTURES) / name;
}

Tensor ramp(const TensorSpec& spec) {
  Shape shape;
  for (const Dim& dim : spec.shape) shape.push_back(dim.is_dynamic() ? 1 : dim.size);
  Tensor tensor = make_tensor(spec.name, spec.dtype, shape);
  int index = 0;
  for (float& element : elements<float>(tensor)) element = 0.01f * (++index % 97);
  return tensor;
}

class Guard : public testing::TestWithParam<std::string> {};

TEST_P(Guard, outputs_with_all_probes_equal_outputs_without) {
  OrtRunner bare(Model::load(fixture(GetParam())), {.optimization = Optimization::disabled});
  OrtRunner probed(Model::load(fixture(GetParam())), {.watch = Watch::all()});
  const std::vector<Tensor> inputs = {ramp(bare.inputs()[0])};
  std::vector<std::string> seen;
  const auto outputs =
      probed.run(inputs, [&](const TensorView& tensor) { seen.emplace_back(tensor.name); });
  EXPECT_EQ(outputs, bare.run(inputs));
  EXPECT_THAT(seen, testing::UnorderedElementsAreArray(probed.probes().watched));
}

INSTANTIATE_TEST_SUITE_P(OrtRunner, Guard,
                         testing::Values("mnist/mnist_cnn.onnx", "mnist/mnist_vit.onnx",
                                         "mnist/mnist_cnn.int8.onnx"));

}  // namespace
}  // namespace vernier
