#include "vernier/analysis/text/text_generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/decoding/small_decoder.h"
#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TokenBlocks some_blocks(std::int64_t count, std::int64_t length) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < count * length; ++i) tokens.push_back((i * i + 7 * i) % 32);
  return cut_blocks(tokens, length);
}

double figure(const TextGenerationResult& result, const std::string& name) {
  return std::ranges::find(result.figures, name, &TextFigure::name)->candidate;
}

struct Opened {
  explicit Opened(const DecoderFaults& faults)
      : file(small_decoder(faults)), runner(file.clone()), model(runner, *find_decoder(file)) {}
  Model file;
  OrtRunner runner;
  TextModel model;
};

TEST(TokenBlocks, are_disjoint_and_a_last_token_alone_is_left_out) {
  const TokenBlocks cut = cut_blocks({1, 2, 3, 4, 5, 6, 7}, 3);
  EXPECT_THAT(cut.blocks, ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6)));
  EXPECT_EQ(cut.left_out, 1);
}

TEST(TextGeneration, figures_are_those_of_the_formulas) {
  Opened reference({}), candidate({.weight_error = 0.3F});
  const TokenBlocks text = some_blocks(10, 12);
  const TextGenerationResult result =
      evaluate_text(&reference.model, candidate.model, text, {.prompts = 0});
  // The same from whole rows in float64.
  double nll = 0, kl = 0;
  for (const auto& block : text.blocks) {
    const auto expected = to_f64(reference.model.logits({.tokens = block}));
    const auto found = to_f64(candidate.model.logits({.tokens = block}));
    for (std::size_t row = 0; row < block.size(); ++row) {
      const auto log_sum = [&](const std::vector<double>& logits) {
        double sum = 0;
        for (int i = 0; i < 32; ++i) sum += std::exp(logits[row * 32 + i]);
        return std::log(sum);
      };
      const double first = log_sum(expected), second = log_sum(found);
      for (int i = 0; i < 32; ++i) {
        const double p = expected[row * 32 + i] - first, q = found[row * 32 + i] - second;
        kl += std::exp(p) * (p - q);
      }
      if (row + 1 < block.size()) nll += second - found[row * 32 + block[row + 1]];
    }
  }
  EXPECT_EQ(result.scored, 110);
  EXPECT_EQ(result.compared, 120);
  EXPECT_NEAR(figure(result, "perplexity"), std::exp(nll / 110), 1e-9);
  EXPECT_NEAR(figure(result, "kl_mean"), kl / 120, 1e-9);
  EXPECT_EQ(result.worst[0].kl, figure(result, "kl_max"));
  EXPECT_GE(result.worst[0].kl, result.worst[1].kl);
}

// No order of caches or tokens explains it.
TEST(TextGeneration, a_cache_that_holds_nothing_of_use_fails) {
  Opened reference({}), sound({}), candidate({.forgotten = true});
  const auto evaluate = [&](Opened& model) {
    return evaluate_text(&reference.model, model.model, some_blocks(12, 16), {.prompts = 0});
  };
  EXPECT_LT(*evaluate(sound).kl_behind_cache, 1e-6);
  const TextGenerationResult result = evaluate(candidate);
  EXPECT_EQ(figure(result, "kl_mean"), 0);
  EXPECT_THAT(result.cache_faults, SizeIs(0));
  EXPECT_GT(*result.kl_behind_cache, 0.05);
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
}

TEST(TextGeneration, a_cache_that_nothing_runs_behind_is_no_pass) {
  Opened reference({}), candidate({.without_cache = true});
  const TextGenerationResult result =
      evaluate_text(&reference.model, candidate.model, some_blocks(12, 16), {.prompts = 0});
  EXPECT_EQ(figure(result, "kl_mean"), 0);
  EXPECT_EQ(result.verdict.outcome, Outcome::inconclusive);
  ASSERT_THAT(result.verdict.doubts, SizeIs(1));
  EXPECT_EQ(result.verdict.doubts[0].kind, DoubtKind::caches_not_run);
}

TEST(TextGeneration, a_model_beside_itself_passes) {
  Opened reference({}), candidate({});
  const TextGenerationResult result =
      evaluate_text(&reference.model, candidate.model, some_blocks(12, 16), {.steps = 6});
  EXPECT_EQ(result.verdict.outcome, Outcome::pass);
  EXPECT_EQ(figure(result, "kl_mean"), 0);
  EXPECT_EQ(figure(result, "top1_agreement"), 1);
  ASSERT_THAT(result.divergences, SizeIs(4));
  for (const Divergence& divergence : result.divergences) EXPECT_FALSE(divergence.step);
}

TEST(TextGeneration, batches_give_the_figures_of_single_blocks) {
  Opened reference({}), candidate({.weight_error = 0.3F});
  const TokenBlocks text = some_blocks(10, 12);
  const auto one = evaluate_text(&reference.model, candidate.model, text, {.prompts = 0});
  const auto four =
      evaluate_text(&reference.model, candidate.model, text, {.batch = 4, .prompts = 0});
  EXPECT_NEAR(figure(one, "kl_mean"), figure(four, "kl_mean"), 1e-6);
  EXPECT_NEAR(figure(one, "perplexity"), figure(four, "perplexity"), 1e-4);
}

TEST(TextGeneration, damage_fails_and_few_tokens_decide_nothing) {
  Opened reference({}), candidate({.weight_error = 2});
  const TextGenerationResult damaged =
      evaluate_text(&reference.model, candidate.model, some_blocks(12, 16), {.steps = 8});
  EXPECT_EQ(damaged.verdict.outcome, Outcome::fail);
  EXPECT_GT(damaged.disagreements, 0);
  EXPECT_TRUE(std::ranges::any_of(damaged.divergences, [](const Divergence& divergence) {
    return divergence.step.has_value();
  }));
  const TextGenerationResult few =
      evaluate_text(&reference.model, candidate.model, some_blocks(2, 16), {.prompts = 0});
  EXPECT_EQ(few.verdict.outcome, Outcome::inconclusive);
}

TEST(TextGeneration, where_all_is_nan_the_first_tokens_are_shown) {
  Opened reference({}), candidate({.weight_error = NAN});
  const TextGenerationResult result =
      evaluate_text(&reference.model, candidate.model, some_blocks(2, 16), {.prompts = 0});
  ASSERT_THAT(result.worst, SizeIs(3));
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isnan(result.worst[i].kl));
    EXPECT_EQ(result.worst[i].block, 0);
    EXPECT_EQ(result.worst[i].position, i);
  }
}

TEST(TextGeneration, limits_that_were_set_are_judged_by_their_value) {
  Opened reference({}), candidate({.weight_error = 0.3F});
  const auto result = evaluate_text(
      &reference.model, candidate.model, some_blocks(2, 16),
      {.prompts = 0,
       .limits = {{.metric = "kl_max", .fails = Limit::Fails::above, .value = 1e-9}}});
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
}

TEST(TextGeneration, the_rounding_of_the_reference_tells_ties_from_damage) {
  Opened reference({}), candidate({.weight_error = 2}), again({});
  const auto result = evaluate_text(&reference.model, candidate.model, some_blocks(12, 16),
                                    {.prompts = 0, .second = &again.runner});
  ASSERT_TRUE(result.rounding && result.near_ties);
  EXPECT_LT(*result.rounding, 1e-4);
  EXPECT_LE(*result.near_ties, result.disagreements);
}

TEST(TextGeneration, kernels_lose_accuracy_if_exact_ones_leave_a_tenth_less_kl) {
  EXPECT_TRUE((TextArithmetic{.kl_mean = 0.1, .exact_kl_mean = 0.089}.is_lossy()));
  EXPECT_FALSE((TextArithmetic{.kl_mean = 0.1, .exact_kl_mean = 0.091}.is_lossy()));
  EXPECT_FALSE(TextArithmetic().is_lossy());
}

TEST(TextGeneration, alone_a_model_has_a_perplexity) {
  Opened candidate({});
  const auto result = evaluate_text(nullptr, candidate.model, some_blocks(12, 16), {});
  EXPECT_THAT(result.figures, SizeIs(2));
  EXPECT_GT(figure(result, "perplexity"), 1);
}

TEST(TextGeneration, tokens_of_another_vocabulary_are_an_error) {
  Opened candidate({});
  TokenBlocks text = some_blocks(2, 8);
  text.blocks[1][3] = 32;
  EXPECT_THROW(evaluate_text(nullptr, candidate.model, text, {}), Error);
  EXPECT_THROW(evaluate_text(nullptr, candidate.model, TokenBlocks{}, {}), Error);
}

}  // namespace
}  // namespace vernier
