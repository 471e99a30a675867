#include "vernier/analysis/quantize/repair.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/onnx_edits.h"
#include "vernier/analysis/inputs.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

const std::string mnist = VERNIER_FIXTURES "/mnist/";

// Scales of activations a tenth of what they should be: every quantizer cuts off.
Model with_narrow_ranges() {
  Model model = Model::load(mnist + "mnist_cnn.int8.onnx");
  std::set<std::string> scales;
  for (const auto& node : model.graph().node())
    if (node.op_type() == "QuantizeLinear") scales.insert(node.input(1));
  for (const std::string& scale : scales)
    edit_weight(model, scale, [](std::span<float> values) {
      for (float& value : values) value /= 10;
    });
  return model;
}

TEST(Repair, ranges_are_measured_where_nothing_is_cut_off) {
  const Model narrow = with_narrow_ranges();
  const Model reference = Model::load(mnist + "mnist_cnn.onnx");
  const Inputs inputs = make_inputs(narrow, {.samples = 32, .data = mnist + "mnist_inputs.npz"});
  const RepairResult result = repair(narrow, reference, *inputs.samples, {.effort = Effort::fast});
  EXPECT_LT(result.shipped_db, 10);
  EXPECT_GT(result.repaired_db, 20);  // 27 as it was shipped
  EXPECT_TRUE(result.model);
}

}  // namespace
}  // namespace vernier
