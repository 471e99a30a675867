#include "vernier/analysis/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/data/npz_batches.h"
#include "vernier/data/random.h"
#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/recorded_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

const Dim one = {1, ""}, three = {3, ""};

// y = relu(x), z = relu(x) + x
Model small_model() {
  return GraphBuilder()
      .input("x", DType::f32, {one, three})
      .node("Relu", {"x"}, {"y"})
      .node("Add", {"y", "x"}, {"z"})
      .output("z", DType::f32, {one, three})
      .model();
}

std::unique_ptr<Samples> random_inputs(const Runner& runner, std::int64_t count) {
  return random_samples(runner.inputs(), {.samples = count});
}

std::vector<std::string> names(const RecordResult& result) {
  std::vector<std::string> list;
  for (const RecordedTensor& tensor : result.tensors) list.push_back(tensor.name);
  return list;
}

struct RecordTest : ::testing::Test {
  RecordResult record_all(Model model, Samples& samples, const std::string& output) {
    OrtRunner runner(std::move(model), {.watch = Watch::all()});
    return record(samples, &runner,
                  {.output = folder_ / output,
                   .tensors = {.inputs = true, .outputs = true, .intermediates = true}});
  }
  TemporaryDirectory folder_;
};

TEST(Selection, words_are_groups_and_anything_else_is_a_pattern) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(parse_selection(Words{"inputs"}), (TensorSelection{.inputs = true}));
  EXPECT_EQ(parse_selection(Words{"all"}),
            (TensorSelection{.inputs = true, .outputs = true, .intermediates = true}));
  EXPECT_EQ(parse_selection(Words{"outputs", "*Relu*"}),
            (TensorSelection{.outputs = true, .patterns = {"*Relu*"}}));
  EXPECT_FALSE(parse_selection(Words{"inputs"}).needs_run());
  EXPECT_TRUE(parse_selection(Words{"leaves"}).needs_intermediates());
}

TEST_F(RecordTest, everything_is_recorded_in_execution_order_and_can_be_replayed) {
  OrtRunner bare(small_model());
  const auto samples = random_inputs(bare, 3);
  const RecordResult result = record_all(small_model(), *samples, "a.npz");
  EXPECT_THAT(names(result), ElementsAre("x", "y", "z"));
  EXPECT_EQ(result.samples, 3);
  EXPECT_THAT(result.left_out, IsEmpty());

  const auto replayed = npz_batches(folder_ / "a.npz", bare.inputs());
  RecordedRunner recorded(folder_ / "a.npz", {.outputs = {"z"}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(replayed.samples->sample(i), samples->sample(i));
    EXPECT_EQ(recorded.run(), bare.run(samples->sample(i)));
  }
}

TEST_F(RecordTest, inputs_alone_need_no_runner) {
  const auto samples =
      random_samples(std::vector<TensorSpec>{{"x", DType::f32, {three}}}, {.samples = 2});
  record(*samples, nullptr, {.output = folder_ / "a.npz", .tensors = {.inputs = true}});
  EXPECT_EQ(NpzReader(folder_ / "a.npz").read("x").shape, (Shape{2, 3}));
}

TEST_F(RecordTest, a_pattern_chooses_among_all_tensors) {
  OrtRunner runner(small_model(), {.watch = Watch::all()});
  const auto samples = random_inputs(runner, 1);
  const RecordResult result =
      record(*samples, &runner, {.output = folder_ / "a.npz", .tensors = {.patterns = {"[xz]"}}});
  EXPECT_THAT(names(result), ElementsAre("x", "z"));
  EXPECT_THAT(
      [&] {
        record(*samples, &runner, {.output = folder_ / "b.npz", .tensors = {.patterns = {"q*"}}});
      },
      ThrowsMessage<Error>(HasSubstr("no tensor matches the selection")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b.npz"));
}

// Positive sums take one branch, others the other; how many elements are nonzero varies.
Model branching_model() {
  GraphBuilder then_branch("then"), else_branch("else");
  then_branch.node("Identity", {"x"}, {"inside"})
      .node("Relu", {"inside"}, {"t"})
      .output("t", DType::f32, {three});
  else_branch.node("Neg", {"x"}, {"e"}).output("e", DType::f32, {three});
  return GraphBuilder()
      .input("x", DType::f32, {three})
      .weight(tensor_of<float>("zero", DType::f32, {}, {0}))
      .node("ReduceSum", {"x"}, {"sum"}, {int_attribute("keepdims", 0)})
      .node("Greater", {"sum", "zero"}, {"positive"})
      .node("If", {"positive"}, {"y"},
            {graph_attribute("then_branch", then_branch),
             graph_attribute("else_branch", else_branch)})
      .node("NonZero", {"y"}, {"places"})
      .output("y", DType::f32, {three})
      .output("places", DType::i64, {one, {-1, ""}})
      .model();
}

std::unique_ptr<Samples> branching_inputs(const std::filesystem::path& path) {
  Tensor x = make_tensor("x", DType::f32, {2, 3});
  std::ranges::copy(std::vector<float>{1, 2, 3, -1, 0, 0}, elements<float>(x).begin());
  write_npz(path, {x});
  const std::vector<TensorSpec> inputs = {{"x", DType::f32, {three}}};
  return npz_batches(path, inputs).samples;
}

TEST_F(RecordTest, what_cannot_be_stacked_is_left_out_with_the_reason) {
  const auto samples = branching_inputs(folder_ / "in.npz");
  const RecordResult result = record_all(branching_model(), *samples, "a.npz");
  EXPECT_THAT(names(result), ElementsAre("x", "sum", "positive", "y"));
  EXPECT_THAT(
      result.left_out,
      ElementsAre(UnwatchedTensor{"e", "not produced in the first sample"},
                  UnwatchedTensor{"places", "has shape [1,1] in sample 1, [1,3] in the first"},
                  UnwatchedTensor{"inside", "not produced in sample 1"},
                  UnwatchedTensor{"t", "not produced in sample 1"}));
  EXPECT_THAT(NpzReader(folder_ / "a.npz").names(), ElementsAre("x", "sum", "positive", "y"));
  EXPECT_EQ(NpzReader(folder_ / "a.npz").read("y").shape, (Shape{2, 3}));
}

TEST_F(RecordTest, a_folder_holds_them_all) {
  const auto samples = branching_inputs(folder_ / "in.npz");
  const RecordResult result = record_all(branching_model(), *samples, "out");
  EXPECT_THAT(result.left_out, IsEmpty());
  EXPECT_THAT(NpzReader(folder_ / "out/000000.npz").names(),
              ElementsAre("x", "sum", "positive", "inside", "t", "y", "places"));
  EXPECT_THAT(NpzReader(folder_ / "out/000001.npz").names(),
              ElementsAre("x", "sum", "positive", "e", "y", "places"));
  EXPECT_THAT([&] { record_all(branching_model(), *samples, "out"); },
              ThrowsMessage<Error>(HasSubstr("the folder is not empty")));
}

TEST_F(RecordTest, a_tensor_made_several_times_in_a_sample_is_numbered) {
  GraphBuilder subgraph("body");
  subgraph.input("i", DType::i64, {})
      .input("go", DType::boolean, {})
      .input("v", DType::f32, {three});
  subgraph.node("Identity", {"go"}, {"still"})
      .node("Add", {"v", "x"}, {"next"})
      .output("still", DType::boolean, {})
      .output("next", DType::f32, {three});
  const Model model =
      GraphBuilder()
          .input("x", DType::f32, {three})
          .weight(tensor_of<std::int64_t>("trips", DType::i64, {}, {3}))
          .node("Loop", {"trips", "", "x"}, {"y"}, {graph_attribute("body", subgraph)})
          .output("y", DType::f32, {three})
          .model();
  OrtRunner runner(model.clone(), {.watch = Watch::all()});
  const auto samples = random_inputs(runner, 2);
  const RecordResult result = record(
      *samples, &runner, {.output = folder_ / "a.npz", .tensors = {.patterns = {"next", "y"}}});
  EXPECT_THAT(names(result), ElementsAre("next", "next_1", "next_2", "y"));
  const NpzReader reader(folder_ / "a.npz");
  EXPECT_EQ(reader.read("next_2").bytes, reader.read("y").bytes);
}

TEST_F(RecordTest, an_interrupted_recording_keeps_the_finished_samples) {
  const auto samples =
      random_samples(std::vector<TensorSpec>{{"x", DType::f32, {three}}}, {.samples = 1000});
  const RecordResult result =
      record(*samples, nullptr,
             {.output = folder_ / "a.npz",
              .tensors = {.inputs = true},
              .progress = [](std::int64_t done, std::int64_t) { return done < 4; }});
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.samples, 4);
  EXPECT_EQ(NpzReader(folder_ / "a.npz").read("x").shape, (Shape{4, 3}));
}

TEST_F(RecordTest, a_run_that_is_stopped_inside_a_sample_keeps_the_finished_ones) {
  const RunGroupScope own(std::make_shared<RunGroup>());
  OrtRunner runner(small_model(), {.watch = Watch::all()});
  for (const char* output : {"a.npz", "folder"}) {
    const auto stop_at_two = [](std::int64_t done, std::int64_t) {
      if (done == 2) run_group()->stop();
      return true;
    };
    const RecordResult result = record(*random_inputs(runner, 5), &runner,
                                       {.output = folder_ / output,
                                        .tensors = {.inputs = true, .intermediates = true},
                                        .progress = stop_at_two});
    EXPECT_TRUE(result.interrupted);
    EXPECT_EQ(result.samples, 2);
  }
  EXPECT_EQ(NpzReader(folder_ / "a.npz").read("x").shape, (Shape{2, 1, 3}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "folder/000002.npz"));
}

TEST_F(RecordTest, nothing_is_left_behind_when_it_stops_before_the_first_sample) {
  const auto samples = random_samples(std::vector<TensorSpec>{{"x", DType::f32, {three}}}, {});
  EXPECT_THROW(record(*samples, nullptr,
                      {.output = folder_ / "a.npz",
                       .tensors = {.inputs = true},
                       .progress = [](std::int64_t, std::int64_t) { return false; }}),
               Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace vernier
