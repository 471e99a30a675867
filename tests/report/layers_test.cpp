#include "vernier/report/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/report/terminal.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LayerRow row(const std::string& layer, double max_abs_diff) {
  return {.layer = layer,
          .type = "Linear",
          .tensor = "/" + layer,
          .match = Match::scope,
          .compared = true,
          .max_abs_diff = max_abs_diff,
          .mean_abs_diff = max_abs_diff,
          .sqnr_db = 100,
          .cosine_similarity = 1,
          .exceeds = max_abs_diff > 1e-4};
}

std::string text(const LayersResult& result, bool full = false) {
  return render_terminal(
      describe_layers({.run = {.candidate = "m.onnx"}, .around = 1, .top = 1}, result, full),
      false);
}

TEST(LayersReport, the_origin_comes_with_its_cause_and_its_neighbours) {
  LayersResult result{.rows = {row("far", 0), row("before", 0), row("origin", 1), row("after", 2)},
                      .drift_origin = 2,
                      .layers_exceeding = 2,
                      .samples = 1};
  result.rows[2].cause = Cause::weight_bit_mismatch;
  result.rows[2].evidence = {.fact = LayerEvidence::Fact::weight_differs,
                             .weight = ComparedWeight{.parameter = "fc.weight",
                                                      .initializer = "w",
                                                      .elements = 9,
                                                      .difference = {.differing = 1, .first = 0}}};
  const std::string report = text(result);
  EXPECT_THAT(report, HasSubstr("drift origin: origin (Linear): max_abs_diff 1.000e+00 is above"));
  EXPECT_THAT(
      report,
      HasSubstr("cause: weight_bit_mismatch: fc.weight is not what initializer w holds: 1 of 9 "));
  EXPECT_THAT(report, HasSubstr("before"));
  EXPECT_THAT(report, Not(HasSubstr("far ")));
  EXPECT_THAT(text(result, true), HasSubstr("far "));
}

TEST(LayersReport, another_weight_is_a_drift_though_no_layer_shows_it) {
  LayersResult result{.rows = {row("fc", 0)}};
  result.verdict.outcome = Outcome::fail;
  result.verdict.failures = {{.subject = "conv18.weight",
                              .group = "weight",
                              .metric = "weight_sqnr_db",
                              .value = 40,
                              .limit = Limit{.metric = "weight_sqnr_db", .value = 100}}};
  EXPECT_THAT(text(result), HasSubstr("drift origin: weight conv18.weight: not the reference's"));
  EXPECT_THAT(text(result), HasSubstr("these inputs do not show it: 0 of 1 layers exceed"));
  EXPECT_THAT(text(result), Not(HasSubstr("no drift")));
}

TEST(LayersReport, what_has_no_counterpart_or_another_shape_is_said_in_words) {
  LayersResult result{.rows = {{.layer = "gone", .exceeds = true}}, .drift_origin = 0};
  EXPECT_THAT(text(result), HasSubstr("gone: nothing in the candidate stands for it"));
  result.rows[0].match = Match::name;
  result.rows[0].reference_shape = {1, 2};
  result.rows[0].candidate_shape = {3};
  EXPECT_THAT(text(result), HasSubstr("gone: its shape is [1,2], the candidate's [3]"));
}

TEST(LayersReport, truth_adds_its_columns_and_weights_and_warnings_are_noted) {
  LayersResult result{.rows = {row("fc", 0)}, .warnings = reported({"traced in training mode"})};
  EXPECT_THAT(text(result), Not(HasSubstr("reference error")));
  result.rows[0].truth = LayerTruth{1e-7, 2e-7, 2};
  result.weight_mismatches = {{.parameter = "fc.weight", .initializer = "w"},
                              {.parameter = "fc.bias", .initializer = "b"}};
  EXPECT_THAT(text(result), HasSubstr("reference error"));
  EXPECT_THAT(text(result), HasSubstr("fc.weight  w"));
  EXPECT_THAT(text(result), HasSubstr("1 more"));
  EXPECT_THAT(text(result), HasSubstr("warning: traced in training mode"));
}

TEST(LayersReport, a_weight_of_another_shape_shows_both) {
  LayersResult result{.rows = {row("fc", 0)}};
  result.weight_mismatches = {{.parameter = "fc.weight",
                               .initializer = "w",
                               .elements = 8,
                               .difference = {.differing = 8},
                               .shape = {2, 4},
                               .found_shape = {4, 4}}};
  EXPECT_THAT(text(result), HasSubstr("[2,4] vs [4,4]"));
  EXPECT_THAT(text(result), Not(HasSubstr("8 of 8")));
}

TEST(LayersReport, the_worst_are_what_could_not_be_compared_and_then_the_largest) {
  const LayersResult result{.rows = {row("small", 0.1),
                                     {.layer = "gone", .exceeds = true},
                                     row("large", 5),
                                     {.layer = "fused", .match = Match::fused}}};
  const std::vector<LayerRow> worst = worst_rows(result);
  ASSERT_EQ(worst.size(), 3u);
  EXPECT_EQ(worst[0].layer, "gone");
  EXPECT_EQ(worst[1].layer, "large");
}

}  // namespace
}  // namespace vernier
