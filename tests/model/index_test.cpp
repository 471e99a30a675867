#include "vernier/model/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

Tensor numbers(const std::string& name, Shape shape, const std::vector<float>& values) {
  return tensor_of<float>(name, DType::f32, std::move(shape), values);
}

// x -> If(c) { then: Neg -> t ; else: Abs -> t, Mul with w } and a tensor t in the main graph too.
GraphBuilder nested_if() {
  GraphBuilder then_branch("then");
  then_branch.node("Neg", {"x"}, {"t"}).output("t", DType::f32, {});
  GraphBuilder else_branch("else");
  else_branch.weight(numbers("w", {}, {3}))
      .node("Abs", {"x"}, {"a"})
      .node("Mul", {"a", "w"}, {"e"});
  else_branch.output("e", DType::f32, {});
  GraphBuilder builder;
  builder.input("x", DType::f32, {}).input("c", DType::boolean, {}).weight(numbers("w", {}, {2}));
  builder.node("Add", {"x", "w"}, {"t"});
  builder.node(
      "If", {"c"}, {"y"},
      {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)});
  builder.output("y", DType::f32, {});
  return builder;
}

TEST(ModelIndex, finds_tensors_by_the_names_that_probes_give_them) {
  const Model model = nested_if().model();
  const ModelIndex index(model);
  ASSERT_EQ(index.graphs().size(), 3U);
  EXPECT_EQ(index.tensor("t")->node->op_type(), "Add");
  const FoundTensor* inner = index.tensor("node_2.then_branch/t");
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->node->op_type(), "Neg");
  EXPECT_EQ(inner->name(), "t");
  EXPECT_EQ(inner->graph->label("t"), "node_2.then_branch/t");
  EXPECT_EQ(index.tensor("a")->graph->path(), "node_2.else_branch");
  EXPECT_EQ(index.tensor("x"), nullptr);
}

TEST(ModelIndex, finds_nodes_by_name) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2, ""}}).node("Relu", {"x"}, {"a"}).node("Neg", {"a"}, {"y"});
  builder.graph().mutable_node(0)->set_name("/layer/relu/Relu");
  builder.graph().mutable_node(1)->set_name("/layer/relu/Neg");
  const Model model = builder.model();
  const ModelIndex index(model);
  EXPECT_EQ(index.node("/layer/relu/Neg")->node->op_type(), "Neg");
  EXPECT_EQ(index.node("nothing"), nullptr);
}

TEST(ModelIndex, knows_dtypes_and_constants_of_every_graph) {
  const Model model = nested_if().model();
  const ModelIndex index(model);
  const GraphIndex& inner = *index.tensor("e")->graph;
  EXPECT_THAT(inner.dtype("a"), Optional(DType::f32));
  EXPECT_THAT(inner.dtype("c"), Optional(DType::boolean));
  EXPECT_THAT(inner.number("w"), Optional(3.0));
  EXPECT_THAT(index.main().number("w"), Optional(2.0));
  EXPECT_EQ(index.weight("w")->graph, &index.main());
  EXPECT_EQ(index.main().number("x"), std::nullopt);
  EXPECT_EQ(index.main().number(""), std::nullopt);
}

TEST(ModelIndex, a_constant_node_may_hold_numbers_without_a_tensor) {
  vernier_onnx::AttributeProto ints;
  ints.set_name("value_ints");
  ints.set_type(vernier_onnx::AttributeProto::INTS);
  ints.add_ints(4);
  ints.add_ints(5);
  GraphBuilder builder;
  builder.node("Constant", {}, {"shape"}, {ints}).output("shape");
  const Model model = builder.model();
  EXPECT_THAT(ModelIndex(model).main().numbers("shape"), Optional(ElementsAre(4, 5)));
}

TEST(ModelIndex, sees_a_weight_through_what_only_carries_it) {
  GraphBuilder builder;
  builder.weight(tensor_of<std::uint8_t>("q", DType::u8, {2, 2}, {1, 2, 3, 4}));
  builder.weight(numbers("s", {}, {0.5F})).input("x", DType::f32, {{2, ""}, {2, ""}});
  builder.node("DequantizeLinear", {"q", "s"}, {"d"}).node("Transpose", {"d"}, {"w"});
  builder.node("MatMul", {"x", "w"}, {"y"}).output("y");
  const Model model = builder.model();
  const ModelIndex index(model);
  const WeightSource source = index.main().weight_source("w");
  ASSERT_TRUE(source);
  EXPECT_EQ(source.stored->name(), "q");
  EXPECT_EQ(source.dequantize->op_type(), "DequantizeLinear");
  EXPECT_TRUE(source.transposed);
  EXPECT_FALSE(index.main().weight_source("y"));
}

TEST(ModelIndex, a_cycle_of_carriers_ends) {
  GraphBuilder builder;
  builder.node("Identity", {"b"}, {"a"}).node("Identity", {"a"}, {"b"});
  const Model model = builder.model();
  EXPECT_FALSE(ModelIndex(model).main().weight_source("a"));
}

TEST(ModelIndex, finds_weights_by_content) {
  std::vector<float> large(20'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i);
  std::vector<float> other = large;
  other[5000] = -1;  // none of the parts that the fingerprint reads
  GraphBuilder builder;
  builder.weight(numbers("a", {20'000}, large)).weight(numbers("b", {20'000}, other));
  builder.weight(numbers("c", {200, 100}, large)).weight(numbers("d", {2}, {1, 2}));
  const Model model = builder.model();
  const ModelIndex index(model);
  EXPECT_EQ(index.weight_with(numbers("", {20'000}, large))->name, "a");
  EXPECT_EQ(index.weight_with(numbers("", {20'000}, other))->name, "b");
  EXPECT_EQ(index.weight_with(numbers("", {200, 100}, large))->name, "c");
  EXPECT_EQ(index.weight_with(numbers("", {2}, {1, 3})), nullptr);
  EXPECT_EQ(index.weight_with(numbers("", {0}, {})), nullptr);
  EXPECT_EQ(index.weights_of_size(20'000).size(), 3U);
  EXPECT_THAT(index.weights_of_size(7), IsEmpty());
}

TEST(ModelIndex, knows_the_functions_of_the_model) {
  vernier_onnx::ModelProto proto = GraphBuilder().proto();
  auto& function = *proto.add_functions();
  function.set_domain("mine");
  function.set_name("Swish");
  const Model model(std::move(proto), {});
  vernier_onnx::NodeProto call;
  call.set_domain("mine");
  call.set_op_type("Swish");
  EXPECT_TRUE(ModelIndex(model).is_local_function(call));
  call.set_domain("");
  EXPECT_FALSE(ModelIndex(model).is_local_function(call));
}

TEST(WeightView, shows_elements_where_they_are_stored) {
  std::vector<float> values(4096, 2.5F);
  GraphBuilder builder;
  builder.weight(numbers("inside", {4096}, values)).weight(numbers("small", {1}, {7}));
  auto& typed = *builder.graph().add_initializer();
  typed.set_name("typed");
  typed.set_data_type(vernier_onnx::TensorProto::FLOAT);
  typed.add_dims(1);
  typed.add_float_data(9);
  const TemporaryDirectory folder;
  builder.model().save(folder / "m.onnx");
  const Model model = Model::load(folder / "m.onnx");
  const auto& weights = model.graph().initializer();
  const WeightView inside = model.view(weights[0]);
  EXPECT_EQ(copy(inside), numbers("inside", {4096}, values));
  EXPECT_EQ(copy(inside), model.tensor(weights[0]));
  const WeightView again = model.view(weights[0]);
  EXPECT_EQ(again.bytes.data(), inside.bytes.data());  // no copy was made
  EXPECT_EQ(elements<float>(model.view(weights[1]))[0], 7);
  EXPECT_EQ(elements<float>(model.view(weights[2]))[0], 9);
}

}  // namespace
}  // namespace vernier
