#include "vernier/analysis/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "vernier/error.h"

namespace vernier {
namespace {

const std::vector<std::string> metrics = {"max_abs_diff", "sqnr_db"};

Limit parse(std::string_view text) { return parse_limit(text, metrics); }

TEST(Limits, a_metric_an_operator_and_a_value_make_a_limit) {
  EXPECT_EQ(parse("max_abs_diff>1e-3"),
            (Limit{.metric = "max_abs_diff", .fails = Limit::Fails::above, .value = 1e-3}));
  EXPECT_EQ(parse(" sqnr_db <= 20 "),
            (Limit{.metric = "sqnr_db", .fails = Limit::Fails::at_or_below, .value = 20}));
}

TEST(Limits, a_tensor_name_may_hold_colons_and_operators) {
  EXPECT_EQ(parse("a:b>c:sqnr_db<20").tensor, "a:b>c");
}

TEST(Limits, every_limit_prints_as_it_is_read) {
  for (const char* text : {"max_abs_diff>0.001", "x:sqnr_db<20", "sqnr_db>=1", "sqnr_db<=-3"})
    EXPECT_EQ(format_limit(parse(text)), text);
}

TEST(Limits, what_another_run_has_written_may_have_any_metric) {
  EXPECT_EQ(parse_limit("errors>0"), (Limit{.metric = "errors", .value = 0}));
}

TEST(Limits, the_opposite_fails_for_every_other_number) {
  for (const char* text : {"sqnr_db>1", "sqnr_db>=1", "sqnr_db<1", "sqnr_db<=1"}) {
    const Limit limit = parse(text);
    for (const double value : {0.0, 1.0, 2.0})
      EXPECT_NE(within(limit, value), within(opposite(limit), value)) << text << " " << value;
    EXPECT_EQ(opposite(opposite(limit)), limit);
  }
}

TEST(Limits, a_malformed_limit_is_an_error_that_shows_the_form) {
  for (const char* text : {"", "max_abs_diff", "max_abs_diff>", "max_abs_diff>x", "typo>1",
                           "max_abs_diff=1", "max_abs_diff>nan", ">1"})
    EXPECT_THROW(parse(text), Error) << text;
}

TEST(Limits, nan_is_within_no_limit) {
  for (const char* text : {"sqnr_db>1", "sqnr_db>=1", "sqnr_db<1", "sqnr_db<=1"})
    EXPECT_FALSE(within(parse(text), std::nan(""))) << text;
}

TEST(Limits, the_boundary_belongs_to_the_operator) {
  EXPECT_TRUE(within(parse("sqnr_db>1"), 1));
  EXPECT_FALSE(within(parse("sqnr_db>=1"), 1));
  EXPECT_TRUE(within(parse("sqnr_db<1"), 1));
  EXPECT_FALSE(within(parse("sqnr_db<=1"), 1));
}

TEST(Limits, a_limit_applies_by_name_or_glob) {
  EXPECT_TRUE(applies_to(parse("sqnr_db<1"), "anything"));
  EXPECT_TRUE(applies_to(parse("layer*:sqnr_db<1"), "layer1"));
  EXPECT_TRUE(applies_to(parse("a[0]:sqnr_db<1"), "a[0]"));
  EXPECT_FALSE(applies_to(parse("layer:sqnr_db<1"), "layer1"));
}

TEST(Limits, a_limit_for_a_tensor_that_is_not_there_is_an_error) {
  const std::vector<std::string> tensors = {"logits"};
  EXPECT_NO_THROW(require_tensors(std::vector{parse("log*:sqnr_db<1")}, tensors));
  EXPECT_THROW(require_tensors(std::vector{parse("logit:sqnr_db<1")}, tensors), Error);
}

TEST(Limits, a_limit_without_any_tensor_is_an_error_that_says_so) {
  EXPECT_THAT([] { require_tensors(std::vector{parse("sqnr_db<1")}, {}); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("no tensor to compare")));
}

TEST(Limits, losses_are_better_if_lower) {
  for (const char* metric : {"pseudo_perplexity", "perplexity_ratio", "nll", "kl_mean", "errors",
                             "max_abs_diff", "mse_mean"})
    EXPECT_EQ(better_of(metric), Better::lower) << metric;
  for (const char* metric : {"top1", "f1", "sqnr_db_mean", "cumulative", "mean_iou"})
    EXPECT_EQ(better_of(metric), Better::higher) << metric;
}

}  // namespace
}  // namespace vernier
