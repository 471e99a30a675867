#include <algorithm>
#include <cmath>
#include <set>

#include "vernier/analysis/text/text_answers.h"
#include "vernier/metrics/rank_correlation.h"

namespace vernier {
namespace {

template <typename Value, typename Metric>
Statistic mean_of(std::vector<Value> values, Metric metric) {
  return [values = std::move(values), metric](std::span<const std::int64_t> samples) {
    double sum = 0;
    for (const std::int64_t sample : samples) sum += metric(values[sample]);
    return samples.empty() ? NAN : sum / static_cast<double>(samples.size());
  };
}

Scores class_scores(const TextAnswers& answers, std::span<const TextExample> examples) {
  const auto classes = static_cast<std::int64_t>(answers.logits.at(0).size());
  Tensor logits = make_tensor("logits", DType::f32, {std::ssize(answers.logits), classes});
  auto out = elements<float>(logits).begin();
  for (const std::vector<float>& row : answers.logits) out = std::ranges::copy(row, out).out;
  std::vector<std::int64_t> labels;
  for (const TextExample& example : examples) labels.push_back(example.label);
  labels.resize(answers.logits.size());
  Scores scores = score_classification(logits, std::move(labels), 1);
  scores.metrics.at(0).name = "accuracy";
  std::erase_if(scores.warnings, [](const std::string& warning) {
    return warning.starts_with("top1_accuracy says nothing");
  });
  return scores;
}

Scores tag_scores(const TextAnswers& answers, std::span<const std::string> types) {
  Scores scores{.samples = std::ssize(answers.tagged), .class_metric = "f1"};
  const auto metric = [&](const char* name, double (EntityCounts::*value)() const) {
    scores.metrics.push_back(
        {name,
         [tagged = answers.tagged, value](std::span<const std::int64_t> samples) {
           EntityCounts sum;
           for (const std::int64_t sample : samples) sum += tagged[sample].all();
           return (sum.*value)();
         },
         {}});
  };
  metric("overall_precision", &EntityCounts::precision);
  metric("overall_recall", &EntityCounts::recall);
  metric("overall_f1", &EntityCounts::f1);
  scores.metrics.push_back({"overall_accuracy",
                            [tagged = answers.tagged](std::span<const std::int64_t> samples) {
                              double right = 0, words = 0;
                              for (const std::int64_t sample : samples) {
                                right += static_cast<double>(tagged[sample].right);
                                words += static_cast<double>(tagged[sample].words);
                              }
                              return words > 0 ? 100 * right / words : NAN;
                            },
                            {}});
  TaggedWords total;
  for (const TaggedWords& each : answers.tagged) total += each;
  std::int64_t number = 0;
  for (const std::string& type : types)
    scores.classes.push_back({number++, total.types[type].expected, total.types[type].f1()});
  scores.non_finite = answers.non_finite;
  return scores;
}

}  // namespace

Scores score_answers(const TextAnswers& answers, TextTask task,
                     std::span<const TextExample> examples, std::span<const std::string> types) {
  switch (task) {
    case TextTask::text_classification: return class_scores(answers, examples);
    case TextTask::token_classification: return tag_scores(answers, types);
    default: break;
  }
  Scores scores{.non_finite = answers.non_finite};
  if (task == TextTask::question_answering) {
    scores.samples = std::ssize(answers.answers);
    scores.metrics.push_back(
        {"exact_match",
         mean_of(answers.answers, [](const AnswerScore& each) { return 100 * each.exact_match; }),
         {}});
    scores.metrics.push_back(
        {"f1",
         mean_of(answers.answers, [](const AnswerScore& each) { return 100 * each.f1; }),
         {}});
  } else if (task == TextTask::fill_mask) {
    scores.samples = std::ssize(answers.masked);
    const auto nll = [masked = answers.masked](std::span<const std::int64_t> samples) {
      double sum = 0;
      std::int64_t tokens = 0;
      for (const std::int64_t sample : samples) {
        sum += masked[sample].first;
        tokens += masked[sample].second;
      }
      return tokens > 0 ? sum / static_cast<double>(tokens) : NAN;
    };
    scores.metrics.push_back(
        {"pseudo_perplexity",
         [nll](std::span<const std::int64_t> samples) { return std::exp(nll(samples)); },
         {}});
    scores.metrics.push_back({"nll", nll, {}});
  } else {
    scores.samples = std::ssize(answers.cosines);
    std::vector<double> gold;
    for (const TextExample& example : examples) gold.push_back(example.score);
    scores.metrics.push_back(
        {"cosine_spearman",
         [gold, cosines = answers.cosines](std::span<const std::int64_t> samples) {
           std::vector<double> wanted, found;
           for (const std::int64_t sample : samples) {
             wanted.push_back(gold[sample]);
             found.push_back(cosines[sample]);
           }
           return 100 * spearman(wanted, found);
         },
         {}});
  }
  return scores;
}

std::vector<std::string> entity_types(std::span<const TextAnswers* const> sides) {
  std::set<std::string> types;
  for (const TextAnswers* side : sides)
    for (const TaggedWords& each : side->tagged)
      for (const auto& [type, counts] : each.types) types.insert(type);
  return {types.begin(), types.end()};
}

}  // namespace vernier
