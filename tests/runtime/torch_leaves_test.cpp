#include <gmock/gmock.h>

#include <algorithm>

#include "tests/runtime/torch_fixture.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

using TorchLeavesTest = TorchTest;

std::vector<Tensor> digit() { return {make_tensor("x", DType::f32, {1, 1, 28, 28})}; }

template <typename Leaf>
Leaf find_leaf(const std::vector<Leaf>& leaves, const std::string& path) {
  const auto found = std::ranges::find(leaves, path, &Leaf::name);
  if (found == leaves.end()) throw Error("no leaf " + path);
  return *found;
}

WatchedTensor leaf(const Runner& runner, const std::string& path) {
  return find_leaf(runner.watched(), path);
}

std::string not_captured(const Runner& runner, const std::string& path) {
  return find_leaf(runner.unwatched(), path).reason;
}

TEST_F(TorchLeavesTest, leaves_are_observed_in_execution_order) {
  const auto runner = watch("mnist/mnist_cnn.pt");
  std::vector<std::string> listed;
  for (const WatchedTensor& each : runner->watched()) listed.push_back(each.name);
  EXPECT_EQ(names(observe(*runner, digit())), listed);
  EXPECT_EQ(listed.size(), 26u);
  EXPECT_THAT(listed, Contains("layer1.0.relu_1"));
}

TEST_F(TorchLeavesTest, watching_does_not_change_the_outputs) {
  for (const char* name : {"mnist/mnist_vit.pt", "mnist/mnist_cnn.pt"}) {
    const auto bare = open_torch_runner({.path = fixture(name)})->run(digit());
    EXPECT_EQ(bare, watch(name)->run(digit(), [](const TensorView&) {}));
  }
}

TEST_F(TorchLeavesTest, a_leaf_tells_its_type_and_the_numbers_of_its_operator) {
  const auto runner = watch("mnist/mnist_cnn.pt");
  EXPECT_EQ(leaf(*runner, "layer1.0.bn1").type, "BatchNorm2d");
  EXPECT_DOUBLE_EQ(leaf(*runner, "layer1.0.bn1").constants.at("eps"), 1e-5);
  EXPECT_EQ(leaf(*runner, "drop").constants.at("train"), 0);
}

TEST_F(TorchLeavesTest, a_gelu_tells_its_form) {
  EXPECT_EQ(leaf(*watch("mnist/mnist_vit.pt"), "blocks.0.mlp.1").constants.at("approximate"), 0);
}

TEST_F(TorchLeavesTest, a_traced_identity_is_reported_as_not_captured) {
  const auto runner = watch("mnist/mnist_cnn.pt");
  EXPECT_THAT(not_captured(*runner, "layer1.0.down"), HasSubstr("unchanged"));
}

TEST_F(TorchLeavesTest, a_value_is_seen_before_an_operator_overwrites_it) {
  const auto seen = observe(*watch("torch/shared.pt"), {torch_input({1, 2}, {-1, 2})});
  ASSERT_EQ(seen.at(0).name, "scale");
  EXPECT_LT(values<float>(seen[0])[0], -0.9f);
  ASSERT_EQ(seen.at(1).name, "act");
  EXPECT_EQ(values<float>(seen[1])[0], 0.f);
}

TEST_F(TorchLeavesTest, a_second_call_does_not_take_the_name_of_another_module) {
  const auto runner = watch("torch/shared.pt");
  EXPECT_THAT(names(observe(*runner, {torch_input({1, 2}, {1, 2})})),
              ElementsAre("scale", "act", "act_2", "act_1"));
}

TEST_F(TorchLeavesTest, another_name_of_a_shared_module_is_reported) {
  const auto runner = watch("torch/shared.pt");
  EXPECT_THAT(not_captured(*runner, "alias"), HasSubstr("never called under this name"));
}

TEST_F(TorchLeavesTest, a_leaf_that_returns_a_tuple_is_seen_tensor_by_tensor) {
  const auto seen =
      observe(*watch("torch/recurrent.pt"), {torch_input({2, 1, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(names(seen), ElementsAre("lstm.0", "lstm.1", "lstm.2"));
  EXPECT_EQ(seen.at(1).shape, (Shape{1, 1, 2}));
}

TEST_F(TorchLeavesTest, an_input_that_a_traced_leaf_returns_is_no_layer) {
  const auto runner = watch("torch/normalised.pt");
  const auto seen = observe(*runner, {torch_input({1, 2}, {1, 2})});
  EXPECT_THAT(names(seen), ElementsAre("linear", "first", "second"));
  for (const Tensor& norm : {seen.at(1), seen.at(2)}) {
    const auto [a, b] = std::pair(values<float>(norm)[0], values<float>(norm)[1]);
    EXPECT_NEAR(a * a + b * b, 2, 1e-4) << norm.name;  // a mean square of one
  }
}

TEST_F(TorchLeavesTest, every_turn_of_a_loop_is_seen_and_only_the_branch_that_ran) {
  const auto runner = watch("torch/control_flow.pt");
  EXPECT_TRUE(leaf(*runner, "step").in_control_flow);
  EXPECT_TRUE(leaf(*runner, "negative").in_control_flow);
  const auto steps = filled<std::int64_t>("steps", DType::i64, {}, {3});
  const auto seen = names(observe(*runner, {torch_input({1, 2}, {1, 2}), steps}));
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_THAT(std::vector(seen.begin(), seen.end() - 1), ElementsAre("step", "step_1", "step_2"));
}

TEST_F(TorchLeavesTest, names_start_over_with_each_run) {
  const auto runner = watch("torch/shared.pt");
  const std::vector<Tensor> inputs = {torch_input({1, 2}, {1, 2})};
  EXPECT_EQ(observe(*runner, inputs), observe(*runner, inputs));
}

TEST_F(TorchLeavesTest, a_leaf_that_returns_no_tensor_is_reported) {
  const auto runner = watch("torch/counting.pt");
  EXPECT_THAT(not_captured(*runner, "size"), HasSubstr("returns no tensor but int"));
  EXPECT_EQ(runner->run(std::vector{torch_input({2}, {1, 2})}).size(), 1u);
}

TEST_F(TorchLeavesTest, a_forked_leaf_is_seen) {
  EXPECT_THAT(names(observe(*watch("torch/forked.pt"), {torch_input({1, 2}, {1, 2})})),
              ElementsAre("linear"));
}

TEST_F(TorchLeavesTest, forks_kept_in_a_list_run_and_their_leaves_are_reported) {
  const auto runner = watch("torch/forked_list.pt");
  EXPECT_THAT(names(observe(*runner, {torch_input({1, 2}, {1, 2})})), ElementsAre("act"));
  EXPECT_THAT(not_captured(*runner, "linear"), HasSubstr("in a task of its own"));
}

TEST_F(TorchLeavesTest, the_module_behind_an_interface_is_seen) {
  EXPECT_THAT(names(observe(*watch("torch/interface.pt"), {torch_input({1, 2}, {1, 2})})),
              ElementsAre("layer.linear"));
}

TEST_F(TorchLeavesTest, what_the_observer_throws_reaches_the_caller) {
  const auto runner = watch("torch/shared.pt");
  const Observer stop = [](const TensorView& view) {
    throw Error("stop at " + std::string(view.name));
  };
  try {
    runner->run(std::vector{torch_input({1, 2}, {1, 2})}, stop);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "stop at scale");
  }
}

}  // namespace
}  // namespace vernier
