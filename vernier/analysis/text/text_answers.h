#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/parts/record.h"
#include "vernier/analysis/text/text_tasks.h"
#include "vernier/metrics/answers.h"
#include "vernier/metrics/entities.h"

namespace vernier {

// One model's answers, example by example.
struct TextAnswers {
  std::vector<std::vector<float>> logits;  // of the classes
  std::vector<TaggedWords> tagged;
  std::vector<AnswerScore> answers;
  std::vector<std::pair<double, std::int64_t>> masked;  // sum of negative log-likelihoods, tokens
  std::vector<double> cosines;
  std::int64_t non_finite = 0;

  TextAnswers& operator+=(const TextAnswers& more) {
    const auto append = [](auto& values, const auto& others) {
      values.insert(values.end(), others.begin(), others.end());
    };
    append(logits, more.logits);
    append(tagged, more.tagged);
    append(answers, more.answers);
    append(masked, more.masked);
    append(cosines, more.cosines);
    non_finite += more.non_finite;
    return *this;
  }
};

template <typename Archive>
void fields(Archive& archive, EntityCounts& counts) {
  archive(counts.right, counts.predicted, counts.expected);
}

template <typename Archive>
void fields(Archive& archive, TaggedWords& tagged) {
  std::vector<std::pair<std::string, EntityCounts>> types(tagged.types.begin(), tagged.types.end());
  archive(types, tagged.right, tagged.words);
  if constexpr (std::is_same_v<Archive, RecordReader>) tagged.types = {types.begin(), types.end()};
}

template <typename Archive>
void fields(Archive& archive, AnswerScore& score) {
  archive(score.exact_match, score.f1);
}

template <typename Archive>
void fields(Archive& archive, TextAnswers& answers) {
  archive(answers.logits, answers.tagged, answers.answers, answers.masked, answers.cosines,
          answers.non_finite);
}

// How the answers to a task are read.
struct AnswerRules {
  TextTask task = TextTask::text_classification;
  std::map<std::int64_t, std::string> labels;
  bool has_unanswerable = false;  // some questions of the examples have no answer
};

// A text, and a model's outputs for it.
struct AnsweredText {
  const EncodedText& text;
  const std::vector<Tensor>& outputs;
};

// Adds the answer to an example of any task except fill-mask, from two texts if the task is
// sentence-similarity, else from one. Throws Error for outputs that the task cannot read.
void add_answer(TextAnswers& answers, const AnswerRules& rules, const TextExample& example,
                std::span<const AnsweredText> texts);

// The negative log-likelihood of a token of `answered.text` that was masked in the model's input.
double masked_nll(const AnsweredText& answered, std::size_t token);

// The scores of the answers to `examples`. The classes of token-classification are entity types,
// numbered by their index in `types`.
Scores score_answers(const TextAnswers& answers, TextTask task,
                     std::span<const TextExample> examples, std::span<const std::string> types);
std::vector<std::string> entity_types(std::span<const TextAnswers* const> sides);

}  // namespace vernier
