#include "vernier/analysis/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::filesystem::path mnist = std::filesystem::path(VERNIER_FIXTURES) / "mnist";

LiveTensors run_watched(const std::filesystem::path& path, const std::vector<Tensor>& inputs) {
  RunnerOptions options;
  options.onnx.watch = Watch::all();
  options.torch.watch_leaves = true;
  const std::optional<Model> onnx = load_if_onnx(path);
  return watch_tensors(*open_runner(path, options), inputs, onnx ? &*onnx : nullptr);
}

TEST(Inspect, an_onnx_file_is_summed_up) {
  const Inspection inspection = inspect(mnist / "mnist_cnn.onnx");
  EXPECT_EQ(inspection.format, ModelFormat::onnx);
  EXPECT_EQ(inspection.inputs[0].name, "input");
  EXPECT_EQ(inspection.outputs[0].name, "logits");
  ASSERT_TRUE(inspection.onnx);
  EXPECT_EQ(inspection.weights, inspection.onnx->weights);
}

TEST(Inspect, a_torchscript_file_shows_its_leaves_and_parameters) {
  if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  const Inspection inspection = inspect(mnist / "mnist_cnn.pt");
  EXPECT_EQ(inspection.format, ModelFormat::torchscript);
  EXPECT_EQ(inspection.leaves[0].name, "stem");
  EXPECT_THAT(inspection.weights, ElementsAre(WeightTotal{"float32", 44, 14634, 58536},
                                              WeightTotal{"int64", 8, 8, 64}));
}

TEST(Inspect, a_recording_shows_its_arrays) {
  const Inspection inspection = inspect(mnist / "mnist_inputs.npz");
  EXPECT_EQ(inspection.format, ModelFormat::recorded);
  EXPECT_EQ(inspection.recorded_samples, 64);
  EXPECT_EQ(inspection.outputs[0].name, "input");
}

// log(x) of a negative number is NaN, of zero -inf; both spread to the output.
TEST(Inspect, the_operator_that_first_made_nan_or_infinity_is_found) {
  const TemporaryDirectory folder;
  const Dim two = {2, ""};
  GraphBuilder()
      .input("x", DType::f32, {two})
      .node("Relu", {"x"}, {"positive"})
      .node("Log", {"positive"}, {"log"})
      .node("Log", {"x"}, {"broken"})
      .node("Add", {"log", "broken"}, {"sum"})
      .output("sum", DType::f32, {two})
      .model()
      .save(folder / "model.onnx");
  Tensor x = make_tensor("x", DType::f32, {2});
  std::ranges::copy(std::vector<float>{-1, 4}, elements<float>(x).begin());
  const LiveTensors live = run_watched(folder / "model.onnx", {x});
  ASSERT_EQ(live.tensors.size(), 5u);
  EXPECT_EQ(live.tensors[0].name, "x");
  EXPECT_EQ(live.tensors[0].op, "");
  ASSERT_GE(live.first_inf, 0);
  EXPECT_EQ(live.tensors[live.first_inf].name, "log");
  EXPECT_EQ(live.tensors[live.first_inf].op, "Log");
  EXPECT_EQ(live.tensors[live.first_inf].statistics.negative_inf, 1);
  ASSERT_GE(live.first_nan, 0);
  EXPECT_EQ(live.tensors[live.first_nan].name, "broken");
}

TEST(Inspect, a_healthy_run_has_neither) {
  const LiveTensors live =
      run_watched(mnist / "mnist_cnn.onnx", {make_tensor("input", DType::f32, {1, 1, 28, 28})});
  EXPECT_EQ(live.tensors.front().name, "input");
  EXPECT_EQ(live.tensors.back().name, "logits");
  EXPECT_EQ(live.tensors.back().shape, (Shape{1, 10}));
  EXPECT_EQ(live.first_nan, -1);
  EXPECT_EQ(live.first_inf, -1);
  EXPECT_THAT(live.unwatched, IsEmpty());
}

TEST(Inspect, what_cannot_be_shown_is_listed_and_outputs_are_shown_once) {
  const TemporaryDirectory folder;
  const std::vector<Dim> two = {{2, ""}};
  GraphBuilder()
      .input("x", DType::f32, two)
      .node("Constant", {}, {"k"}, {tensor_attribute("value", ramp("", {2}))})
      .node("Add", {"x", "k"}, {"y"})
      .output("y", DType::f32, two)
      .output("x", DType::f32, two)
      .model()
      .save(folder / "model.onnx");
  const LiveTensors live = run_watched(folder / "model.onnx", {ramp("x", {2})});
  EXPECT_EQ(live.tensors.size(), 2u);
  ASSERT_EQ(live.unwatched.size(), 1u);
  EXPECT_EQ(live.unwatched[0].name, "k");
}

TEST(Inspect, leaves_are_shown_with_their_type) {
  if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  const LiveTensors live =
      run_watched(mnist / "mnist_cnn.pt", {make_tensor("x", DType::f32, {1, 1, 28, 28})});
  EXPECT_EQ(live.tensors[1].name, "stem");
  EXPECT_EQ(live.tensors[1].op, "Conv2d");
}

}  // namespace
}  // namespace vernier
