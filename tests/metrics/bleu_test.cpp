#include "vernier/metrics/bleu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "vernier/error.h"
#include "vernier/metrics/tokenise.h"

namespace vernier {
namespace {

// Numbers words as they come.
class Numbering {
 public:
  explicit Numbering(TokeniseOptions options) : options_(options) {}
  Tokens operator()(std::string_view sentence) {
    Tokens tokens;
    for (const std::string& word : tokenise(sentence, options_))
      tokens.push_back(numbers_.try_emplace(word, numbers_.size()).first->second);
    return tokens;
  }

 private:
  TokeniseOptions options_;
  std::map<std::string, std::int64_t> numbers_;
};

using Sentences = std::vector<std::string>;

BleuScore corpus_bleu(const Sentences& predictions, const std::vector<Sentences>& targets,
                      const BleuOptions& options = {}, const TokeniseOptions& tokens = {}) {
  Numbering number(tokens);
  BleuStatistics sum;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    std::vector<Tokens> of_sentence;
    for (const Sentences& set : targets) of_sentence.push_back(number(set[i]));
    sum += bleu_statistics(number(predictions[i]), of_sentence);
  }
  return bleu(sum, options);
}

// The corpus and scores that sacreBLEU publishes for it.
const Sentences predictions{"The dog bit the man.", "It wasn't surprising.",
                            "The man had just bitten him."};
const std::vector<Sentences> targets{
    {"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
    {"The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."}};

TEST(Bleu, a_corpus_with_two_targets_has_the_published_scores) {
  EXPECT_NEAR(corpus_bleu(predictions, targets).score, 48.530827, 1e-6);
  EXPECT_NEAR(corpus_bleu(predictions, targets, {}, {.tokenisation = Tokenisation::none}).score,
              49.1919566, 1e-6);
  EXPECT_NEAR(
      corpus_bleu(predictions, targets, {}, {.tokenisation = Tokenisation::international}).score,
      43.91623493, 1e-6);
  EXPECT_NEAR(corpus_bleu(predictions, targets, {.smoothing = Smoothing::none}).score, 48.530827,
              1e-6);
}

struct PublishedCase {
  Smoothing smoothing;
  std::optional<double> value;
  bool lowercase;
  Tokenisation tokenisation;
  double score;
};

TEST(Bleu, a_sentence_has_the_published_scores) {
  const Sentences prediction{
      "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;"};
  const std::vector<Sentences> target{{"producţia de zahăr brut se exprimă în zahăr alb;"}};
  using S = Smoothing;
  using T = Tokenisation;
  const PublishedCase cases[] = {
      {S::exponential, {}, false, T::mteval_13a, 8.493},
      {S::none, {}, false, T::mteval_13a, 0},
      {S::floor, {}, false, T::mteval_13a, 4.51688},
      {S::floor, 0.5, false, T::mteval_13a, 10.10},
      {S::add_k, {}, false, T::mteval_13a, 14.882},
      {S::add_k, 2, false, T::mteval_13a, 21.389},
      {S::exponential, {}, false, T::none, 7.347},
      {S::exponential, {}, false, T::international, 8.493},
      {S::exponential, {}, false, T::character, 40.8759},
      {S::exponential, {}, true, T::character, 42.0267},
  };
  for (const PublishedCase& c : cases)
    EXPECT_NEAR(
        corpus_bleu(prediction, target,
                    {.smoothing = c.smoothing, .smoothing_value = c.value, .effective_order = true},
                    {.tokenisation = c.tokenisation, .lowercase = c.lowercase})
            .score,
        c.score, 1e-3)
        << static_cast<int>(c.smoothing) << ", " << static_cast<int>(c.tokenisation);
}

TEST(Bleu, nothing_right_is_zero_whatever_the_smoothing) {
  for (const Smoothing smoothing :
       {Smoothing::none, Smoothing::floor, Smoothing::add_k, Smoothing::exponential})
    EXPECT_EQ(corpus_bleu({"this is a cat"}, {{"okay thanks"}}, {.smoothing = smoothing}).score, 0);
}

TEST(Bleu, empty_predictions_score_zero) {
  const BleuScore score = corpus_bleu({"", ""}, {{"a b", "c"}});
  EXPECT_EQ(score.score, 0);
  EXPECT_EQ(score.brevity_penalty, 0);
}

TEST(Bleu, a_hand_computed_score) {
  const BleuStatistics statistics{{9, 7, 5, 3}, {10, 8, 6, 4}, 11, 11};
  const BleuScore score = bleu(statistics, {.smoothing = Smoothing::none});
  EXPECT_NEAR(score.score, 100 * std::pow(0.9 * 7 / 8 * 5 / 6 * 0.75, 0.25), 1e-12);
  EXPECT_EQ(score.brevity_penalty, 1);
  EXPECT_DOUBLE_EQ(score.precisions[3], 75);
}

TEST(Bleu, a_short_prediction_pays_for_it) {
  const BleuScore score = bleu({{1, 0, 0, 0}, {1, 0, 0, 0}, 1, 2},
                               {.smoothing = Smoothing::floor, .effective_order = true});
  EXPECT_NEAR(score.score, 100 * std::exp(-1.0), 1e-12);
  EXPECT_EQ(bleu({{1, 0, 0, 0}, {1, 0, 0, 0}, 1, 2}).score, 0);
}

TEST(Bleu, an_ngram_counts_as_often_as_the_target_that_has_it_most) {
  const BleuStatistics statistics =
      bleu_statistics(Tokens{1, 1, 1, 2}, std::vector<Tokens>{{1, 2}, {1, 1, 3}});
  EXPECT_EQ(statistics.correct, (std::array<std::int64_t, 4>{3, 2, 0, 0}));
  EXPECT_EQ(statistics.total, (std::array<std::int64_t, 4>{4, 3, 2, 1}));
}

TEST(Bleu, the_target_nearest_in_length_counts_and_the_shorter_of_two) {
  EXPECT_EQ(
      bleu_statistics(Tokens{1, 1, 1}, std::vector<Tokens>{{1, 1, 1, 1}, {1, 1}}).target_length, 2);
  EXPECT_EQ(bleu_statistics(Tokens{1, 1, 1}, std::vector<Tokens>{{1}, {1, 1, 1, 1}}).target_length,
            4);
}

TEST(Bleu, a_prediction_without_target_is_an_error) {
  EXPECT_THROW(bleu_statistics(Tokens{1}, {}), Error);
}

TEST(Bleu, names_are_in_the_order_of_the_enum) {
  for (std::size_t i = 0; i < smoothing_names().size(); ++i)
    EXPECT_EQ(parse_smoothing(smoothing_names()[i]), static_cast<Smoothing>(i));
  EXPECT_FALSE(parse_smoothing("laplace"));
}

TEST(TokenMatches, positions_of_the_target_count) {
  EXPECT_EQ(token_matches(Tokens{1, 2, 3}, Tokens{1, 9, 3}), (TokenMatches{2, 3}));
  EXPECT_EQ(token_matches(Tokens{1}, Tokens{1, 2}), (TokenMatches{1, 2}));
  EXPECT_EQ(token_matches(Tokens{1, 2, 3}, Tokens{1}), (TokenMatches{1, 1}));
  EXPECT_EQ(token_matches(Tokens{1, 2}, Tokens{1, -100}, -100), (TokenMatches{1, 1}));
}

}  // namespace
}  // namespace vernier
