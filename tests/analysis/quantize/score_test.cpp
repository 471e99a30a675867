#include "vernier/analysis/quantize/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/analysis/quantize/search.h"
#include "vernier/data/random.h"

namespace vernier {
namespace {

// x times a factor: the farther it is from 1, the more noise in every sample.
Model times(float factor) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {8}}).output("y");
  builder.weight(tensor_of<float>("factor", DType::f32, {}, {factor}));
  return builder.node("Mul", {"x", "factor"}, {"y"}).model();
}

void expect_same(const OutputScore& first, const OutputScore& second) {
  EXPECT_EQ(first.noise.samples(), second.noise.samples());
  EXPECT_EQ(first.noise.total(), second.noise.total());
}

struct ScoreTest : testing::Test {
  std::unique_ptr<Samples> samples = random_samples(times(1).inputs(), {.samples = 60});
  SharedSamples shared{*samples};
  OutputScorer scorer{times(1), {shared, indices(), 2}};

  static std::vector<std::int64_t> indices() {
    std::vector<std::int64_t> all(60);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    return all;
  }
};

TEST_F(ScoreTest, what_loses_on_the_first_third_is_not_run_on_the_others) {
  const OutputScore best = scorer.score(times(1.01F));
  const OutputScore worse = scorer.score_promising(times(1.02F), best);
  EXPECT_EQ(worse.noise.samples(), 20);
  const Decision decision = decide("worse", best, worse);
  EXPECT_FALSE(decision.kept);
  EXPECT_NEAR(decision.gain.db, -6.02, 0.01);  // twice the error, on the samples that both have
  EXPECT_NEAR(decision.sqnr_db, scorer.score(times(1.02F)).sqnr_db(), 0.01);
}

TEST_F(ScoreTest, what_gains_is_run_on_all_samples) {
  const OutputScore best = scorer.score(times(1.02F));
  const OutputScore better = scorer.score_promising(times(1.01F), best);
  expect_same(better, scorer.score(times(1.01F)));
  const Decision decision = decide("better", best, better);
  EXPECT_TRUE(decision.kept);
  EXPECT_EQ(decision.sqnr_db, better.sqnr_db());
}

TEST_F(ScoreTest, outputs_of_the_reference_that_are_known_are_not_computed_again) {
  std::vector<std::vector<Tensor>> outputs(60);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = samples->sample(static_cast<std::int64_t>(i));  // the model passes them on
    outputs[i][0].name = "y";
  }
  const OutputScorer told(times(3), {shared, indices(), 1}, std::move(outputs));
  expect_same(told.score(times(1.01F)), scorer.score(times(1.01F)));
}

}  // namespace
}  // namespace vernier
