#include "tests/fixture.h"
#include "vernier/analysis/quantize/repair.h"

#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include "tests/model_builder.h"
#include "vernier/analysis/quantize/shipped.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

// What real operators round on the way differs from integer kernels by a step of the output now and
// then.
TEST(QdqForm, a_qoperator_model_computes_the_same_with_pairs) {
  const Model model = Model::load(mnist + "mnist_cnn.int8_qoperator.onnx");
  const auto pairs = in_qdq_form(ModelIndex(model));
  ASSERT_TRUE(pairs);
  for (const auto& node : pairs->graph().node())
    EXPECT_FALSE(node.op_type().starts_with("QLinear") || node.op_type() == "QGemm") << node.name();
  OrtRunner integers(model.clone(), {.exact = true}), real(pairs->clone(), {.exact = true});
  std::vector<Tensor> inputs;
  inputs.push_back(make_tensor("input", DType::f32, {1, 1, 28, 28}));
  const auto values = elements<float>(inputs[0]);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) / 16;
  const std::vector<Tensor> expected = integers.run(inputs, {}), found = real.run(inputs, {});
  float step = 0;
  for (const auto& each : model.graph().initializer())
    if (each.name() == "logits_scale") step = elements<float>(model.tensor(each).view())[0];
  ASSERT_GT(step, 0);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_NEAR(elements<float>(expected[0].view())[i], elements<float>(found[0].view())[i],
                2.01F * step);
}

TEST(QdqForm, tensors_are_called_as_the_reference_calls_them) {
  const Model model = Model::load(mnist + "mnist_cnn.int8_qoperator.onnx");
  const auto pairs = in_qdq_form(ModelIndex(model));
  ASSERT_TRUE(pairs);
  const ModelIndex index(*pairs);
  const auto* conv = index.main().producer("/stem/Conv_output_0");
  ASSERT_TRUE(conv);
  EXPECT_EQ(conv->op_type(), "Conv");
  EXPECT_EQ(conv->name(), "/stem/Conv");
}

TEST(QdqForm, a_model_without_such_nodes_has_none) {
  EXPECT_FALSE(in_qdq_form(ModelIndex(Model::load(mnist + "mnist_cnn.int8.onnx"))));
  EXPECT_FALSE(in_qdq_form(ModelIndex(Model::load(mnist + "mnist_cnn.onnx"))));
}

// x, stored, enlarged and joined as stored numbers, and real again; without quantizers likewise.
Model enlarged(bool quantized) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {1}, {2}, {2}})
      .output("y", DType::f32, {{1}, {2}, {4}, {4}})
      .weight(tensor_of<float>("scale", DType::f32, {}, {0.25F}))
      .weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {100}))
      .weight(tensor_of<float>("sizes", DType::f32, {4}, {1, 1, 2, 2}));
  if (quantized) builder.node("QuantizeLinear", {"x", "scale", "zero"}, {"x_quantized"});
  const std::string x = quantized ? "x_quantized" : "x";
  builder.node("Resize", {x, "", "sizes"}, {"r"})
      .node("Concat", {"r", "r"}, {quantized ? "c" : "y"}, {int_attribute("axis", 1)});
  if (quantized) builder.node("DequantizeLinear", {"c", "scale", "zero"}, {"y"});
  return builder.model();
}

TEST(QdqForm, stored_numbers_that_are_only_moved_become_real_between_pairs) {
  const Model model = enlarged(true);
  const auto pairs = in_qdq_form(ModelIndex(model));
  ASSERT_TRUE(pairs);
  const std::vector<Tensor> inputs = {
      tensor_of<float>("x", DType::f32, {1, 1, 2, 2}, {0.1F, -3.3F, 7, 21})};
  OrtRunner integers(model.clone(), {.exact = true}), real(pairs->clone(), {.exact = true});
  EXPECT_EQ(integers.run(inputs)[0].bytes, real.run(inputs)[0].bytes);
}

TEST(QdqForm, pairs_around_what_moves_values_go_with_the_node_that_they_belong_to) {
  const auto pairs = in_qdq_form(ModelIndex(enlarged(true)));
  ASSERT_TRUE(pairs);
  const Model real = enlarged(false);
  const ModelIndex index(*pairs);
  const Model kept = keep_in_float(index, find_shipped(index, ModelIndex(real)), {"x", "node_3"});
  for (const auto& node : kept.graph().node())
    EXPECT_FALSE(node.op_type().ends_with("QuantizeLinear")) << node.name();
  const std::vector<Tensor> inputs = {
      tensor_of<float>("x", DType::f32, {1, 1, 2, 2}, {0.1F, -3.3F, 7, 21})};
  OrtRunner expected(real.clone(), {}), found(kept.clone(), {});
  EXPECT_EQ(expected.run(inputs)[0].bytes, found.run(inputs)[0].bytes);
}

}  // namespace
}  // namespace vernier
