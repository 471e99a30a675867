#include "vernier/analysis/pairing/by_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

auto matched(const Model& reference, const Model& candidate) {
  return match_by_topology(ModelIndex(reference), ModelIndex(candidate));
}

// x -> Relu a -> two Muls of other weights b, c -> Sub y; all names but x and y get a prefix.
GraphBuilder branches(const std::string& prefix, bool with_relu = true, bool swapped = false) {
  const auto name = [&](const std::string& tensor) { return prefix + tensor; };
  GraphBuilder graph;
  graph.input("x", DType::f32, {{2}}).output("y");
  graph.weight(tensor_of<float>(name("two"), DType::f32, {1}, {2}));
  graph.weight(tensor_of<float>(name("three"), DType::f32, {1}, {3}));
  const std::string first = with_relu ? name("a") : "x";
  if (with_relu) graph.node("Relu", {"x"}, {name("a")});
  graph.node("Mul", {first, name(swapped ? "three" : "two")}, {name("b")});
  graph.node("Mul", {first, name(swapped ? "two" : "three")}, {name("c")});
  graph.node("Sub", {name("b"), name("c")}, {"y"});
  return graph;
}

TEST(MatchByTopology, nodes_in_the_same_place_belong_together_whatever_their_names) {
  EXPECT_THAT(matched(branches("").model(), branches("t_").model()),
              UnorderedElementsAre(Pair("x", "x"), Pair("a", "t_a"), Pair("b", "t_b"),
                                   Pair("c", "t_c"), Pair("y", "y")));
}

TEST(MatchByTopology, weights_tell_branches_apart_and_operands_may_be_in_another_order) {
  EXPECT_THAT(matched(branches("").model(), branches("t_", true, true).model()),
              UnorderedElementsAre(Pair("x", "x"), Pair("a", "t_a"), Pair("b", "t_c"),
                                   Pair("c", "t_b"), Pair("y", "y")));
}

TEST(MatchByTopology, what_is_missing_has_no_counterpart_and_what_follows_it_does) {
  EXPECT_THAT(
      matched(branches("").model(), branches("t_", false).model()),
      UnorderedElementsAre(Pair("x", "x"), Pair("b", "t_b"), Pair("c", "t_c"), Pair("y", "y")));
}

TEST(MatchByTopology, a_layer_with_its_batch_norm_folded_in_is_what_the_norm_writes) {
  const auto graph = [](bool folded) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {2}, {1}, {1}}).output("y");
    builder.weight(make_tensor("w", DType::f32, {2, 2, 1, 1}));
    for (const char* name : {"b", "scale", "shift", "mean", "variance"})
      builder.weight(make_tensor(name, DType::f32, {2}));
    builder.node("Conv", {"x", "w", "b"}, {"conv"});
    if (!folded)
      builder.node("BatchNormalization", {"conv", "scale", "shift", "mean", "variance"}, {"norm"});
    builder.node("Relu", {folded ? "conv" : "norm"}, {"y"});
    return builder.model();
  };
  EXPECT_THAT(matched(graph(true), graph(false)),
              UnorderedElementsAre(Pair("x", "x"), Pair("conv", "norm"), Pair("y", "y")));
}

}  // namespace
}  // namespace vernier
