#include "vernier/runtime/reopening_runner.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/model_builder.h"

namespace vernier {
namespace {

TEST(ReopeningRunner, runs_as_before_once_it_was_closed) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{2}}).node("Neg", {"x"}, {"y"}).output("y", DType::f32, {{2}});
  ReopeningRunner runner(graph.model(), {});
  Tensor input = make_tensor("x", DType::f32, {2});
  elements<float>(input)[1] = 3;
  const std::vector<Tensor> first = runner.run(std::array{input});
  runner.close();
  EXPECT_EQ(runner.run(std::array{input}), first);
  EXPECT_EQ(runner.inputs().at(0).name, "x");
  EXPECT_EQ(elements<float>(first.at(0))[1], -3);
}

}  // namespace
}  // namespace vernier
