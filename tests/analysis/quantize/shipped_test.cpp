#include "vernier/analysis/quantize/shipped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/fixture.h"
#include "tests/model_builder.h"

namespace vernier {
namespace {

// Scores with a mask of -10000 reach little above zero: the largest code is zero.
TEST(Shipped, only_a_clip_ends_at_zero_from_below) {
  const CalibratedRange masked{-10007, 0, ""};
  EXPECT_EQ(bounds_of(masked, {}).high, INFINITY);
  EXPECT_EQ(bounds_of(masked, std::array{0.0}).high, 0);
  EXPECT_EQ(bounds_of({0, 6, ""}, {}).low, 0);
}

// The range of an input that begins at zero is none of a Clip elsewhere, and may be too narrow.
TEST(Shipped, a_clip_bounds_only_ranges_that_end_where_it_does) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}}).output("y");
  builder.weight(tensor_of<float>("low", DType::f32, {}, {0}))
      .weight(tensor_of<float>("high", DType::f32, {}, {6}));
  const Model model =
      builder.node("Clip", {"x", "low", "high"}, {"c"}).node("Relu", {"c"}, {"y"}).model();
  const std::vector<double> clips = upper_clips(ModelIndex(model));
  EXPECT_EQ(clips, std::vector<double>{6});
  EXPECT_EQ(bounds_of({0, 0.3, ""}, clips).high, INFINITY);
  EXPECT_EQ(bounds_of({0, 5.99, ""}, clips).high, 5.99);
}

TEST(Shipped, a_node_in_float_has_all_its_constants_in_float_and_leaves_no_quantizer) {
  const Model candidate = Model::load(fixture("mnist/mnist_vit.int8.onnx"));
  const Model reference = Model::load(fixture("mnist/mnist_vit.float.onnx"));
  const ModelIndex candidate_index(candidate), reference_index(reference);
  const ShippedQuantizers shipped = find_shipped(candidate_index, reference_index);
  EXPECT_FALSE(shipped.constants.empty());
  std::vector<std::string> all;
  for (const auto& node : candidate.graph().node()) all.push_back(node_label(node));
  for (const auto& input : candidate.inputs()) all.push_back(input.name);
  const Model kept = keep_in_float(candidate_index, shipped, {}, all);
  for (const auto& node : kept.graph().node()) {
    EXPECT_NE(node.op_type(), "QuantizeLinear") << node.name();
    EXPECT_NE(node.op_type(), "DequantizeLinear") << node.name();
  }
}

}  // namespace
}  // namespace vernier
