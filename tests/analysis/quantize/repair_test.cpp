#include "vernier/analysis/quantize/repair.h"
#include "tests/fixture.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/onnx_edits.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

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

// The stored weights that are no biases: their types, and their real numbers by node.
struct StoredWeights {
  std::set<DType> types;
  std::map<std::string, std::vector<double>> real;
};

StoredWeights stored_weights(const Model& model) {
  StoredWeights stored;
  for (const QuantizedWeight& weight : find_quantization(ModelIndex(model)).weights) {
    if (weight.quantizer.dtype == DType::i32) continue;
    stored.types.insert(weight.quantizer.dtype);
    stored.real[weight.reader] = to_f64(weight.real());
  }
  return stored;
}

// Kernels for uint8 x uint8 do not saturate on any CPU; what is left between the file and its
// optimised graph is rounding.
TEST(Repair, the_repaired_model_is_as_good_deployed_as_the_file_says) {
  const Model narrow = with_narrow_ranges();
  const Model reference = Model::load(mnist + "mnist_cnn.onnx");
  const Inputs inputs = make_inputs(narrow, {.samples = 32, .data = mnist + "mnist_inputs.npz"});
  const RepairResult result =
      repair(ModelIndex(narrow), ModelIndex(reference), *inputs.samples, {.effort = Effort::fast});
  ASSERT_TRUE(result.model);
  EXPECT_EQ(result.unsigned_weights, 10);
  EXPECT_EQ(stored_weights(*result.model).types, std::set{DType::u8});
  EXPECT_EQ(stored_weights(*result.model).real, stored_weights(narrow).real);
  EXPECT_NEAR(result.held_back.repaired_deployed_db, result.held_back.repaired_db, 1);
}

TEST(Repair, weights_stay_int8_for_cpus_with_vnni) {
  const Model narrow = with_narrow_ranges();
  const Model reference = Model::load(mnist + "mnist_cnn.onnx");
  const Inputs inputs = make_inputs(narrow, {.samples = 32, .data = mnist + "mnist_inputs.npz"});
  const RepairResult result = repair(ModelIndex(narrow), ModelIndex(reference), *inputs.samples,
                                     {.effort = Effort::fast, .target = TargetCpu::vnni});
  ASSERT_TRUE(result.model);
  EXPECT_EQ(result.unsigned_weights, 0);
  EXPECT_EQ(stored_weights(*result.model).types, std::set{DType::i8});
}

TEST(Repair, ranges_are_measured_where_nothing_is_cut_off) {
  const Model narrow = with_narrow_ranges();
  const Model reference = Model::load(mnist + "mnist_cnn.onnx");
  const Inputs inputs = make_inputs(narrow, {.samples = 32, .data = mnist + "mnist_inputs.npz"});
  const RepairResult result =
      repair(ModelIndex(narrow), ModelIndex(reference), *inputs.samples, {.effort = Effort::fast});
  EXPECT_LT(result.held_back.shipped_db, 10);
  EXPECT_GT(result.held_back.repaired_db, 20);  // 27 as it was shipped
  EXPECT_TRUE(result.model);
  EXPECT_TRUE(result.verdict.pass());
  EXPECT_EQ(format_limits(result.verdict.limits), std::vector<std::string>{"gain_db<=0"});
}

TEST(Repair, what_is_interrupted_is_not_judged) {
  const Model narrow = with_narrow_ranges();
  const Model reference = Model::load(mnist + "mnist_cnn.onnx");
  const Inputs inputs = make_inputs(narrow, {.samples = 32, .data = mnist + "mnist_inputs.npz"});
  const RepairResult result =
      repair(ModelIndex(narrow), ModelIndex(reference), *inputs.samples,
             {.effort = Effort::fast, .progress = [](auto, auto) { return false; }});
  EXPECT_TRUE(result.interrupted);
  ASSERT_EQ(result.verdict.doubts.size(), 1U);
  EXPECT_EQ(result.verdict.doubts[0].kind, DoubtKind::interrupted);
  EXPECT_FALSE(result.verdict.pass());
}

}  // namespace
}  // namespace vernier
