#include "vernier/analysis/layers/fused_weights.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// x -> MatMul a -> Mul by `scale` -> y. The product is fused: only y is compared.
class ScaledProduct : public ::testing::Test {
 protected:
  ScaledProduct() {
    result.rows = {{.layer = "fc", .type = "Linear", .match = Match::fused},
                   {.layer = "norm",
                    .type = "LayerNorm",
                    .tensor = "y",
                    .match = Match::value,
                    .compared = true,
                    .max_abs_diff = 0}};
  }

  std::string check(const std::vector<float>& values) {
    GraphBuilder graph;
    graph.input("x", DType::f32, {{1}, {2}}).output("y");
    graph.weight(tensor_of<float>("fc.weight", DType::f32, {2, 2}, values));
    graph.weight(tensor_of<float>("scale", DType::f32, {2}, {1e-6F, 1e-6F}));
    graph.node("MatMul", {"x", "fc.weight"}, {"a"}).node("Mul", {"a", "scale"}, {"y"});
    const Model candidate = graph.model();
    const ModelIndex index(candidate);
    return check_fused_weights(
        result, weights,
        {.candidate = index,
         .run_changed =
             [&](std::span<const LayerRow> rows, const Model& changed) {
               ++runs;
               tried = to_f64(changed.view(changed.graph().initializer(0)));
               std::vector<std::optional<IntroducedError>> errors(rows.size());
               errors[1] = {.max_abs_diff = change};
               return errors;
             },
         .read = [&](const std::string& name) -> std::optional<Tensor> {
           if (name != "fc.weight") return std::nullopt;
           return tensor_of<float>("fc.weight", DType::f32, {2, 2}, {1, 2, 3, 4});
         }});
  }

  static ComparedWeight weight(WeightMatch match, double sqnr_db = NAN) {
    return {.parameter = "fc.weight",
            .module = "fc",
            .initializer = match == WeightMatch::not_found ? "" : "fc.weight",
            .match = match,
            .elements = 4,
            .sqnr_db = sqnr_db};
  }

  LayersResult result;
  std::vector<ComparedWeight> weights;
  double change = 1;  // of the compared layer, when a weight is changed
  int runs = 0;
  std::vector<double> tried;  // the changed weight
};

TEST_F(ScaledProduct, a_weight_that_is_the_parameter_needs_no_run) {
  weights = {weight(WeightMatch::exact)};
  EXPECT_EQ(check({1, 2, 3, 4}), "");
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(result.rows[0].exceeds);
}

TEST_F(ScaledProduct, another_weight_fails_its_layer_even_if_no_layer_behind_shows_it) {
  weights = {weight(WeightMatch::differs, 20)};
  EXPECT_EQ(check({1, 2, 4, 3}), "");
  EXPECT_TRUE(result.rows[0].exceeds);
  EXPECT_EQ(result.drift_origin, 0);
  EXPECT_EQ(result.layers_exceeding, 1);
}

TEST_F(ScaledProduct, a_multiple_of_the_parameter_is_doubtful_if_no_layer_behind_shows_it) {
  weights = {weight(WeightMatch::differs, 20)};
  change = 1e-9;
  EXPECT_EQ(check({1.1F, 2.2F, 3.3F, 4.4F}), "fc.weight");
  EXPECT_FALSE(result.rows[0].exceeds);
  change = 1;
  EXPECT_EQ(check({1.1F, 2.2F, 3.3F, 4.4F}), "");
}

TEST_F(ScaledProduct, a_parameter_that_was_not_found_is_doubtful_if_no_layer_behind_shows_it) {
  weights = {weight(WeightMatch::not_found)};
  change = 1e-9;
  EXPECT_EQ(check({9, 9, 9, 9}), "fc.weight");
  change = 1;
  EXPECT_EQ(check({9, 9, 9, 9}), "");
}

TEST_F(ScaledProduct, zeros_are_changed_to_see_whether_a_layer_depends_on_them) {
  weights = {weight(WeightMatch::not_found)};
  EXPECT_EQ(check({0, 0, 0, 0}), "");
  EXPECT_EQ(tried, (std::vector<double>{1, 1, 1, 1}));
}

TEST_F(ScaledProduct, the_weight_of_a_layer_that_is_wrong_behind_it_is_not_asked_for) {
  weights = {weight(WeightMatch::differs, 20)};
  result.rows[1].exceeds = true;
  EXPECT_EQ(check({1, 2, 4, 3}), "");
  EXPECT_FALSE(result.rows[0].exceeds);
}

// x -> MatMul one -> MatMul two -> y. Both products are fused: only y is compared.
std::string check_two_products(const std::string& first, const std::string& second,
                               const std::vector<float>& of_second = {5, 6, 7, 8}) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {2}}).output("y");
  graph.weight(tensor_of<float>("one", DType::f32, {2, 2}, {1, 2, 3, 4}));
  graph.weight(tensor_of<float>("two", DType::f32, {2, 2}, of_second));
  graph.node("MatMul", {"x", "one"}, {"a"}).node("MatMul", {"a", "two"}, {"y"});
  const Model candidate = graph.model();
  const ModelIndex index(candidate);
  LayersResult result;
  result.rows = {{.layer = "fc1", .type = "Linear", .match = Match::fused},
                 {.layer = "fc2", .type = "Linear", .match = Match::fused},
                 {.layer = "norm", .tensor = "y", .match = Match::value, .compared = true}};
  const auto weight = [](const std::string& module, const std::string& initializer) {
    return ComparedWeight{.parameter = module + ".weight",
                          .module = module,
                          .initializer = initializer,
                          .match = WeightMatch::exact,
                          .elements = 4};
  };
  const std::vector<ComparedWeight> weights = {weight("fc1", first), weight("fc2", second)};
  return check_fused_weights(result, weights, {.candidate = index});
}

TEST(FusedWeightsOrder, two_weights_that_have_changed_places_are_not_the_references) {
  EXPECT_EQ(check_two_products("one", "two"), "");
  EXPECT_EQ(check_two_products("two", "one"), "fc1.weight");
}

TEST(FusedWeightsOrder, equal_weights_have_no_places_of_their_own) {
  EXPECT_EQ(check_two_products("two", "one", {1, 2, 3, 4}), "");
}

}  // namespace
}  // namespace vernier
