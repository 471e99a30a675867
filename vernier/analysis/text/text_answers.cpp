#include "vernier/analysis/text/text_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "vernier/analysis/output_noise.h"
#include "vernier/error.h"
#include "vernier/metrics/token_scores.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/rows.h"

namespace vernier {
namespace {

constexpr std::int64_t longest_answer = 30;
constexpr std::size_t tried_starts = 20;

const Tensor& output_of_rank(const std::vector<Tensor>& outputs, std::size_t rank,
                             std::string_view what) {
  for (const Tensor& output : outputs)
    if (is_float(output.dtype) && output.shape.size() == rank) return output;
  throw Error(
      fmt::format("[text] no output of {} axes, which {} would have; the first has shape {}", rank,
                  what, outputs.empty() ? "none" : format_shape(outputs[0].shape)));
}

bool are_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

std::string label_name(const AnswerRules& rules, std::int64_t label) {
  const auto found = rules.labels.find(label);
  return found == rules.labels.end() ? fmt::format("LABEL_{}", label) : found->second;
}

// A word's tag is that of its first token. Words that were cut off are left out.
void add_tags(TextAnswers& answers, const AnswerRules& rules, const TextExample& example,
              const AnsweredText& answered) {
  const auto& [text, outputs] = answered;
  const Tensor& logits = output_of_rank(outputs, 3, "scores of each token");
  std::vector<std::string> expected, found;
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < std::ssize(text.ids); ++i) {
    const std::int64_t word = text.word[i];
    if (text.added[i] || word < 0 || word == last) continue;
    last = word;
    const std::vector<float> row = row_to_f32(logits, i);
    answers.non_finite += !are_finite(row);
    expected.push_back(example.tags.at(static_cast<std::size_t>(word)));
    found.push_back(label_name(rules, std::ranges::max_element(row) - row.begin()));
  }
  answers.tagged.push_back(compare_tags(expected, found));
}

// The scores of the answer's first and last token: two outputs, or two columns of one.
std::pair<std::vector<float>, std::vector<float>> span_scores(const std::vector<Tensor>& outputs) {
  std::vector<const Tensor*> rows;
  for (const Tensor& output : outputs)
    if (is_float(output.dtype) && output.shape.size() == 2) rows.push_back(&output);
  if (rows.size() >= 2) return {to_f32(*rows[0]), to_f32(*rows[1])};
  const Tensor& both = output_of_rank(outputs, 3, "scores of where answers begin and end");
  if (both.shape.back() != 2)
    throw Error(
        fmt::format("[text] '{}': shape {}; expected 2 columns, of where answers begin and end",
                    both.name, format_shape(both.shape)));
  const std::vector<float> values = to_f32(both);
  std::pair<std::vector<float>, std::vector<float>> scores;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    scores.first.push_back(values[i]);
    scores.second.push_back(values[i + 1]);
  }
  return scores;
}

void add_span(TextAnswers& answers, const AnswerRules& rules, const TextExample& example,
              const AnsweredText& answered) {
  const EncodedText& text = answered.text;
  const auto [begins, ends] = span_scores(answered.outputs);
  answers.non_finite += !are_finite(begins) || !are_finite(ends);
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < std::min(text.ids.size(), begins.size()); ++i)
    if (text.text[i] == 1 && !text.added[i]) starts.push_back(i);
  const std::set<std::size_t> context(starts.begin(), starts.end());
  std::ranges::stable_sort(starts, std::greater(), [&](std::size_t i) { return begins[i]; });
  starts.resize(std::min(starts.size(), tried_starts));
  double most = -INFINITY;
  std::pair<std::size_t, std::size_t> best;
  for (const std::size_t first : starts)
    for (std::size_t last = first;
         last < std::min(ends.size(), first + static_cast<std::size_t>(longest_answer)); ++last) {
      const double score = double(begins[first]) + ends[last];
      if (!context.contains(last) || !(score > most)) continue;
      most = score;
      best = {first, last};
    }
  std::string answer;
  // If some questions have no answer, the first token stands for "no answer".
  const bool none = rules.has_unanswerable && !begins.empty() && double(begins[0]) + ends[0] > most;
  if (std::isfinite(most) && !none)
    answer = example.text.pair.substr(
        static_cast<std::size_t>(text.begin[best.first]),
        static_cast<std::size_t>(text.end[best.second] - text.begin[best.first]));
  answers.answers.push_back(score_answer(answer, example.answers));
}

// The mean of the vectors of the text's tokens, without padding; the model's first output of two
// axes if no output has a vector for each token.
std::vector<float> embedding(const AnsweredText& answered) {
  const auto& [text, outputs] = answered;
  const auto of_tokens = std::ranges::find_if(outputs, [](const Tensor& output) {
    return is_float(output.dtype) && output.shape.size() == 3;
  });
  if (of_tokens == outputs.end()) return row_to_f32(output_of_rank(outputs, 2, "an embedding"), 0);
  std::vector<double> sum(static_cast<std::size_t>(of_tokens->shape.back()));
  for (std::int64_t i = 0; i < std::ssize(text.ids); ++i) {
    const std::vector<float> row = row_to_f32(*of_tokens, i);
    for (std::size_t k = 0; k < row.size(); ++k) sum[k] += row[k];
  }
  std::vector<float> mean;
  for (const double each : sum)
    mean.push_back(static_cast<float>(each / static_cast<double>(text.ids.size())));
  return mean;
}

void add_cosine(TextAnswers& answers, const AnsweredText& one, const AnsweredText& second) {
  const std::vector<float> first = embedding(one), other = embedding(second);
  answers.cosines.push_back(cosine(first, other));
  answers.non_finite += !std::isfinite(answers.cosines.back());
}

}  // namespace

void add_answer(TextAnswers& answers, const AnswerRules& rules, const TextExample& example,
                std::span<const AnsweredText> texts) {
  switch (rules.task) {
    case TextTask::text_classification:
      answers.logits.push_back(row_to_f32(output_of_rank(texts[0].outputs, 2, "a classifier"), 0));
      answers.non_finite += !are_finite(answers.logits.back());
      return;
    case TextTask::token_classification: return add_tags(answers, rules, example, texts[0]);
    case TextTask::question_answering: return add_span(answers, rules, example, texts[0]);
    default: return add_cosine(answers, texts[0], texts[1]);
  }
}

double masked_nll(const AnsweredText& answered, std::size_t token) {
  const Tensor& logits = output_of_rank(answered.outputs, 3, "scores of each token");
  return token_nll(row_to_f32(logits, static_cast<std::int64_t>(token)), answered.text.ids[token]);
}

}  // namespace vernier
