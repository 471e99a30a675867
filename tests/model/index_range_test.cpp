#include "vernier/model/index_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const std::vector<Dim> tokens = {{-1, "batch"}, {-1, "length"}};

Tensor table(const std::string& name, const Shape& shape) {
  return make_tensor(name, DType::f32, shape);
}

GraphBuilder with_ids() {
  GraphBuilder builder;
  builder.input("ids", DType::i64, tokens).weight(table("words", {1000, 8})).output("y");
  return builder;
}

TEST(IndexRange, indices_of_a_gather_reach_over_its_axis) {
  EXPECT_THAT(index_lengths(with_ids().node("Gather", {"words", "ids"}, {"y"}).model()),
              UnorderedElementsAre(Pair("ids", 1000)));
  EXPECT_THAT(
      index_lengths(
          with_ids().node("Gather", {"words", "ids"}, {"y"}, {int_attribute("axis", -1)}).model()),
      UnorderedElementsAre(Pair("ids", 8)));
}

TEST(IndexRange, the_shortest_axis_counts) {
  auto builder = with_ids();
  builder.weight(table("kinds", {2, 8})).weight(table("places", {512, 8}));
  builder.node("Gather", {"words", "ids"}, {"a"})
      .node("Gather", {"kinds", "ids"}, {"b"})
      .node("Gather", {"places", "ids"}, {"y"});
  EXPECT_THAT(index_lengths(builder.model()), UnorderedElementsAre(Pair("ids", 2)));
}

TEST(IndexRange, indices_are_followed_through_casts_and_reshapes) {
  auto builder = with_ids();
  builder.node("Cast", {"ids"}, {"a"}, {int_attribute("to", 6)})
      .node("Reshape", {"a", "shape"}, {"b"})
      .node("Slice", {"b", "starts", "ends"}, {"c"})
      .node("Unsqueeze", {"c", "axes"}, {"d"})
      .node("Transpose", {"d"}, {"e"})
      .node("Concat", {"other", "e"}, {"f"})
      .node("Split", {"f"}, {"g", "h"})
      .node("Where", {"condition", "zero", "h"}, {"i"})
      .node("Gather", {"words", "i"}, {"y"});
  EXPECT_THAT(index_lengths(builder.model()), UnorderedElementsAre(Pair("ids", 1000)));
}

TEST(IndexRange, arithmetic_on_an_input_makes_it_no_index) {
  auto builder = with_ids();
  builder.node("Mul", {"ids", "ids"}, {"a"}).node("Gather", {"words", "a"}, {"y"});
  EXPECT_THAT(index_lengths(builder.model()), IsEmpty());
}

TEST(IndexRange, gathered_data_and_floats_are_no_indices) {
  GraphBuilder builder;
  builder.input("ids", DType::i64, {{7, ""}}).input("x", DType::f32, {{7, ""}});
  builder.node("Gather", {"ids", "zero"}, {"a"})
      .node("Cast", {"x"}, {"b"}, {int_attribute("to", 7)})
      .node("Gather", {"ids", "b"}, {"y"})
      .output("y");
  EXPECT_THAT(index_lengths(builder.model()), IsEmpty());
}

TEST(IndexRange, the_table_may_be_quantized_a_constant_or_known_by_its_declared_shape) {
  auto quantized = with_ids();
  quantized.node("DequantizeLinear", {"words", "scale"}, {"w"}).node("Gather", {"w", "ids"}, {"y"});
  EXPECT_THAT(index_lengths(quantized.model()), UnorderedElementsAre(Pair("ids", 1000)));

  auto constant = with_ids();
  constant.node("Constant", {}, {"w"}, {tensor_attribute("value", table("", {33, 2}))})
      .node("Gather", {"w", "ids"}, {"y"});
  EXPECT_THAT(index_lengths(constant.model()), UnorderedElementsAre(Pair("ids", 33)));

  auto declared = with_ids();
  declared.input("memory", DType::f32, {{-1, ""}, {64, ""}});
  declared.node("Gather", {"memory", "ids"}, {"y"}, {int_attribute("axis", 1)});
  EXPECT_THAT(index_lengths(declared.model()), UnorderedElementsAre(Pair("ids", 64)));

  auto dynamic = with_ids();
  dynamic.input("memory", DType::f32, {{-1, ""}, {64, ""}});
  dynamic.node("Gather", {"memory", "ids"}, {"y"});
  EXPECT_THAT(index_lengths(dynamic.model()), IsEmpty()) << "the axis is dynamic";
}

TEST(IndexRange, other_indexing_operators_count_too) {
  auto elements = with_ids();
  elements.node("GatherElements", {"words", "ids"}, {"y"}, {int_attribute("axis", 1)});
  EXPECT_THAT(index_lengths(elements.model()), UnorderedElementsAre(Pair("ids", 8)));

  auto scatter = with_ids();
  scatter.node("ScatterElements", {"words", "ids", "updates"}, {"y"});
  EXPECT_THAT(index_lengths(scatter.model()), UnorderedElementsAre(Pair("ids", 1000)));

  auto embed = with_ids();
  embed.node("EmbedLayerNormalization", {"ids", "", "words"}, {"y"}, {}, "com.microsoft");
  EXPECT_THAT(index_lengths(embed.model()), UnorderedElementsAre(Pair("ids", 1000)));
}

TEST(IndexRange, tuples_of_gather_nd_index_as_many_axes_as_they_are_long) {
  GraphBuilder builder;
  builder.input("pair", DType::i64, {{-1, ""}, {2, ""}})
      .input("any", DType::i64, {{-1, ""}, {-1, ""}})
      .weight(table("data", {50, 40, 3}))
      .node("GatherND", {"data", "pair"}, {"y"})
      .node("GatherND", {"data", "any"}, {"z"})
      .output("y");
  EXPECT_THAT(index_lengths(builder.model()),
              UnorderedElementsAre(Pair("pair", 40), Pair("any", 3)));
}

TEST(IndexRange, indices_are_followed_into_subgraphs_and_out_of_them) {
  GraphBuilder then_branch("then");
  then_branch.weight(table("inner", {20, 4})).node("Gather", {"inner", "ids"}, {"t"}).output("t");
  GraphBuilder else_branch("else");
  else_branch.node("Gather", {"words", "ids"}, {"e"}).output("e");
  auto captured = with_ids();
  captured.node(
      "If", {"condition"}, {"y"},
      {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)});
  EXPECT_THAT(index_lengths(captured.model()), UnorderedElementsAre(Pair("ids", 20)));

  GraphBuilder subgraph("body");
  subgraph.input("i", DType::i64, {})
      .input("go", DType::boolean, {})
      .input("carried", DType::i64, {});
  subgraph.node("Identity", {"go"}, {"still"}).node("Cast", {"carried"}, {"next"});
  subgraph.output("still").output("next");
  auto loop = with_ids();
  loop.node("Loop", {"trips", "", "ids"}, {"last"}, {graph_attribute("body", subgraph)})
      .node("Gather", {"words", "last"}, {"y"});
  EXPECT_THAT(index_lengths(loop.model()), UnorderedElementsAre(Pair("ids", 1000)));
}

TEST(IndexRange, indices_are_followed_through_local_functions) {
  auto proto = with_ids().node("Embed", {"words", "ids"}, {"y"}, {}, "local").proto();
  auto& function = *proto.add_functions();
  function.set_name("Embed");
  function.set_domain("local");
  function.add_input("table");
  function.add_input("positions");
  function.add_output("rows");
  auto& node = *function.add_node();
  node.set_op_type("Gather");
  node.add_input("table");
  node.add_input("positions");
  node.add_output("rows");
  EXPECT_THAT(index_lengths(Model(proto, {})), UnorderedElementsAre(Pair("ids", 1000)));
}

// Calls itself twice: it would neither end nor, cut at some depth, be done in a lifetime.
TEST(IndexRange, functions_that_unfold_without_end_are_given_up) {
  auto proto = with_ids().node("Again", {"ids"}, {"y"}, {}, "local").proto();
  auto& function = *proto.add_functions();
  function.set_name("Again");
  function.set_domain("local");
  function.add_input("x");
  function.add_output("y");
  for (const std::string output : {"unused", "y"}) {
    auto& node = *function.add_node();
    node.set_op_type("Again");
    node.set_domain("local");
    node.add_input("x");
    node.add_output(output);
  }
  EXPECT_THAT(index_lengths(Model(proto, {})), IsEmpty());
}

}  // namespace
}  // namespace vernier
