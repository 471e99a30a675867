#include "vernier/analysis/layers/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/arrays.h"
#include "tests/failure.h"
#include "tests/onnx_edits.h"
#include "tests/runtime/torch_fixture.h"
#include "tests/temporary_directory.h"
#include "vernier/data/random.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LayersResult validate(const Model& candidate, LayersOptions options, std::int64_t samples = 1) {
  if (options.reference.empty()) options.reference = fixture("mnist/mnist_cnn.pt");
  const auto inputs = random_samples(candidate.inputs(),
                                     {.samples = samples, .distribution = Distribution::normal});
  return validate_layers(ModelIndex(candidate), *inputs, options);
}

Model mnist(const std::string& name) { return Model::load(fixture("mnist/" + name)); }

std::map<Match, int> alignments(const LayersResult& result) {
  std::map<Match, int> counts;
  for (const LayerRow& row : result.rows) ++counts[row.match];
  return counts;
}

const LayerRow& row(const LayersResult& result, const std::string& layer) {
  const auto found = std::ranges::find(result.rows, layer, &LayerRow::layer);
  if (found == result.rows.end()) throw std::out_of_range(layer);
  return *found;
}

class Layers : public TorchTest {};

TEST(LayerRows, exceed_by_their_shape_if_their_values_agree_or_cannot_be_compared) {
  EXPECT_TRUE(exceeds_by_shape({}));
  LayerRow row{.reference_shape = {4}, .candidate_shape = {2, 2}, .compared = true};
  EXPECT_FALSE(exceeds_by_shape(row));  // NaN
  row.max_abs_diff = row.allowed;
  EXPECT_TRUE(exceeds_by_shape(row));
  row.candidate_shape = row.reference_shape;
  EXPECT_FALSE(exceeds_by_shape(row));
}

TEST_F(Layers, an_export_is_within_tolerance_and_every_layer_has_its_place) {
  const LayersResult result = validate(mnist("mnist_cnn.onnx"), {});
  EXPECT_TRUE(result.pass());
  EXPECT_FALSE(result.drift_origin);
  EXPECT_EQ(result.layers_total(), 26);
  EXPECT_THAT(alignments(result),
              ElementsAre(std::pair(Match::scope, 9), std::pair(Match::value, 8),
                          std::pair(Match::fused, 8), std::pair(Match::elided, 1)));
  const LayerRow& norm = row(result, "layer1.0.bn1");
  EXPECT_EQ(norm.tensor, "/layer1/layer1.0/conv1/Conv_output_0");
  EXPECT_EQ(norm.type, "BatchNorm2d");
  EXPECT_EQ(norm.reference_shape, (Shape{1, 8, 28, 28}));
  EXPECT_LT(norm.max_abs_diff, 1e-4);
  EXPECT_GT(norm.sqnr_db, 100);
  EXPECT_FALSE(row(result, "layer1.0.conv1").compared);
}

TEST_F(Layers, samples_are_added_up_to_the_worst) {
  const LayersResult one = validate(mnist("mnist_cnn.onnx"), {});
  const LayersResult more = validate(mnist("mnist_cnn.onnx"), {}, 4);
  EXPECT_EQ(more.samples, 4);
  EXPECT_GE(row(more, "fc").max_abs_diff, row(one, "fc").max_abs_diff);
  EXPECT_LE(row(more, "fc").sqnr_db, row(one, "fc").sqnr_db);
}

TEST_F(Layers, truth_tells_which_side_is_further_from_float64) {
  const LayersResult result = validate(mnist("mnist_cnn.onnx"), {.truth = true});
  const auto& truth = row(result, "fc").truth;
  ASSERT_TRUE(truth);
  EXPECT_GT(truth->error_reference, 0);
  EXPECT_LT(truth->error_reference, 1e-4);
  EXPECT_DOUBLE_EQ(truth->ratio, truth->error_candidate / truth->error_reference);
  EXPECT_FALSE(row(result, "layer1.0.conv1").truth);
}

TEST_F(Layers, a_tolerance_of_nothing_makes_the_first_rounding_the_origin) {
  const LayersResult result = validate(mnist("mnist_cnn.onnx"), {.tolerance = 0});
  ASSERT_TRUE(result.drift_origin);
  // Which layer rounds first depends on the CPU's kernels.
  EXPECT_EQ(*result.drift_origin,
            static_cast<std::size_t>(
                std::ranges::find_if(result.rows,
                                     [](const LayerRow& each) { return each.max_abs_diff > 0; }) -
                result.rows.begin()));
  EXPECT_EQ(result.layers_total(), 26);
  const LayerRow& last = row(result, "fc");
  ASSERT_TRUE(last.introduced_max_abs_diff);
  EXPECT_LE(*last.introduced_max_abs_diff, last.max_abs_diff);
}

TEST_F(Layers, an_optimised_graph_has_fused_layers_and_no_drift) {
  for (const Optimization level :
       {Optimization::basic, Optimization::extended, Optimization::all}) {
    LayersOptions options;
    options.runtime.optimization = level;
    const LayersResult result = validate(mnist("mnist_cnn.onnx"), options);
    EXPECT_TRUE(result.pass());
    EXPECT_EQ(result.layers_total(), 26);
    EXPECT_EQ(alignments(result).count(Match::none), 0);
  }
}

TEST_F(Layers, the_folded_weights_of_a_float16_model_are_rounded_and_not_wrong) {
  const LayersResult result = validate(convert_to_fp16(mnist("mnist_cnn.onnx")).model, {});
  EXPECT_TRUE(result.weight_mismatches.empty());
  EXPECT_EQ(result.rows[*result.drift_origin].cause, Cause::precision_loss);
}

TEST_F(Layers, two_onnx_models_are_compared_tensor_by_tensor) {
  const LayersResult result =
      validate(mnist("mnist_cnn.float.onnx"), {.reference = fixture("mnist/mnist_cnn.onnx")});
  EXPECT_TRUE(result.pass());
  EXPECT_EQ(row(result, "logits").match, Match::name);
  EXPECT_EQ(row(result, "logits").type, "");
}

// Every layer is off by more than float32 rounds; the outputs are judged as eval judges them.
TEST_F(Layers, a_float16_copy_is_judged_by_its_outputs) {
  const Model half = convert_to_fp16(mnist("mnist_cnn.onnx")).model;
  const std::filesystem::path reference = fixture("mnist/mnist_cnn.onnx");
  const LayersResult result = validate(half, {.reference = reference});
  EXPECT_TRUE(result.pass());
  ASSERT_TRUE(result.drift_origin);
  EXPECT_EQ(result.rows[*result.drift_origin].cause, Cause::precision_loss);
  EXPECT_FALSE(validate(half, {.reference = reference, .tolerance = 1e-4}).pass());
}

TEST_F(Layers, recorded_leaves_are_a_reference_with_or_without_their_batch_axis) {
  const TemporaryDirectory folder;
  const auto leaves = watch("mnist/mnist_cnn.pt");
  const auto inputs =
      random_samples(mnist("mnist_cnn.onnx").inputs(), {.distribution = Distribution::normal});
  for (const bool has_batch_axis : {true, false}) {
    std::vector<Tensor> arrays = observe(*leaves, inputs->sample(0));
    if (has_batch_axis)
      for (Tensor& array : arrays) array.shape.insert(array.shape.begin(), 1);
    const LayersResult result =
        validate(mnist("mnist_cnn.onnx"), {.reference = write_npz(folder / "leaves.npz", arrays)});
    EXPECT_TRUE(result.pass());
    EXPECT_EQ(row(result, "fc").match, Match::scope);
    EXPECT_EQ(row(result, "layer1.0.bn1").match, Match::value);
  }
}

TEST_F(Layers, each_output_of_a_layer_is_a_row) {
  const LayersResult result = validate(Model::load(fixture("torch/recurrent.onnx")),
                                       {.reference = fixture("torch/recurrent.pt")}, 2);
  EXPECT_TRUE(result.pass());
  std::vector<std::string> names;
  for (const LayerRow& output : result.rows) names.push_back(output.layer + " " + output.type);
  EXPECT_THAT(names, ElementsAre("lstm.0 LSTM", "lstm.1 LSTM", "lstm.2 LSTM"));
}

TEST_F(Layers, layers_behind_a_fault_are_still_found_and_add_nothing_themselves) {
  Model candidate = mnist("mnist_cnn.onnx");
  edit_weight(candidate, "stem.weight", [](std::span<float> values) {
    for (float& value : values) value = -value;
  });
  const LayersResult result = validate(candidate, {});
  EXPECT_EQ(result.drift_origin, 0u);
  EXPECT_EQ(result.rows[0].layer, "stem");
  EXPECT_EQ(alignments(result), alignments(validate(mnist("mnist_cnn.onnx"), {})));
  const LayerRow& last = row(result, "fc");
  EXPECT_TRUE(last.exceeds);
  EXPECT_LT(*last.introduced_max_abs_diff, 1e-4);
  EXPECT_GT(*result.rows[0].introduced_max_abs_diff, 1e-4);
}

TEST_F(Layers, only_pytorch_can_tell_the_truth) {
  EXPECT_THAT(failure_of([] {
                validate(mnist("mnist_cnn.onnx"),
                         {.reference = fixture("mnist/mnist_cnn.onnx"), .truth = true});
              }),
              HasSubstr("only a PyTorch reference can be run in float64"));
}

TEST_F(Layers, an_interrupted_run_keeps_the_samples_so_far) {
  const LayersResult result =
      validate(mnist("mnist_cnn.onnx"), {.progress = [](auto done, auto) { return done < 2; }}, 4);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.samples, 2);
}

TEST_F(Layers, nothing_compared_is_no_pass) { EXPECT_FALSE(LayersResult().pass()); }

class RecordedLayers : public ::testing::Test {
 protected:
  LayersResult validate(const std::vector<Tensor>& reference,
                        const std::vector<Tensor>& candidate) {
    return validate_recorded_layers(write_npz(folder / "candidate.npz", candidate),
                                    {.reference = write_npz(folder / "reference.npz", reference)});
  }
  TemporaryDirectory folder;
};

TEST_F(RecordedLayers, recordings_are_compared_by_name_or_scope) {
  const LayersResult result = validate({ramp("a", {2, 3}), ramp("b", {2, 3})},
                                       {ramp("/b/Relu_output_0", {2, 3}), ramp("a", {2, 3})});
  EXPECT_TRUE(result.pass());
  EXPECT_EQ(result.samples, 2);
  EXPECT_EQ(row(result, "a").match, Match::name);
  EXPECT_EQ(row(result, "b").match, Match::scope);
  EXPECT_EQ(row(result, "b").sqnr_db, INFINITY);
}

TEST_F(RecordedLayers, a_missing_layer_is_a_row_that_exceeds) {
  const LayersResult result =
      validate({ramp("a", {1, 3}, -1), ramp("b", {1, 3}, 5)}, {ramp("b", {1, 3}, 5)});
  EXPECT_EQ(result.drift_origin, 0u);
  EXPECT_EQ(result.layers_exceeding, 1);
  EXPECT_EQ(row(result, "a").match, Match::none);
  EXPECT_EQ(row(result, "a").reference_shape, (Shape{3}));
  EXPECT_FALSE(row(result, "a").compared);
}

TEST_F(RecordedLayers, a_folded_batch_norm_is_found_by_its_values) {
  const LayersResult result = validate({ramp("conv", {1, 9}, -4), ramp("norm", {1, 9}, 1)},
                                       {ramp("/conv/Conv_output_0", {1, 9}, 1)});
  EXPECT_TRUE(result.pass());
  EXPECT_EQ(row(result, "conv").match, Match::fused);
  EXPECT_EQ(row(result, "norm").match, Match::value);
}

TEST_F(RecordedLayers, another_shape_is_a_row_that_exceeds) {
  const LayersResult result =
      validate({ramp("a", {1, 3, 4}), ramp("b", {1, 3}), ramp("c", {1, 2})},
               {ramp("a", {1, 4, 3}), ramp("b", {1, 5}), ramp("c", {1, 2})});
  EXPECT_EQ(result.layers_exceeding, 2);
  EXPECT_TRUE(row(result, "a").compared);
  EXPECT_TRUE(row(result, "a").exceeds);
  EXPECT_FALSE(row(result, "b").compared);
  EXPECT_EQ(row(result, "b").candidate_shape, (Shape{5}));
  EXPECT_FALSE(row(result, "c").exceeds);
}

TEST_F(RecordedLayers, nan_exceeds_on_whichever_side_it_is) {
  Tensor broken = ramp("a", {1, 3});
  elements<float>(broken)[1] = NAN;
  const LayersResult result = validate({ramp("a", {1, 3})}, {broken});
  EXPECT_EQ(result.layers_exceeding, 1);
  EXPECT_EQ(row(result, "a").candidate_nan, 1);
  EXPECT_EQ(row(result, "a").reference_nan, 0);
  EXPECT_EQ(validate({broken}, {ramp("a", {1, 3})}).layers_exceeding, 1);
  EXPECT_EQ(validate({broken}, {broken}).layers_exceeding, 1);
}

TEST_F(RecordedLayers, nan_of_the_reference_itself_proves_nothing_on_synthetic_inputs) {
  Tensor broken = ramp("a", {1, 3});
  elements<float>(broken)[1] = NAN;
  const Verdict verdict = validate({broken}, {broken}).verdict;
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  ASSERT_EQ(verdict.doubts.size(), 1u);
  EXPECT_EQ(verdict.doubts[0].kind, DoubtKind::unknown_reference);
  ASSERT_EQ(verdict.failures.size(), 2u);
  EXPECT_EQ(verdict.failures[0].metric, "reference_nan");
  EXPECT_EQ(verdict.failures[1].metric, "candidate_nan");
  EXPECT_EQ(validate({ramp("a", {1, 3})}, {broken}).verdict.outcome, Outcome::fail);
}

TEST_F(RecordedLayers, recordings_of_other_lengths_are_refused) {
  EXPECT_THAT(failure_of([&] {
                validate({ramp("a", {2, 3})}, {ramp("a", {1, 3})});
              }),
              HasSubstr("holds 2 samples"));
}

}  // namespace
}  // namespace vernier
