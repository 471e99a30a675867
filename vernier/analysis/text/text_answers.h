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
  std::vector<std::vector<float>> logits;  // of classes
  std::vector<TaggedWords> tagged;
  std::vector<AnswerScore> answers;
  std::vector<std::pair<double, std::int64_t>> masked;  // negative log-likelihood, tokens
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
  tagged.types = {types.begin(), types.end()};
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

// How answers of a task are read.
struct AnswerRules {
  TextTask task = TextTask::text_classification;
  std::map<std::int64_t, std::string> labels;
  bool has_unanswerable = false;  // questions without an answer among the examples
};

// What a model computed of a text: outputs of a run of that text alone.
struct AnsweredText {
  const EncodedText& text;
  const std::vector<Tensor>& outputs;
};

// Adds the answer to an example of any task but fill-mask: of sentence-similarity by its two texts,
// of others by one. Throws Error for outputs that the task cannot read.
void add_answer(TextAnswers& answers, const AnswerRules& rules, const TextExample& example,
                std::span<const AnsweredText> texts);

// The negative log-likelihood of the token of `text` that is masked in what the model was fed.
double masked_nll(const AnsweredText& answered, std::size_t token);

// Scores of answers to `examples`, and how they are judged, unless limits are set. Classes of
// token-classification are the types of entities, numbered in the order of their names in `types`.
Scores score_answers(const TextAnswers& answers, TextTask task,
                     std::span<const TextExample> examples, std::span<const std::string> types);
std::vector<std::string> entity_types(std::span<const TextAnswers* const> sides);

}  // namespace vernier
