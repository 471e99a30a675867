#include "vernier/runtime/execution_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

using testing::ElementsAre;

// Two products, each with a weight that is stored as int8.
Model dequantized_weights() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}}).output("y1");
  builder.weight(tensor_of<float>("s", DType::f32, {}, {0.5f}));
  std::string tensor = "x";
  for (const std::string layer : {"0", "1"}) {
    builder.weight(tensor_of<std::int8_t>("w" + layer, DType::i8, {2, 2}, {1, 2, 3, 4}));
    builder.node("DequantizeLinear", {"w" + layer, "s"}, {"d" + layer});
    builder.node("MatMul", {tensor, "d" + layer}, {"y" + layer});
    tensor = "y" + layer;
  }
  return builder.model();
}

TEST(ExecutionOrder, weights_are_dequantized_just_before_they_are_read) {
  OrtRunner runner(dequantized_weights(), {.watch = Watch::all()});
  std::vector<std::string> names;
  runner.run(std::vector{make_tensor("x", DType::f32, {1, 2})},
             [&](const TensorView& tensor) { names.emplace_back(tensor.name); });
  EXPECT_THAT(names, ElementsAre("d0", "y0", "d1", "y1"));
}

TEST(ExecutionOrder, a_graph_whose_subgraphs_read_what_is_computed_stays_in_order) {
  GraphBuilder branch;
  branch.node("Neg", {"a"}, {"b"}).output("b");
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).weight(tensor_of<bool>("c", DType::boolean, {}, {true}));
  builder.node("Abs", {"x"}, {"a"});
  builder.node("If", {"c"}, {"y"},
               {graph_attribute("then_branch", branch), graph_attribute("else_branch", branch)});
  builder.output("y");
  Model model = builder.model();
  compute_constants_late(model);
  EXPECT_EQ(model.graph().node(0).op_type(), "Abs");
}

}  // namespace
}  // namespace vernier
