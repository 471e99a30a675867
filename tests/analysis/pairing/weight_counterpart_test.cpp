#include "vernier/analysis/pairing/weight_counterpart.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model_builder.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

const Tensor real_weight = tensor_of<float>("q", DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});

Model product_with(const Tensor& weight) {
  GraphBuilder builder;
  builder.input("x", weight.dtype, {{1}, {weight.shape[0]}})
      .weight(weight)
      .node("MatMul", {"x", weight.name}, {"y"})
      .output("y");
  return builder.model();
}

// The result holds a copy of the weight, which moves with it.
TEST(WeightCounterpart, one_that_was_converted_or_transposed_keeps_its_name_and_values) {
  Tensor half = convert(real_weight, DType::f16);
  half.name = "fc.weight";
  const Tensor transposed = tensor_of<float>("fc.weight", DType::f32, {3, 2}, {1, 4, 2, 5, 3, 6});
  for (const Tensor& stored : {half, transposed}) {
    const Model model = product_with(stored);
    const ModelIndex index(model);
    const auto found = shaped_like(index, *index.weight("fc.weight"), real_weight);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->view.name, "fc.weight");
    EXPECT_TRUE(std::ranges::equal(elements<float>(found->view), elements<float>(real_weight)));
  }
}

}  // namespace
}  // namespace vernier
