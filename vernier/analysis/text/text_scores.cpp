#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "vernier/analysis/text/text_answers.h"
#include "vernier/metrics/rank_correlation.h"

namespace vernier {
namespace {

Statistic mean_percentage(std::vector<AnswerScore> answers, double AnswerScore::*score) {
  return [answers = std::move(answers), score](std::span<const std::int64_t> samples) {
    double sum = 0;
    for (const std::int64_t sample : samples) sum += 100 * answers[sample].*score;
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
  std::erase_if(scores.warnings,
                [](const Warning& warning) { return warning.kind == WarningKind::certain_metric; });
  return scores;
}

Scores tag_scores(const TextAnswers& answers, std::span<const std::string> types) {
  Scores scores{.samples = std::ssize(answers.tagged), .class_metric = "f1"};
  std::vector<EntityCounts> counts;
  for (const TaggedWords& each : answers.tagged) counts.push_back(each.all());
  const auto add = [&](const char* name, auto value) {
    scores.metrics.push_back({name, metric_of_sum(counts, std::mem_fn(value)), {}});
  };
  add("overall_precision", &EntityCounts::precision);
  add("overall_recall", &EntityCounts::recall);
  add("overall_f1", &EntityCounts::f1);
  const auto accuracy = [](const TaggedWords& sum) {
    return sum.words > 0 ? 100 * static_cast<double>(sum.right) / static_cast<double>(sum.words)
                         : NAN;
  };
  scores.metrics.push_back({"overall_accuracy", metric_of_sum(answers.tagged, accuracy), {}});
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
  const auto add = [&](const char* name, Statistic metric) {
    scores.metrics.push_back({name, std::move(metric), {}});
  };
  if (task == TextTask::question_answering) {
    scores.samples = std::ssize(answers.answers);
    add("exact_match", mean_percentage(answers.answers, &AnswerScore::exact_match));
    add("f1", mean_percentage(answers.answers, &AnswerScore::f1));
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
    add("pseudo_perplexity",
        [nll](std::span<const std::int64_t> samples) { return std::exp(nll(samples)); });
    add("nll", nll);
  } else {
    scores.samples = std::ssize(answers.cosines);
    std::vector<double> gold;
    for (const TextExample& example : examples) gold.push_back(example.score);
    add("cosine_spearman",
        [gold, cosines = answers.cosines](std::span<const std::int64_t> samples) {
          std::vector<double> wanted, found;
          for (const std::int64_t sample : samples) {
            wanted.push_back(gold[sample]);
            found.push_back(cosines[sample]);
          }
          return 100 * spearman(wanted, found);
        });
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
