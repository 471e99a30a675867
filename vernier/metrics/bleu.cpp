#include "vernier/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::array<std::string_view, 4> names{"none", "floor", "add-k", "exp"};
using Counts = std::map<Tokens, std::int64_t>;

Counts count_ngrams(std::span<const std::int64_t> tokens, std::size_t order) {
  Counts counts;
  for (std::size_t begin = 0; begin + order <= tokens.size(); ++begin) {
    const auto ngram = tokens.subspan(begin, order);
    ++counts[Tokens(ngram.begin(), ngram.end())];
  }
  return counts;
}

Counts most_of_any(std::span<const Tokens> targets, std::size_t order) {
  Counts most;
  for (const Tokens& target : targets)
    for (const auto& [ngram, count] : count_ngrams(target, order))
      most[ngram] = std::max(most[ngram], count);
  return most;
}

std::int64_t nearest_length(std::int64_t length, std::span<const Tokens> targets) {
  const auto rank = [&](const Tokens& target) {
    const auto size = static_cast<std::int64_t>(target.size());
    return std::pair(std::abs(size - length), size);
  };
  return static_cast<std::int64_t>(std::ranges::min_element(targets, {}, rank)->size());
}

double brevity_penalty(const BleuStatistics& statistics) {
  if (statistics.prediction_length >= statistics.target_length) return 1;
  if (statistics.prediction_length == 0) return 0;
  return std::exp(1 - static_cast<double>(statistics.target_length) /
                          static_cast<double>(statistics.prediction_length));
}

double smoothing_value(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == Smoothing::floor ? 0.1 : 1);
}

}  // namespace

BleuStatistics& BleuStatistics::operator+=(const BleuStatistics& other) {
  for (int n = 0; n < bleu_order; ++n) {
    correct[n] += other.correct[n];
    total[n] += other.total[n];
  }
  prediction_length += other.prediction_length;
  target_length += other.target_length;
  return *this;
}

BleuStatistics bleu_statistics(std::span<const std::int64_t> prediction,
                               std::span<const Tokens> targets) {
  if (targets.empty()) throw Error("[bleu] a prediction without a target; give at least one");
  BleuStatistics statistics;
  statistics.prediction_length = static_cast<std::int64_t>(prediction.size());
  statistics.target_length = nearest_length(statistics.prediction_length, targets);
  for (int n = 0; n < bleu_order; ++n) {
    const Counts allowed = most_of_any(targets, n + 1);
    for (const auto& [ngram, count] : count_ngrams(prediction, n + 1)) {
      statistics.total[n] += count;
      const auto found = allowed.find(ngram);
      if (found != allowed.end()) statistics.correct[n] += std::min(count, found->second);
    }
  }
  return statistics;
}

std::optional<Smoothing> parse_smoothing(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Smoothing>(found - names.begin());
}

std::span<const std::string_view> smoothing_names() { return names; }

BleuScore bleu(const BleuStatistics& statistics, const BleuOptions& options) {
  BleuScore result{.brevity_penalty = brevity_penalty(statistics)};
  if (std::ranges::all_of(statistics.correct, [](auto count) { return count == 0; })) return result;

  const double value = smoothing_value(options);
  double halved = 1;
  int orders = bleu_order;
  for (int n = 0; n < bleu_order; ++n) {
    const double added = options.smoothing == Smoothing::add_k && n > 0 ? value : 0;
    double correct = static_cast<double>(statistics.correct[n]) + added;
    const double total = static_cast<double>(statistics.total[n]) + added;
    if (total == 0) break;
    if (options.effective_order) orders = n + 1;
    if (correct == 0 && options.smoothing == Smoothing::exponential) correct = halved /= 2;
    if (correct == 0 && options.smoothing == Smoothing::floor) correct = value;
    result.precisions[n] = 100 * correct / total;
  }

  double logarithms = 0;
  for (int n = 0; n < orders; ++n) logarithms += std::log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(logarithms / orders);
  return result;
}

TokenMatches& TokenMatches::operator+=(const TokenMatches& other) {
  correct += other.correct;
  total += other.total;
  return *this;
}

TokenMatches token_matches(std::span<const std::int64_t> prediction,
                           std::span<const std::int64_t> target,
                           std::optional<std::int64_t> ignored) {
  TokenMatches matches;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == ignored) continue;
    ++matches.total;
    matches.correct += i < prediction.size() && prediction[i] == target[i];
  }
  return matches;
}

}  // namespace vernier
