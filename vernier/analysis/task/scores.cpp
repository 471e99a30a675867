#include "vernier/analysis/task/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "vernier/error.h"
#include "vernier/metrics/knn.h"
#include "vernier/metrics/non_finite.h"

namespace vernier {
namespace {

constexpr std::int64_t knn_depth = 5;

using Hits = std::vector<std::uint8_t>;

// The share of hits among the samples.
Statistic share_of(Hits hits) {
  return [hits = std::move(hits)](std::span<const std::int64_t> samples) {
    std::int64_t count = 0;
    for (const std::int64_t sample : samples) count += hits[sample];
    return samples.empty() ? nan
                           : 100 * static_cast<double>(count) / static_cast<double>(samples.size());
  };
}

void require_as_many(std::int64_t samples, std::size_t labels) {
  if (static_cast<std::size_t>(samples) != labels)
    throw Error(fmt::format(
        "[score] {} predictions for {} labels; both must be of the same samples", samples, labels));
}

void add_ranking_metrics(Scores& scores, const std::string& top1, const std::string& topk,
                         std::int64_t depth) {
  const Hits first = hits(scores.rankings, scores.labels, 1);
  scores.metrics.push_back({top1, share_of(first), chance_accuracy(scores.labels)});
  if (depth > 1)
    scores.metrics.push_back({topk, share_of(hits(scores.rankings, scores.labels, depth)),
                              chance_accuracy(scores.labels, depth)});
  scores.class_metric = "accuracy";
  for (const ClassAccuracy& entry : accuracy_by_class(first, scores.labels))
    scores.classes.push_back(
        {entry.label, entry.samples,
         percentage(static_cast<double>(entry.correct), static_cast<double>(entry.samples))});
}

Rankings predicted_classes(const TensorView& predictions) {
  return {predictions.shape[0], 1, to_integers(predictions)};
}

}  // namespace

double MetricScore::of_all(std::int64_t samples) const {
  std::vector<std::int64_t> all(samples);
  std::iota(all.begin(), all.end(), 0);
  return of_samples(all);
}

Scores score_knn(Tensor embeddings, std::vector<std::int64_t> labels, const KnnOptions& task,
                 const EmbeddingBank* bank) {
  const NeighbourOptions options{.k = task.k, .threads = task.threads};
  Scores scores;
  scores.neighbours = bank ? bank_neighbours(embeddings, bank->embeddings, options)
                           : leave_one_out_neighbours(embeddings, options);
  scores.samples = scores.neighbours.queries;
  require_as_many(scores.samples, labels.size());
  if (bank) require_as_many(bank->embeddings.shape[0], bank->labels.size());
  scores.rankings = rank_by_vote(scores.neighbours, bank ? bank->labels : labels,
                                 {.temperature = task.temperature, .depth = knn_depth});
  scores.embeddings = std::move(embeddings);
  scores.labels = std::move(labels);
  add_ranking_metrics(scores, "knn_top1_accuracy", "knn_top5_accuracy", knn_depth);
  scores.non_finite = scores.neighbours.non_finite;
  scores.counts = {{"non_finite_samples", scores.non_finite}};
  if (scores.neighbours.k < task.k)
    scores.warnings.push_back(
        {.kind = WarningKind::few_neighbours, .value = static_cast<double>(scores.neighbours.k)});
  return scores;
}

Scores score_classification(const TensorView& predictions, std::vector<std::int64_t> labels,
                            std::int64_t k) {
  Scores scores;
  const bool are_classes = predictions.shape.size() == 1;
  scores.rankings = are_classes ? predicted_classes(predictions)
                                : rank_logits(predictions, std::max<std::int64_t>(k, 1));
  scores.samples = scores.rankings.samples;
  scores.labels = std::move(labels);
  require_as_many(scores.samples, scores.labels.size());
  add_ranking_metrics(scores, "top1_accuracy", fmt::format("top{}_accuracy", k),
                      are_classes ? 1 : k);
  if (are_classes) {
    scores.warnings.push_back({WarningKind::only_top1});
    return scores;
  }
  if (k >= predictions.shape[1])
    scores.warnings.push_back({.kind = WarningKind::certain_metric,
                               .subject = fmt::format("top{}_accuracy", k),
                               .value = static_cast<double>(predictions.shape[1])});
  for (std::int64_t sample = 0; sample < scores.samples; ++sample)
    scores.non_finite += scores.rankings.of(sample)[0] < 0;
  scores.counts = {{"nan_samples", scores.non_finite},
                   {"labels_outside", count_outside(scores.labels, predictions.shape[1])}};
  return scores;
}

Scores score_segmentation(std::vector<ImagePixels> images) {
  if (images.empty()) throw Error("[score] no images, expected at least 1");
  ImagePixels total;
  for (const ImagePixels& image : images) total += image;
  Scores scores{.samples = static_cast<std::int64_t>(images.size())};
  const auto mean_iou = [](const ImagePixels& sum) {
    return mean_intersection_over_union(sum.classes);
  };
  const auto overall = [](const ImagePixels& sum) { return pixel_accuracy(sum.classes); };
  scores.metrics.push_back({"mean_iou", metric_of_sum(images, mean_iou), {}});
  scores.metrics.push_back({"overall_accuracy", metric_of_sum(std::move(images), overall), {}});
  scores.class_metric = "iou";
  for (std::size_t label = 0; label < total.classes.size(); ++label)
    if (total.classes[label].pixels_of_union() > 0)
      scores.classes.push_back({static_cast<std::int64_t>(label), total.classes[label].labelled,
                                intersection_over_union(total.classes[label])});
  scores.counts = {{"ignored_pixels", total.ignored}, {"labels_outside", total.labels_outside}};
  return scores;
}

Scores score_sequences(std::span<const SequencePair> sequences, const BleuOptions& options) {
  std::vector<BleuStatistics> statistics;
  std::vector<TokenMatches> matches;
  std::int64_t empty = 0;
  for (const SequencePair& pair : sequences) {
    statistics.push_back(bleu_statistics(pair.prediction, pair.targets));
    matches.push_back(token_matches(pair.prediction, pair.targets[0]));
    empty += pair.prediction.empty();
  }
  Scores scores{.samples = static_cast<std::int64_t>(sequences.size())};
  const auto score = [options](const BleuStatistics& sum) { return bleu(sum, options).score; };
  const auto share = [](const TokenMatches& sum) {
    return sum.total == 0 ? nan
                          : 100 * static_cast<double>(sum.correct) / static_cast<double>(sum.total);
  };
  scores.metrics.push_back({"bleu", metric_of_sum(std::move(statistics), score), {}});
  scores.metrics.push_back({"token_accuracy", metric_of_sum(std::move(matches), share), {}});
  scores.counts = {{"empty_predictions", empty}};
  return scores;
}

}  // namespace vernier
