#include "vernier/model/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::vector<Dim> three = {{3, ""}};

Model nested_model() {
  GraphBuilder inner("inner");
  inner.node("Relu", {"x"}, {"deep"}).output("deep");
  GraphBuilder branch("branch");
  branch.weight(make_tensor("w", DType::f16, {3}))
      .node("If", {"c"}, {"y"},
            {graph_attribute("then_branch", inner), graph_attribute("else_branch", inner)})
      .output("y");
  return GraphBuilder()
      .input("x", DType::f32, three)
      .input("c", DType::boolean, {})
      .weight(make_tensor("a", DType::f32, {2, 5}))
      .weight(make_tensor("b", DType::f32, {}))
      .node("Constant", {}, {"k"}, {tensor_attribute("value", make_tensor("", DType::i64, {4}))})
      .node("If", {"c"}, {"y"},
            {graph_attribute("then_branch", branch), graph_attribute("else_branch", inner)})
      .node("Fancy", {"y"}, {"z"}, {}, "org.example")
      .output("z")
      .model();
}

TEST(Summary, weights_are_added_up_by_type_in_every_graph) {
  EXPECT_THAT(summarize(ModelIndex(nested_model())).weights,
              ElementsAre(WeightTotal{"float32", 2, 11, 44}, WeightTotal{"int64", 1, 4, 32},
                          WeightTotal{"float16", 1, 3, 6}));
}

TEST(Summary, operators_are_counted_in_every_graph_the_most_frequent_first) {
  const ModelSummary summary = summarize(ModelIndex(nested_model()));
  EXPECT_THAT(summary.operators,
              ElementsAre(OperatorCount{"ai.onnx", "Relu", 3}, OperatorCount{"ai.onnx", "If", 2},
                          OperatorCount{"ai.onnx", "Constant", 1},
                          OperatorCount{"org.example", "Fancy", 1}));
  EXPECT_EQ(summary.nodes, 7);
}

TEST(Summary, subgraphs_are_listed_with_their_depth) {
  EXPECT_THAT(summarize(ModelIndex(nested_model())).subgraphs,
              ElementsAre(SubgraphSummary{"node_2.then_branch", "If", 1, 1},
                          SubgraphSummary{"node_2.then_branch/node_1.then_branch", "If", 1, 2},
                          SubgraphSummary{"node_2.then_branch/node_1.else_branch", "If", 1, 2},
                          SubgraphSummary{"node_2.else_branch", "If", 1, 1}));
}

TEST(Summary, versions_and_producer_are_those_of_the_file) {
  auto proto = GraphBuilder().node("Relu", {"x"}, {"y"}).proto(18, 9);
  proto.set_producer_name("pytorch");
  proto.set_producer_version("2.1");
  const ModelSummary summary = summarize(ModelIndex(Model(proto, {})));
  EXPECT_EQ(summary.ir_version, 9);
  EXPECT_EQ(summary.producer, "pytorch 2.1");
  EXPECT_THAT(summary.opsets, ElementsAre(OpsetImport{"ai.onnx", 18}));
  EXPECT_EQ(summary.precision, "fp32");
}

TEST(Summary, external_files_are_listed_but_not_the_model_itself) {
  auto proto = GraphBuilder().weight(make_tensor("inside", DType::f32, {2})).proto();
  for (const std::string name : {"p", "q"}) {
    auto& weight = *proto.mutable_graph()->add_initializer();
    weight = make_tensor_proto(make_tensor(name, DType::f32, {100}));
    set_external_data(weight, {.location = "weights.bin", .offset = 0, .length = 400});
  }
  EXPECT_THAT(summarize(ModelIndex(Model(proto, {}))).external_files,
              ElementsAre(ExternalFile{"weights.bin", 2, 800}));
  EXPECT_THAT(
      summarize(ModelIndex(Model::load(VERNIER_FIXTURES "/mnist/mnist_vit.onnx"))).external_files,
      IsEmpty());
}

TEST(Summary, functions_are_listed_with_their_calls) {
  auto proto = GraphBuilder()
                   .node("Block", {"x"}, {"y"}, {}, "local")
                   .node("Block", {"y"}, {"z"}, {}, "local")
                   .proto();
  auto& function = *proto.add_functions();
  function.set_name("Block");
  function.set_domain("local");
  function.add_node()->set_op_type("Relu");
  EXPECT_THAT(summarize(ModelIndex(Model(proto, {}))).functions,
              ElementsAre(FunctionSummary{"local", "Block", 1, 2}));
}

TEST(Summary, inputs_that_are_indices_are_named) {
  const Model model = GraphBuilder()
                          .input("ids", DType::i64, three)
                          .weight(make_tensor("table", DType::f32, {9, 2}))
                          .node("Gather", {"table", "ids"}, {"y"})
                          .model();
  EXPECT_THAT(summarize(ModelIndex(model)).index_lengths, ElementsAre(Pair("ids", 9)));
}

TEST(Summary, sizes_that_no_file_could_have_do_not_overflow) {
  auto proto = GraphBuilder().proto();
  for (int i = 0; i < 40; ++i) {
    auto& weight = *proto.mutable_graph()->add_initializer();
    weight.set_data_type(vernier_onnx::TensorProto::FLOAT);
    weight.add_dims(std::int64_t{1} << 58);
  }
  EXPECT_EQ(summarize(ModelIndex(Model(proto, {}))).weights[0].bytes, INT64_MAX);
  auto& negative = *proto.mutable_graph()->add_initializer();
  negative.set_data_type(vernier_onnx::TensorProto::FLOAT);
  negative.add_dims(-1);
  EXPECT_THROW(summarize(ModelIndex(Model(proto, {}))), Error);
}

}  // namespace
}  // namespace vernier
