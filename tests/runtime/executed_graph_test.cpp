#include "vernier/runtime/executed_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

using testing::Contains;
using testing::ElementsAre;

std::vector<std::string> op_types(const Model& model) {
  std::vector<std::string> types;
  for (const auto& node : model.graph().node()) types.push_back(node.op_type());
  return types;
}

Tensor image() { return make_tensor("input", DType::f32, {1, 1, 28, 28}); }

TEST(ExecutedGraph, is_the_models_own_unless_it_has_float16_or_functions) {
  EXPECT_FALSE(runs_another_graph(Model::load(fixture("mnist/mnist_vit.onnx"))));
  GraphBuilder cast;
  cast.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  cast.node("Cast", {"x"}, {"h"}, {int_attribute("to", onnx_data_type(DType::f16))});
  cast.node("Cast", {"h"}, {"y"}, {int_attribute("to", onnx_data_type(DType::f32))});
  EXPECT_TRUE(runs_another_graph(cast.model()));
  GraphBuilder weight;
  weight.weight(make_tensor("w", DType::f16, {1}));
  EXPECT_TRUE(runs_another_graph(weight.model()));
  auto function = GraphBuilder().proto();
  function.add_functions();
  EXPECT_TRUE(runs_another_graph(Model(function, {})));
}

TEST(ExecutedGraph, keeps_the_names_of_float16_tensors_that_it_computes_in_float32) {
  GraphBuilder builder;
  builder.input("x", DType::f16, {{4}}).output("y", DType::f16, {{4}});
  builder.node("Add", {"x", "x"}, {"a"})
      .node("Mul", {"a", "x"}, {"b"})
      .node("Sub", {"b", "a"}, {"y"});
  const Model model = executed_graph(builder.model(), {}, Optimization::disabled);
  const GraphIndex index(model.graph());
  EXPECT_EQ(index.producer("a")->op_type(), "Add");
  EXPECT_EQ(index.producer("b")->op_type(), "Mul");
  EXPECT_EQ(index.producer("y")->op_type(), "Cast");
}

TEST(ExecutedGraph, a_constant_keeps_its_name_to_itself) {
  GraphBuilder builder;
  builder.input("x", DType::f16, {{2}}).output("y", DType::f16, {{2}});
  builder.node("Constant", {}, {"c"},
               {tensor_attribute("value", make_tensor("c", DType::f16, {2}))});
  builder.node("Add", {"x", "c"}, {"y"});
  OrtRunner runner(builder.model(), {.watch = Watch::all()});
  EXPECT_EQ(runner.run(std::vector{make_tensor("x", DType::f16, {2})}).size(), 1u);
}

TEST(Optimize, fuses_and_folds) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.onnx"));
  const Model optimized = optimize(model, Optimization::extended);
  EXPECT_LT(optimized.graph().node_size(), model.graph().node_size());
  EXPECT_THAT(op_types(optimized), Contains("FusedConv"));
  EXPECT_EQ(optimized.name(), model.name());
  EXPECT_EQ(optimized.inputs(), model.inputs());
}

TEST(Optimize, imports_the_domains_that_it_uses_and_no_others) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.onnx"));
  const std::vector<Tensor> inputs = {image()};
  OrtRunner(model.clone(), {.watch = Watch::all()}).run(inputs);  // registers a domain of its own
  const Model optimized = optimize(model, Optimization::basic);
  for (const auto& import : optimized.proto().opset_import()) EXPECT_EQ(import.domain(), "");
}

TEST(Optimize, weights_of_the_optimised_model_can_be_read) {
  const Model optimized =
      optimize(Model::load(fixture("mnist/mnist_vit.onnx")), Optimization::basic);
  for (const auto& weight : optimized.graph().initializer())
    EXPECT_NO_THROW(optimized.tensor(weight));
}

TEST(Optimize, the_optimised_graph_can_be_watched_and_gives_what_optimised_runs_give) {
  const std::vector<Tensor> inputs = {image()};
  for (const auto level : {Optimization::basic, Optimization::extended, Optimization::all}) {
    OrtRunner bare(Model::load(fixture("mnist/mnist_cnn.onnx")),
                   {.optimization = level, .threads = 1});
    OrtRunner watched(Model::load(fixture("mnist/mnist_cnn.onnx")),
                      {.watch = Watch::all(), .optimization = level, .threads = 1});
    EXPECT_EQ(watched.run(inputs), bare.run(inputs));
  }
}

TEST(Optimize, tensors_that_were_fused_away_are_reported) {
  OrtRunner runner(
      Model::load(fixture("mnist/mnist_cnn.onnx")),
      {.watch = Watch::only({"/stem/Conv_output_0", "/layer1/layer1.0/conv1/Conv_output_0"}),
       .optimization = Optimization::extended});
  EXPECT_THAT(runner.watched(), ElementsAre(WatchedTensor{"/stem/Conv_output_0"}));
  EXPECT_THAT(runner.unwatched(),
              ElementsAre(UnwatchedTensor{"/layer1/layer1.0/conv1/Conv_output_0",
                                          "fused or removed by optimisation"}));
}

}  // namespace
}  // namespace vernier
