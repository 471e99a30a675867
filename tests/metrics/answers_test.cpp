#include "vernier/metrics/answers.h"

#include <gtest/gtest.h>

#include <vector>

namespace vernier {
namespace {

using Answers = std::vector<std::string>;

TEST(Answers, are_compared_without_case_articles_and_punctuation) {
  EXPECT_EQ(normalised_answer("  The  Eiffel-Tower, (a) "), "eiffeltower");
  EXPECT_EQ(score_answer("the cat.", Answers{"Cat"}).exact_match, 1);
}

// Two of three words, of two that are right: precision 2/3, recall 1.
TEST(Answers, share_words_with_the_best_right_one) {
  const AnswerScore score = score_answer("big black dog", Answers{"cat", "black dog"});
  EXPECT_EQ(score.exact_match, 0);
  EXPECT_DOUBLE_EQ(score.f1, 2 * (2.0 / 3) / (2.0 / 3 + 1));
}

TEST(Answers, to_a_question_without_one_must_be_empty) {
  EXPECT_EQ(score_answer("", Answers{}).f1, 1);
  EXPECT_EQ(score_answer("cat", Answers{}).f1, 0);
  EXPECT_EQ(score_answer("", Answers{"cat"}).f1, 0);
}

}  // namespace
}  // namespace vernier
