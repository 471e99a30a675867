#include "vernier/analysis/layers/candidate_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// x -> a -> t -> b, and a -> c, which nobody reads
class CandidateGraphTest : public ::testing::Test {
 protected:
  static Model make_model() {
    GraphBuilder graph;
    graph.input("x", DType::f32, {{1}}).output("b");
    graph.node("Relu", {"x"}, {"a"}).node("Neg", {"a"}, {"t"}).node("Abs", {"t"}, {"b"});
    return graph.node("Exp", {"a"}, {"c"}).model();
  }

  Model model = make_model();
  std::vector<LayerRow> rows = {{.layer = "first", .tensor = "a"},
                                {.layer = "copy", .tensor = "a"},
                                {.layer = "missing"},
                                {.layer = "last", .tensor = "b"}};
  CandidateGraph graph{model, rows};
};

TEST_F(CandidateGraphTest, a_region_ends_at_the_tensors_of_rows) {
  EXPECT_THAT(graph.region("b").nodes, SizeIs(2));
  EXPECT_THAT(graph.region("b").sources, ElementsAre("a"));
  EXPECT_THAT(graph.region("").nodes, IsEmpty());
}

TEST_F(CandidateGraphTest, rows_may_share_a_tensor) {
  EXPECT_THAT(graph.rows_of("a"), ElementsAre(0, 1));
  EXPECT_THAT(graph.rows_of("t"), IsEmpty());
}

TEST_F(CandidateGraphTest, ancestors_are_nearest_first) {
  EXPECT_THAT(graph.ancestors("b"), ElementsAre("a", "x"));
}

TEST_F(CandidateGraphTest, an_output_is_read) {
  EXPECT_TRUE(graph.is_unread("c"));
  EXPECT_FALSE(graph.is_unread("a"));
  EXPECT_FALSE(graph.is_unread("b"));
  EXPECT_FALSE(graph.is_unread("x"));
}

}  // namespace
}  // namespace vernier
