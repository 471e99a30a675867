#include "vernier/model/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/small_graphs.h"

namespace vernier {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> result;
  for (const TensorSpec& spec : specs) result.push_back(spec.name);
  return result;
}

std::vector<std::string> outputs(const Model& model) {
  std::vector<std::string> result;
  for (const auto& output : model.graph().output()) result.push_back(output.name());
  return result;
}

// Two branches that begin at b and meet at e.
GraphBuilder diamond() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.node("Neg", {"x"}, {"a"})
      .node("Exp", {"a"}, {"b"})
      .node("Abs", {"b"}, {"c"})
      .node("Sqrt", {"b"}, {"d"})
      .node("Add", {"c", "d"}, {"e"})
      .node("Relu", {"e"}, {"y"});
  return builder;
}

TEST(SplitModel, is_cut_where_few_tensors_cross) {
  const std::vector<Model> parts = split_model(diamond().model(), 2);  // in the middle two would
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(wiring(parts[0].graph()), ElementsAre("Neg x -> a", "Exp a -> b"));
  EXPECT_THAT(wiring(parts[1].graph()),
              ElementsAre("Abs b -> c", "Sqrt b -> d", "Add c -> e", "Relu e -> y"));
  EXPECT_THAT(names(parts[1].inputs()), ElementsAre("b"));
  EXPECT_FALSE(parts[1].inputs()[0].ranked);
  EXPECT_THAT(outputs(parts[0]), ElementsAre("b"));
  EXPECT_THAT(outputs(parts[1]), ElementsAre("y"));
}

TEST(SplitModel, what_skips_a_part_is_handed_on_and_inputs_reach_every_part) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).node("Neg", {"x"}, {"t0"});
  for (int i = 1; i < 8; ++i)
    builder.node("Neg", {"t" + std::to_string(i - 1)}, {"t" + std::to_string(i)});
  builder.node("Sum", {"t7", "t0", "x"}, {"y"}).output("y");
  const std::vector<Model> parts = split_model(builder.model(), 3);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(outputs(parts[0]), ElementsAre("t0", "t2"));
  EXPECT_THAT(names(parts[1].inputs()), ElementsAre("t2"));
  EXPECT_THAT(outputs(parts[1]), ElementsAre("t5"));
  EXPECT_THAT(names(parts[2].inputs()), ElementsAre("t5", "t0", "x"));
}

TEST(SplitModel, what_is_computed_from_weights_alone_is_where_it_is_read) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.weight(tensor_of<float>("w", DType::f32, {2}, {1, 2}));
  builder.node("Neg", {"w"}, {"v"})
      .node("Mul", {"x", "v"}, {"a"})
      .node("Exp", {"a"}, {"b"})
      .node("Abs", {"b"}, {"c"})
      .node("Add", {"c", "v"}, {"y"});
  const std::vector<Model> parts = split_model(builder.model(), 2);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(wiring(parts[0].graph()), ElementsAre("Neg w -> v", "Mul x -> a", "Exp a -> b"));
  EXPECT_THAT(wiring(parts[1].graph()), ElementsAre("Neg w -> v", "Abs b -> c", "Add c -> y"));
  EXPECT_EQ(parts[1].graph().initializer_size(), 1);
}

TEST(SplitModel, what_cannot_be_cut_stays_whole) {
  GraphBuilder random = diamond();  // drawn in two parts, it would be two values
  random.node("RandomNormalLike", {"x"}, {"unread"});
  EXPECT_EQ(split_model(random.model(), 3).size(), 1u);

  GraphBuilder unsorted = diamond();
  unsorted.graph().mutable_node()->SwapElements(1, 2);
  EXPECT_EQ(split_model(unsorted.model(), 3).size(), 1u);

  GraphBuilder constant = diamond();  // an output that no node computes from the inputs
  constant.weight(tensor_of<float>("w", DType::f32, {2}, {1, 2})).output("w");
  EXPECT_EQ(split_model(constant.model(), 3).size(), 1u);

  EXPECT_EQ(split_model(diamond().model(), 1).size(), 1u);
  const std::vector<Model> whole = split_model(conditional().model(), 3);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_THAT(names(whole[0].inputs()), ElementsAre("x", "c"));
}

TEST(SplitModel, nothing_but_tensors_crosses_a_cut) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.node("Neg", {"x"}, {"a"})
      .node("SequenceConstruct", {"a", "x"}, {"s"})
      .node("Abs", {"a"}, {"b"})
      .node("Exp", {"b"}, {"c"})
      .node("ConcatFromSequence", {"s"}, {"d"}, {int_attribute("axis", 0)})
      .node("Add", {"c", "d"}, {"y"});
  for (const Model& part : split_model(builder.model(), 3)) {
    const auto count = [&](const std::string& op) {
      return std::ranges::count(part.graph().node(), op, &vernier_onnx::NodeProto::op_type);
    };
    EXPECT_EQ(count("SequenceConstruct"), count("ConcatFromSequence"));
  }
}

}  // namespace
}  // namespace vernier
