#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include "tests/model_builder.h"
#include "vernier/error.h"
#include "vernier/model/index.h"
#include "vernier/model/insert_switches.h"
#include "vernier/model/quantization.h"

namespace vernier {
namespace {

// y = x W, with W stored in 8 bits as [width, width]; the elements are elsewhere.
Model product(std::int64_t width) {
  Tensor scale = make_tensor("s", DType::f32, {});
  elements<float>(scale)[0] = 0.1F;
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {width}})
      .weight(make_tensor("w", DType::i8, {2, 2}))
      .weight(scale)
      .node("DequantizeLinear", {"w", "s"}, {"real"})
      .node("MatMul", {"x", "real"}, {"y"})
      .output("y");
  Model model = graph.model();
  for (auto& weight : *model.graph().mutable_initializer()) {
    if (weight.name() != "w") continue;
    weight.clear_raw_data();
    weight.set_data_location(vernier_onnx::TensorProto::EXTERNAL);
    for (std::int64_t& dim : *weight.mutable_dims()) dim = width;
  }
  return model;
}

TEST(RoomForFloats, is_what_onnx_runtime_takes_from_memory) {
  for (const std::int64_t width : {16384, 32768}) {
    const Model model = product(width);
    const ModelIndex index(model);
    const Quantization quantization = find_quantization(index);
    ASSERT_EQ(quantization.weights.size(), 1U);
    const auto require = [&] { require_room_for_floats(index, quantization); };
    if (width == 16384)
      EXPECT_NO_THROW(require());  // 1.07 GB
    else
      EXPECT_THAT(require, testing::ThrowsMessage<Error>(testing::HasSubstr("take 4.3 GB")));
  }
}

// As quantizers leave them behind an If.
TEST(SwitchedOff, keeps_nodes_that_stand_behind_their_readers) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{2}})
      .node("Relu", {"a"}, {"y"})
      .node("Abs", {"x"}, {"unread"})
      .node("Neg", {"x"}, {"a"})
      .output("y");
  const Model model = switched_off({graph.model(), {}, {}});
  ASSERT_EQ(model.graph().node_size(), 2);
  EXPECT_EQ(model.graph().node(0).op_type(), "Relu");
  EXPECT_EQ(model.graph().node(1).op_type(), "Neg");
}

}  // namespace
}  // namespace vernier
