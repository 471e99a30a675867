#include "vernier/analysis/layers/side_by_side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/arrays.h"
#include "tests/temporary_directory.h"
#include "vernier/runtime/recorded_runner.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

class SideBySideTest : public ::testing::Test {
 protected:
  RecordedRunner recorded(const std::string& name, const std::vector<Tensor>& tensors) {
    return RecordedRunner(write_npz(folder / name, tensors));
  }
  TemporaryDirectory folder;
};

TEST_F(SideBySideTest, pairs_are_shown_tensor_by_tensor_and_all_layers_are_noted) {
  auto reference = recorded("r.npz", {ramp("a", {2, 3}), ramp("b", {2, 3}), ramp("c", {2, 4})});
  auto candidate = recorded("c.npz", {ramp("x", {2, 3}), ramp("y", {2, 3})});
  const std::vector<Layer> layers = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  const std::vector<CandidateTensor> tensors = {{.name = "x"}, {.name = "y"}};
  const std::vector<LayerPair> pairs = {{0, 0}, {1, 0}, {1, 1}};
  SideBySide side_by_side(reference, candidate, tensors);
  std::vector<std::string> shown;
  const auto seen = side_by_side.run(
      1, {}, layers,
      {.pairs = pairs,
       .visit = [&](const LayerPair&, const Tensor& layer, const TensorView& tensor) {
         shown.push_back(layer.name + std::string(tensor.name));
         EXPECT_EQ(elements<float>(layer.view())[0], 3);  // sample 1
       }});
  EXPECT_THAT(shown, ElementsAre("ax", "bx", "by"));
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[2].name, "c");
  EXPECT_EQ(seen[2].shape, (Shape{4}));
}

TEST_F(SideBySideTest, a_layer_that_does_not_run_is_in_no_pair) {
  auto reference = recorded("r.npz", {ramp("a", {1, 3})});
  auto candidate = recorded("c.npz", {ramp("x", {1, 3})});
  const std::vector<Layer> layers = {{.name = "a"}, {.name = "idle"}};
  const std::vector<CandidateTensor> tensors = {{.name = "x"}};
  const std::vector<LayerPair> pairs = {{1, 0}};
  int visits = 0;
  SideBySide(reference, candidate, tensors)
      .run(0, {}, layers,
           {.pairs = pairs,
            .visit = [&](const LayerPair&, const Tensor&, const TensorView&) { ++visits; }});
  EXPECT_EQ(visits, 0);
}

LayerRow with_sample(LayerRow row, const LayerSample& sample) {
  const LayerFigures figures = measure_layer(row, sample);
  return with_figures(std::move(row), figures, sample.tolerance);
}

LayerRow compared(const Tensor& reference, const Tensor& candidate, LayerRow row = {},
                  const Tensor* truth = nullptr) {
  const TensorView expected = reference, found = candidate;
  return with_sample(std::move(row), {.reference = expected, .candidate = found, .truth = truth});
}

Tensor shifted(Tensor tensor, float by) {
  for (float& element : elements<float>(tensor)) element += by;
  return tensor;
}

const LayerRow by_name{.match = Match::name};

TEST(LayerRow, the_worst_sample_counts) {
  LayerRow row = compared(ramp("a", {4}), shifted(ramp("a", {4}), 0.5F), by_name);
  row = compared(ramp("a", {4}), shifted(ramp("a", {4}), 0.25F), row);
  EXPECT_EQ(row.max_abs_diff, 0.5);
  EXPECT_EQ(row.mean_abs_diff, 0.5);
  row = compared(ramp("a", {4}), shifted(ramp("a", {4}), 2), row);
  EXPECT_EQ(row.max_abs_diff, 2);
}

TEST(LayerRow, nan_of_one_sample_stays) {
  Tensor broken = ramp("a", {4});
  elements<float>(broken)[0] = NAN;
  LayerRow row = compared(ramp("a", {4}), broken, by_name);
  row = compared(ramp("a", {4}), ramp("a", {4}), row);
  EXPECT_TRUE(std::isnan(row.max_abs_diff));
  row.allowed = 1e9;
  EXPECT_TRUE(is_exceeding(row));
  EXPECT_EQ(row.candidate_nan, 1);
}

TEST(LayerRow, an_infinity_that_both_have_is_a_mask_and_one_that_one_has_exceeds) {
  Tensor masked = ramp("a", {4});
  elements<float>(masked)[3] = -INFINITY;
  EXPECT_EQ(compared(masked, masked, by_name).max_abs_diff, 0);
  EXPECT_FALSE(is_exceeding(compared(masked, masked, by_name)));
  EXPECT_TRUE(is_exceeding(compared(masked, ramp("a", {4}), by_name)));
  Tensor other = masked;
  elements<float>(other)[3] = INFINITY;
  EXPECT_TRUE(is_exceeding(compared(masked, other, by_name)));
}

TEST(LayerRow, masked_scores_are_equal_whichever_low_number_masks_them) {
  constexpr float lowest = std::numeric_limits<float>::lowest();
  const auto masked_by = [](float value) {
    Tensor masked = ramp("a", {4});
    elements<float>(masked)[3] = value;
    return masked;
  };
  for (const float reference : {-INFINITY, lowest, -1e9F}) {
    const LayerRow row = compared(masked_by(reference), masked_by(-INFINITY), by_name);
    EXPECT_EQ(row.max_abs_diff, 0) << reference;
    EXPECT_EQ(row.candidate_inf, 0) << reference;
  }
  EXPECT_TRUE(is_exceeding(compared(masked_by(-1e4F), masked_by(-INFINITY), by_name)));
  EXPECT_TRUE(is_exceeding(compared(masked_by(lowest), ramp("a", {4}), by_name)));
  // A mask must not excuse the other scores.
  EXPECT_TRUE(is_exceeding(compared(masked_by(lowest), shifted(masked_by(lowest), 1), by_name)));
}

TEST(LayerRow, exceeding_is_strictly_greater) {
  LayerRow row = compared(ramp("a", {4}), shifted(ramp("a", {4}), 0.5F), by_name);
  row.allowed = 0.5;
  EXPECT_FALSE(is_exceeding(row));
  row.allowed = 0.49;
  EXPECT_TRUE(is_exceeding(row));
}

TEST(LayerRow, what_rounding_explains_is_allowed_unless_a_tolerance_is_given) {
  const Tensor large = ramp("a", {4}, 1000);  // 1000 to 1003
  const Tensor rounded = shifted(ramp("a", {4}, 1000), 0.002F);
  EXPECT_FALSE(is_exceeding(with_sample(by_name, {.reference = large, .candidate = rounded})));
  EXPECT_TRUE(is_exceeding(
      with_sample(by_name, {.reference = large, .candidate = rounded, .tolerance = 1e-4})));
  EXPECT_TRUE(is_exceeding(with_sample(
      by_name, {.reference = large, .candidate = shifted(ramp("a", {4}, 1000), 0.1F)})));
}

// onnxsim lets a product of matrices take all rows at once.
TEST(LayerRow, neighbouring_axes_that_were_made_one_are_no_other_shape_inside) {
  const Tensor fine = ramp("a", {2, 5, 3}), coarse = ramp("a", {10, 3}), other = ramp("a", {2, 15});
  for (const Match match : {Match::scope, Match::metadata}) {
    EXPECT_FALSE(is_exceeding(compared(fine, coarse, {.match = match})));
    EXPECT_FALSE(is_exceeding(compared(coarse, fine, {.match = match})));
  }
  EXPECT_TRUE(is_exceeding(compared(other, coarse, {.match = Match::scope})));
  EXPECT_TRUE(is_exceeding(compared(fine, coarse, by_name)));
}

TEST(LayerRow, axes_of_size_one_are_no_other_shape) {
  const Tensor batch = ramp("a", {1, 2, 3}), image = ramp("a", {2, 3});
  EXPECT_FALSE(
      is_exceeding(with_sample({.match = Match::name}, {.reference = batch, .candidate = image})));
}

TEST(LayerRow, another_shape_exceeds_unless_the_values_told_the_tensor) {
  LayerRow row = compared(ramp("a", {2, 3}), ramp("a", {3, 2}), by_name);
  EXPECT_EQ(row.max_abs_diff, 0);
  EXPECT_TRUE(is_exceeding(row));
  EXPECT_EQ(row.layout->description, "reshape [2,3] to [3,2]");
  row.match = Match::value;
  EXPECT_FALSE(is_exceeding(row));
}

TEST(LayerRow, what_was_not_compared_exceeds_unless_it_is_fused) {
  EXPECT_TRUE(is_exceeding({.match = Match::none}));
  EXPECT_TRUE(is_exceeding(compared(ramp("a", {2}), ramp("a", {3}), by_name)));
  EXPECT_FALSE(is_exceeding({.match = Match::fused}));
}

TEST(LayerRow, another_shape_of_one_sample_stays) {
  LayerRow sized = compared(ramp("a", {2}), ramp("a", {2}), by_name);
  sized = compared(ramp("a", {2}), ramp("a", {3}), sized);
  sized = compared(ramp("a", {2}), ramp("a", {2}), sized);
  EXPECT_FALSE(sized.compared);
  EXPECT_TRUE(is_exceeding(sized));
  EXPECT_EQ(sized.candidate_shape, (Shape{3}));

  LayerRow shaped = compared(ramp("a", {2, 3}), ramp("a", {3, 2}), by_name);
  shaped = compared(ramp("a", {4}), ramp("a", {4}), shaped);
  EXPECT_TRUE(is_exceeding(shaped));
  EXPECT_EQ(shaped.candidate_shape, (Shape{3, 2}));
}

TEST(LayerRow, the_shapes_of_samples_that_agree_may_vary) {
  LayerRow row = compared(ramp("a", {2}), ramp("a", {2}), by_name);
  row = compared(ramp("a", {5}), ramp("a", {5}), row);
  EXPECT_FALSE(is_exceeding(row));
  EXPECT_EQ(row.reference_shape, (Shape{5}));
}

TEST(LayerRow, permutations_of_three_to_five_axes_are_found) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 3, 4, 5}, Shape{1, 2, 3, 4, 5}}) {
    std::vector<int> order;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) order.push_back(static_cast<int>(axis));
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    const Tensor reference = ramp("a", shape, 1);
    Tensor candidate = permute_axes(reference, order);
    EXPECT_EQ(compared(reference, candidate, by_name).layout->layout.permutation, order);
    candidate.shape = shape;  // the same values, without the shape that would give them away
    EXPECT_EQ(compared(reference, candidate, by_name).layout->layout.permutation, order);
  }
}

TEST(LayerRow, a_plain_difference_has_no_layout) {
  EXPECT_FALSE(
      compared(ramp("a", {2, 3, 4}), shifted(ramp("a", {2, 3, 4}), 0.01F), by_name).layout);
}

// As of an LSTM whose weight is 1 % off: the same memory in another shape agrees no better.
TEST(LayerRow, another_order_is_no_cause_unless_it_is_clearly_better) {
  const Tensor reference = ramp("a", {1, 9, 32}, 1);
  Tensor candidate = copy(reference.view());
  for (float& value : elements<float>(candidate)) value *= 1.01F;
  candidate.shape = {9, 2, 1, 16};
  const LayerRow row = compared(reference, candidate, by_name);
  EXPECT_TRUE(is_exceeding(row));
  EXPECT_FALSE(row.layout);
}

TEST(LayerRow, truth_gives_the_error_of_both_sides) {
  Tensor truth = make_tensor("a", DType::f64, {2});
  elements<double>(truth)[1] = 1;
  const LayerRow row =
      compared(shifted(ramp("a", {2}), 0.5F), shifted(ramp("a", {2}), 1), by_name, &truth);
  EXPECT_EQ(row.truth, (LayerTruth{.error_reference = 0.5, .error_candidate = 1, .ratio = 2}));
  EXPECT_EQ(compared(ramp("a", {2}), ramp("a", {2}), by_name, &truth).truth->ratio, 1);
}

const std::vector<Layer> known = {{.name = "lstm", .type = "LSTM"},
                                  {.name = "lstm_head", .type = "Linear", .is_output = true},
                                  {.name = "idle", .type = "ReLU"}};

TEST(RanLayers, outputs_of_a_layer_have_its_type_and_repeated_runs_count_once) {
  const std::vector<SeenLayer> seen = {
      {"lstm.0"}, {"lstm.1"}, {"lstm_head"}, {"lstm_head"}, {"new"}};
  EXPECT_THAT(layers_that_ran(seen, known),
              ElementsAre(Layer{.name = "lstm.0", .type = "LSTM"},
                          Layer{.name = "lstm.1", .type = "LSTM"}, known[1], Layer{.name = "new"}));
}

TEST(RanLayers, a_layer_is_idle_if_neither_it_nor_an_output_of_it_ran) {
  EXPECT_THAT(idle_layers(known, {"lstm.0", "lstm_head"}), ElementsAre("idle"));
  EXPECT_THAT(idle_layers(known, {"lstm_head", "idle-not"}), ElementsAre("lstm", "idle"));
}

}  // namespace
}  // namespace vernier
