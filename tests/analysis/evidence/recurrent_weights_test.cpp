#include "vernier/analysis/evidence/recurrent_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Elements count up from `first`.
Tensor counting(const std::string& name, const Shape& shape, float first) {
  Tensor tensor = make_tensor(name, DType::f32, shape);
  std::iota(elements<float>(tensor).begin(), elements<float>(tensor).end(), first);
  return tensor;
}

struct Parameters {
  void add(const std::string& name, const Shape& shape, float first) {
    specs.push_back({.name = name, .dtype = DType::f32});
    for (const std::int64_t size : shape) specs.back().shape.push_back({.size = size});
    values.emplace(name, counting(name, shape, first));
  }
  std::vector<TensorSpec> specs;
  std::map<std::string, Tensor> values;
};

std::vector<float> numbers(const Tensor& tensor) {
  const auto values = elements<float>(tensor.view());
  return {values.begin(), values.end()};
}

// One hidden unit: a gate is a row.
TEST(RecurrentWeights, gates_of_an_lstm_are_in_the_order_of_onnx) {
  Parameters lstm;
  lstm.add("enc.lstm.weight_ih_l0", {4, 2}, 0);
  lstm.add("enc.lstm.weight_hh_l0", {4, 1}, 10);
  lstm.add("enc.lstm.bias_ih_l0", {4}, 20);
  lstm.add("enc.lstm.bias_hh_l0", {4}, 30);
  const auto found = recurrent_weights(lstm.specs);
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].name, "enc.lstm.weight_ih_l0");
  EXPECT_EQ(found[2].name, "enc.lstm.bias_ih_l0, bias_hh_l0");
  EXPECT_THAT(numbers(join(found[0], lstm.values)), ElementsAre(0, 1, 6, 7, 2, 3, 4, 5));
  EXPECT_EQ(join(found[0], lstm.values).shape, (Shape{1, 4, 2}));
  EXPECT_THAT(numbers(join(found[1], lstm.values)), ElementsAre(10, 13, 11, 12));
  EXPECT_THAT(numbers(join(found[2], lstm.values)), ElementsAre(20, 23, 21, 22, 30, 33, 31, 32));
  EXPECT_EQ(join(found[2], lstm.values).shape, (Shape{1, 8}));
}

TEST(RecurrentWeights, directions_of_a_gru_are_stacked) {
  Parameters gru;
  for (const auto& [direction, first] : {std::pair("", 0.0F), {"_reverse", 100.0F}}) {
    gru.add(std::string("weight_ih_l1") + direction, {3, 1}, first);
    gru.add(std::string("weight_hh_l1") + direction, {3, 1}, first + 10);
  }
  const auto found = recurrent_weights(gru.specs);
  ASSERT_THAT(found, SizeIs(2));  // it has no bias
  EXPECT_EQ(found[0].name, "weight_ih_l1");
  EXPECT_EQ(found[0].shape, (Shape{2, 3, 1}));
  EXPECT_THAT(numbers(join(found[0], gru.values)), ElementsAre(1, 0, 2, 101, 100, 102));
  EXPECT_THAT(numbers(join(found[1], gru.values)), ElementsAre(11, 10, 12, 111, 110, 112));
}

TEST(RecurrentWeights, what_onnx_has_no_operator_for_is_left_alone) {
  Parameters projected, other;
  projected.add("weight_ih_l0", {8, 3}, 0);
  projected.add("weight_hh_l0", {8, 1}, 0);
  projected.add("weight_hr_l0", {1, 2}, 0);
  EXPECT_THAT(recurrent_weights(projected.specs), IsEmpty());
  other.add("cell.weight_ih", {8, 3}, 0);
  other.add("fc.weight_ih_last", {8, 3}, 0);
  EXPECT_THAT(recurrent_weights(other.specs), IsEmpty());
}

TEST(RecurrentWeights, operators_of_one_scope_are_layers_of_one_module) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{5}, {1}, {3}}).output("z");
  for (const char* name : {"w", "r", "b", "w1", "r1"}) graph.weight(counting(name, {1, 4, 1}, 0));
  graph.node("LSTM", {"x", "w", "r", "b"}, {"y"}).node("LSTM", {"y", "w1", "r1"}, {"z"});
  graph.graph().mutable_node(0)->set_name("/enc/lstm/LSTM");
  graph.graph().mutable_node(1)->set_name("/enc/lstm/LSTM_1");
  const Model model = graph.model();
  const ModelIndex index(model);
  const auto names = recurrent_names(index);
  EXPECT_EQ(names.at("w"), "enc.lstm.weight_ih_l0");
  EXPECT_EQ(names.at("b"), "enc.lstm.bias_ih_l0, bias_hh_l0");
  EXPECT_EQ(names.at("r1"), "enc.lstm.weight_hh_l1");
}

}  // namespace
}  // namespace vernier
