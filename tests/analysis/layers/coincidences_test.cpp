#include "vernier/analysis/layers/coincidences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// a and b are lengths, of which a reshaped tensor is made; y is the output.
vernier_onnx::GraphProto lengths() {
  return GraphBuilder()
      .input("x", DType::f32, {{-1, "n"}})
      .output("y", DType::f32, {{-1, "n"}})
      .node("Shape", {"x"}, {"a"})
      .node("Identity", {"a"}, {"b"})
      .node("Reshape", {"x", "b"}, {"c"})
      .node("Relu", {"c"}, {"y"});
}

LayerRow row(const std::string& name, double difference, bool compared = true) {
  return {.layer = name, .match = Match::value, .compared = compared, .max_abs_diff = difference};
}

TEST(Coincidences, are_layers_that_differ_though_all_behind_them_is_right) {
  const auto graph = lengths();
  const std::vector<LayerRow> rows = {row("a", 17), row("b", 2), row("c", 0), row("y", 0)};
  const std::vector<std::size_t> placed = {0, 1, 2};
  EXPECT_THAT(find_coincidences(rows, placed, GraphIndex(graph)), ElementsAre(0, 1));
}

// Two lists of indices may be equal on the first sample and of different lengths on the next.
TEST(Coincidences, may_have_another_element_count_on_a_later_sample) {
  const auto graph = lengths();
  const std::vector<LayerRow> rows = {row("a", 0, false), row("b", 0), row("c", 0), row("y", 0)};
  const std::vector<std::size_t> placed = {0};
  EXPECT_THAT(find_coincidences(rows, placed, GraphIndex(graph)), ElementsAre(0));
}

TEST(Coincidences, are_none_where_something_behind_them_differs_too) {
  const auto graph = lengths();
  const std::vector<LayerRow> rows = {row("a", 17), row("b", 0, false), row("c", 3), row("y", 0)};
  const std::vector<std::size_t> placed = {0};
  EXPECT_THAT(find_coincidences(rows, placed, GraphIndex(graph)), IsEmpty());
}

}  // namespace
}  // namespace vernier
