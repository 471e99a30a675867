#include "vernier/runtime/switchboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// y = relu(x * w) + x * w, with the product read twice.
Model small_model() {
  return GraphBuilder()
      .input("x", DType::f32, {{1, ""}, {2, ""}})
      .weight(tensor_of<float>("w", DType::f32, {2, 2}, {1, -1, 0.5F, 2}))
      .node("MatMul", {"x", "w"}, {"product"})
      .node("Relu", {"product"}, {"positive"})
      .node("Add", {"positive", "product"}, {"y"})
      .output("y")
      .model();
}

std::vector<float> run(Switchboard& board, const SwitchSettings& settings,
                       const std::vector<float>& x, const Observer& observer = {}) {
  const Tensor input = tensor_of<float>("x", DType::f32, {1, 2}, x);
  const Tensor y = board.run({&input, 1}, settings, observer)[0];
  const auto values = elements<float>(y.view());
  return {values.begin(), values.end()};
}

SwitchSetting halves() {
  return SwitchSetting::simulate({.scale = {0.5F}, .zero_point = {}, .low = -8, .high = 7});
}

TEST(Switchboard, quantizes_any_subset_of_a_float_model_at_run_time) {
  Switchboard board(insert_switches(ModelIndex(small_model()),
                                    std::vector<SwitchPoint>{{"x"}, {"product"}, {"w"}}));
  ASSERT_EQ(board.switches().size(), 3u);
  SwitchSettings settings = board.all(SwitchSetting::off());
  EXPECT_THAT(run(board, settings, {1.3F, 0}), ElementsAre(2.6F, -1.3F));
  settings[0] = halves();  // x becomes 1.5
  EXPECT_THAT(run(board, settings, {1.3F, 0}), ElementsAre(3, -1.5F));
  settings[0] = SwitchSetting::off();
  settings[1] = halves();  // the product becomes 1.5, -1.5, for both of its readers
  EXPECT_THAT(run(board, settings, {1.3F, 0}), ElementsAre(3, -1.5F));
  settings[1] = SwitchSetting::off();
  settings[2] = SwitchSetting::simulate({.scale = {2}, .zero_point = {}, .low = -8, .high = 7});
  EXPECT_THAT(run(board, settings, {1, 1}), ElementsAre(0, 4));  // w becomes 0, 0, 0, 2 (ties)
}

TEST(Switchboard, a_switch_can_be_for_some_readers_only) {
  Switchboard board(insert_switches(ModelIndex(small_model()),
                                    std::vector<SwitchPoint>{{"product", {{"node_3", 1}}}}));
  EXPECT_THAT(run(board, {halves()}, {1.3F, 0}), ElementsAre(1.3F + 1.5F, -1.5F));
}

TEST(Switchboard, some_readers_and_all_the_others_can_have_switches_of_their_own) {
  Switchboard board(
      insert_switches(ModelIndex(small_model()),
                      std::vector<SwitchPoint>{{"product"}, {"product", {{"node_3", 1}}}}));
  EXPECT_THAT(run(board, {SwitchSetting::off(), halves()}, {1.3F, 0}),
              ElementsAre(1.3F + 1.5F, -1.5F));
  EXPECT_THAT(run(board, {halves(), SwitchSetting::off()}, {1.3F, 0}),
              ElementsAre(1.5F + 1.3F, -1.3F));
}

TEST(Switchboard, says_what_each_switch_is) {
  const SwitchedModel switched = insert_switches(
      ModelIndex(small_model()), std::vector<SwitchPoint>{{"product"}, {"w"}, {"x"}});
  EXPECT_EQ(switched.switches[0].node, "node_1");
  EXPECT_EQ(switched.switches[0].op, "MatMul");
  EXPECT_EQ(switched.switches[1].kind, Switch::Kind::weight);
  EXPECT_EQ(switched.switches[1].reader, "node_1");
  EXPECT_EQ(switched.switches[1].reader_input, 1);
  EXPECT_EQ(switched.switches[1].channel_axis, -1);
  EXPECT_EQ(switched.switches[2].node, "");
}

TEST(Switchboard, shows_what_reaches_each_switch) {
  Switchboard board(
      insert_switches(ModelIndex(small_model()), std::vector<SwitchPoint>{{"product"}, {"x"}}));
  std::vector<std::string> seen;
  std::vector<float> product;
  run(board, board.all(halves()), {1.3F, 0}, [&](const ObservedTensor& tensor) {
    seen.emplace_back(tensor.name);
    if (tensor.name == "product") product.push_back(elements<float>(tensor)[0]);
  });
  EXPECT_THAT(seen, ElementsAre("x", "product"));
  EXPECT_THAT(product, ElementsAre(1.5F));  // of the quantized x, before its own quantizer
}

TEST(Switchboard, one_weight_can_be_simulated_in_several_ways_one_after_the_other) {
  Switchboard board(insert_switches(ModelIndex(small_model()), std::vector<SwitchPoint>{{"w"}}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(run(board, {halves()}, {0, 1}), ElementsAre(1, 4));
    EXPECT_THAT(run(board, {SwitchSetting::simulate({.scale = {2}, .low = -8, .high = 7})}, {1, 1}),
                ElementsAre(0, 4));
  }
}

TEST(Switchboard, settings_that_do_not_fit_are_refused) {
  Switchboard board(insert_switches(ModelIndex(small_model()), std::vector<SwitchPoint>{{"w"}}));
  EXPECT_THROW(run(board, {}, {0, 1}), Error);
  EXPECT_THROW(run(board, {SwitchSetting::as_in_file()}, {0, 1}), Error);
  const std::vector<RealRange> channels(3, RealRange{-1, 1, 0});
  const auto wrong = SwitchSetting::simulate(quantizer_of_ranges(channels, 0, {}, false));
  EXPECT_THROW(run(board, {wrong}, {0, 1}), Error);
}

TEST(Switchboard, a_tensor_or_reader_that_is_not_there_is_refused) {
  const Model model = small_model();
  EXPECT_THROW(insert_switches(ModelIndex(model), std::vector<SwitchPoint>{{"z"}}), Error);
  EXPECT_THROW(insert_switches(ModelIndex(model), std::vector<SwitchPoint>{{"w", {{"node_3", 0}}}}),
               Error);
  EXPECT_THROW(
      insert_switches(ModelIndex(model), std::vector<SwitchPoint>{{"product"}, {"product"}}),
      Error);
}

TEST(Switchboard, threads_have_settings_of_their_own) {
  Switchboard board(insert_switches(ModelIndex(small_model()), std::vector<SwitchPoint>{{"x"}}));
  const auto repeat = [&](const SwitchSetting& setting, float expected) {
    for (int i = 0; i < 200; ++i) EXPECT_EQ(run(board, {setting}, {1.3F, 0})[0], expected);
  };
  std::thread other(repeat, halves(), 3.0F);
  repeat(SwitchSetting::off(), 2.6F);
  other.join();
}

// A switch for every float tensor and weight of a real model.
Switchboard whole_board(const Model& model) {
  const ModelIndex index(model);
  std::vector<SwitchPoint> points;
  for (const auto& weight : model.graph().initializer())
    if (weight.data_type() == vernier_onnx::TensorProto::FLOAT && weight.dims_size() > 1)
      points.push_back({weight.name()});
  for (const auto& node : model.graph().node())
    if (index.main().dtype(node.output(0)) == DType::f32) points.push_back({node.output(0)});
  return Switchboard(insert_switches(ModelIndex(model), points), {.threads = 1});
}

Tensor digits(std::int64_t count) {
  Tensor input = NpzReader(fixture("mnist/mnist_inputs.npz")).read("input");
  input.shape = {count, 1, 28, 28};
  input.bytes.resize(static_cast<std::size_t>(count) * 28 * 28 * sizeof(float));
  return input;
}

TEST(Switchboard, with_all_switches_off_a_float_model_has_its_own_outputs) {
  for (const char* name : {"mnist/mnist_cnn.float.onnx", "mnist/mnist_vit.float.onnx"}) {
    const Model model = Model::load(fixture(name));
    Switchboard board = whole_board(model);
    OrtRunner plain(model.clone(), {.optimization = Optimization::disabled, .threads = 1});
    const Tensor input = digits(64);
    const std::vector<Tensor> expected = plain.run({&input, 1});
    EXPECT_EQ(board.run({&input, 1}, board.all(SwitchSetting::off())), expected) << name;
  }
}

TEST(SwitchedRuns, each_run_is_what_a_run_by_itself_is) {
  for (const char* name : {"mnist/mnist_cnn.float.onnx", "mnist/mnist_vit.float.onnx"}) {
    Switchboard board = whole_board(Model::load(fixture(name)));
    const Tensor input = digits(4);
    SwitchedRuns runs(board, {&input, 1});
    const SwitchSetting coarse = SwitchSetting::simulate({.scale = {0.25F}, .low = -8, .high = 7});
    for (std::size_t i = 0; i < board.switches().size(); i += 3) {
      SwitchSettings settings = board.all(SwitchSetting::off());
      settings[i] = coarse;
      settings[board.switches().size() - 1 - i / 2] = coarse;
      EXPECT_EQ(runs.run(settings), board.run({&input, 1}, settings)) << name << " " << i;
    }
  }
}

TEST(SwitchedRuns, what_comes_before_the_first_change_is_not_computed_again) {
  Switchboard board = whole_board(Model::load(fixture("mnist/mnist_cnn.float.onnx")));
  const Tensor input = digits(1);
  SwitchedRuns runs(board, {&input, 1});
  std::size_t seen = 0;
  const Observer count = [&](const ObservedTensor&) { ++seen; };
  SwitchSettings settings = board.all(SwitchSetting::off());
  runs.run(settings, count);
  EXPECT_EQ(seen, board.switches().size());
  seen = 0;
  runs.run(settings, count);
  EXPECT_EQ(seen, 0u);
  settings.back() = halves();  // of the logits
  runs.run(settings, count);
  EXPECT_GT(seen, 0u);
  EXPECT_LT(seen, board.switches().size() / 4);
}

TEST(SwitchedRuns, a_run_that_fails_leaves_nothing_to_the_next) {
  Switchboard board = whole_board(Model::load(fixture("mnist/mnist_cnn.float.onnx")));
  const Tensor input = digits(1);
  SwitchedRuns runs(board, {&input, 1});
  const SwitchSettings off = board.all(SwitchSetting::off());
  const std::vector<Tensor> expected = runs.run(off);
  SwitchSettings wrong = off;
  wrong.back() = SwitchSetting::simulate(
      quantizer_of_ranges(std::vector<RealRange>(3, RealRange{-1, 1, 0}), 0, {}, false));
  EXPECT_THROW(runs.run(wrong), Error);
  EXPECT_EQ(runs.run(off), expected);
}

TEST(SwitchedRuns, settings_are_ordered_by_how_late_they_differ) {
  Switchboard board(
      insert_switches(ModelIndex(small_model()), std::vector<SwitchPoint>{{"product"}, {"x"}}));
  const SwitchSetting off = SwitchSetting::off(), half = halves();
  const std::vector<SwitchSettings> settings = {{off, half}, {off, off}, {half, half}, {half, off}};
  const std::vector<std::size_t> order = board.order_of_runs(settings);
  ASSERT_EQ(order.size(), 4u);
  EXPECT_EQ(settings[order[0]][0], settings[order[1]][0]);  // one part: switches in their order
  EXPECT_EQ(settings[order[2]][0], settings[order[3]][0]);
}

}  // namespace
}  // namespace vernier
