#include "vernier/analysis/quantize/shipped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture.h"
#include "tests/model_builder.h"

namespace vernier {
namespace {

// Scores with a mask of -10000 reach little above zero: the largest code is zero.
TEST(Shipped, only_a_clip_ends_at_zero_from_below) {
  const CalibratedRange masked{-10007, 0, ""};
  EXPECT_EQ(bounds_of(masked, false).high, INFINITY);
  EXPECT_EQ(bounds_of(masked, true).high, 0);
  EXPECT_EQ(bounds_of({0, 6, ""}, false).low, 0);
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
  const Model kept = keep_in_float(candidate_index, shipped, false, all);
  for (const auto& node : kept.graph().node()) {
    EXPECT_NE(node.op_type(), "QuantizeLinear") << node.name();
    EXPECT_NE(node.op_type(), "DequantizeLinear") << node.name();
  }
}

}  // namespace
}  // namespace vernier
