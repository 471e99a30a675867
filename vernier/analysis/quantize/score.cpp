#include "vernier/analysis/quantize/score.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "vernier/analysis/parts/content_hash.h"
#include "vernier/analysis/parts/record.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/error.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/parallel.h"
#include "vernier/metrics/similarity.h"
#include "vernier/metrics/token_scores.h"
#include "vernier/model/decoder.h"
#include "vernier/model/skeleton.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::int64_t resamples = 400;

struct SampleScore {
  double noise = 0, agreement = 0, right = 0, rows = 0, kl = 0;
  bool has_agreement = false, nonfinite = false;
};
template <typename Archive>
void fields(Archive& archive, SampleScore& score) {
  archive(score.noise, score.agreement, score.right, score.rows, score.kl, score.has_agreement,
          score.nonfinite);
}

std::string hash_of(const Model& model) { return content_hash(flatten(model.pieces())).text(); }

// What `measure` gives for a sample, or what it gave before the program was ended.
template <typename Measure>
auto recorded(SampleRecords* records, const std::string& section, std::int64_t sample,
              Measure measure) -> decltype(measure()) {
  if (!records) return measure();
  if (const auto found = records->find(section, sample))
    return from_record<decltype(measure())>(*found);
  auto measured = measure();
  records->keep(section, sample, to_record(measured));
  return measured;
}

double decibels(double signal_over_noise) { return 10 * std::log10(signal_over_noise); }

double sum_of(std::span<const double> noise, std::span<const std::int64_t> samples) {
  double sum = 0;
  for (const std::int64_t sample : samples) sum += noise[sample];
  return sum;
}

// That have to gain before the others are run.
std::int64_t promising_samples(std::int64_t samples) {
  return std::max<std::int64_t>(16, samples / 3);
}

// On the samples that were scored.
bool is_better_so_far(const OutputScore& score, const OutputScore& best) {
  const bool by_kl = !score.kl.empty() && !best.kl.empty();
  const auto first = [&](const OutputScore& of) {
    return std::span(by_kl ? of.kl : of.noise).first(score.noise.size());
  };
  const auto sum = [](std::span<const double> noise) {
    double total = 0;
    for (const double each : noise) total += each;
    return total;
  };
  return sum(first(score)) < sum(first(best));
}

OrtOptions run_options(Arithmetic arithmetic) {
  return {.exact = arithmetic == Arithmetic::exact, .threads = 1};
}

// The classes of a sample's rows: the first maximum of each; none for what is no table of scores.
std::vector<std::int64_t> classes(const TensorView& output) {
  if (output.shape.size() != 2 || output.shape[1] < 2) return {};
  const std::vector<float> values = to_f32(output);
  std::vector<std::int64_t> result;
  for (std::int64_t row = 0; row < output.shape[0]; ++row) {
    const auto first = values.begin() + row * output.shape[1];
    result.push_back(std::max_element(first, first + output.shape[1]) - first);
  }
  return result;
}

// How many of the rows have their label, and how many rows there are.
std::pair<double, double> count_right(const TensorView& output, const TensorView& labels) {
  const std::vector<std::int64_t> answers = classes(output);
  const std::vector<double> wanted = to_f64(labels);
  if (answers.size() != wanted.size()) return {0, 0};
  double right = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) right += answers[i] == wanted[i];
  return {right, static_cast<double>(answers.size())};
}

}  // namespace

double OutputScore::sqnr_db() const {
  double sum = 0;
  for (const double each : noise) sum += each;
  if (noise.empty() || std::isnan(sum)) return std::numeric_limits<double>::quiet_NaN();
  return sum == 0 ? std::numeric_limits<double>::infinity() : decibels(1 / sum);
}

double OutputScore::kl_mean() const {
  if (kl.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const double each : kl) sum += each;
  return sum;
}

ConfidenceInterval kl_interval(const OutputScore& score) {
  const auto count = static_cast<double>(score.kl.size());
  return bootstrap_interval(std::ssize(score.kl),
                            [&](std::span<const std::int64_t> samples) {
                              return sum_of(score.kl, samples) * count /
                                     static_cast<double>(samples.size());
                            },
                            {.resamples = resamples});
}

Gain gain(const OutputScore& before, const OutputScore& after) {
  const bool by_kl = !before.kl.empty() && !after.kl.empty();
  const auto ratio = [&](std::span<const std::int64_t> samples) {
    const double first = sum_of(by_kl ? before.kl : before.noise, samples);
    const double second = sum_of(by_kl ? after.kl : after.noise, samples);
    if (first == 0 && second == 0) return 0.0;
    return std::clamp(decibels(first / std::max(second, 1e-300)), -300.0, 300.0);
  };
  std::vector<std::int64_t> all(std::min(before.noise.size(), after.noise.size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return {ratio(all), bootstrap_interval(std::ssize(all), ratio, {.resamples = resamples})};
}

ConfidenceInterval sqnr_interval(const OutputScore& score) {
  const auto count = static_cast<double>(score.noise.size());
  return bootstrap_interval(std::ssize(score.noise),
                            [&](std::span<const std::int64_t> samples) {
                              const double noise = sum_of(score.noise, samples);
                              return std::clamp(decibels(static_cast<double>(samples.size()) /
                                                         count / std::max(noise, 1e-300)),
                                                -300.0, 300.0);
                            },
                            {.resamples = resamples});
}

OutputScorer::OutputScorer(const Model& reference, SampleRuns runs,
                           std::vector<std::vector<Tensor>> outputs)
    : runs_(std::move(runs)), outputs_(std::move(outputs)) {
  OrtRunner runner(reference.clone(), run_options(Arithmetic::exact));
  for (std::size_t i = 0; i < runner.outputs().size(); ++i)
    if (is_float(runner.outputs()[i].dtype)) compared_.push_back(i);
  if (compared_.empty())
    throw Error(
        fmt::format("[quantize] {}: no output holds floats, so nothing tells how good a "
                    "quantized model is",
                    reference.name()));
  if (outputs_.empty()) {
    outputs_.resize(runs_.indices.size());
    parallel_for(std::ssize(runs_.indices), thread_count(runs_.threads), [&](std::int64_t i) {
      outputs_[i] = runner.run(runs_.samples.sample(runs_.indices[i]));
    });
  }
  const auto decoder = find_decoder(reference);
  for (std::size_t i = 0; decoder && i < runner.outputs().size(); ++i)
    if (runner.outputs()[i].name == decoder->logits) logits_ = i;
  for (const auto& sample : outputs_)
    if (logits_)
      tokens_ += sample[*logits_].size() / std::max<std::int64_t>(1, sample[*logits_].shape.back());
  signal_.resize(compared_.size());
  for (std::size_t s = 0; s < outputs_.size(); ++s) {
    require_finite(outputs_[s], runs_.samples.number(runs_.indices[s]));
    for (std::size_t i = 0; i < compared_.size(); ++i) {
      const Tensor& output = outputs_[s][compared_[i]];
      signal_[i] += measure_noise(output, output).reference_squares;
    }
  }
  double right = 0, rows = 0;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    auto labels = runs_.samples.labels(runs_.indices[i]);
    if (!labels) break;
    const auto [sample_right, sample_rows] = count_right(outputs_[i][compared_[0]], *labels);
    right += sample_right;
    rows += sample_rows;
    labels_.push_back(std::move(*labels));
  }
  if (labels_.size() == outputs_.size() && rows > 0) reference_accuracy_ = 100 * right / rows;
  if (runs_.records)
    against_ = content_hash(fmt::format("{} {}", hash_of(reference), fmt::join(runs_.indices, " ")))
                   .text();
}

std::string OutputScorer::section(std::string_view measured, const Model& candidate) const {
  if (!runs_.records) return "";
  return fmt::format("{} of {} against {}", measured, hash_of(candidate), against_);
}

OutputScore OutputScorer::score(const Model& candidate, Arithmetic arithmetic) const {
  return score(candidate, arithmetic, samples());
}

OutputScore OutputScorer::score_promising(const Model& candidate, const OutputScore& best) const {
  return score(candidate, Arithmetic::exact, samples(), &best);
}

OutputScore OutputScorer::score_first(const Model& candidate, std::int64_t samples) const {
  return score(candidate, Arithmetic::exact, std::min(samples, this->samples()));
}

std::vector<float> OutputScorer::errors(const Model& candidate, std::int64_t samples) const {
  OrtRunner runner(candidate.clone(), run_options(Arithmetic::exact));
  const std::string where = section("errors", candidate);
  const auto measure = [&](std::int64_t i) {
    std::vector<float> sample;
    const std::vector<Tensor> outputs = runner.run(runs_.samples.sample(runs_.indices[i]));
    for (const std::size_t j : compared_) {
      const std::vector<float> reference = to_f32(outputs_[i][j]), output = to_f32(outputs[j]);
      for (std::size_t k = 0; k < std::min(reference.size(), output.size()); ++k)
        sample.push_back(output[k] - reference[k]);
    }
    return sample;
  };
  std::vector<float> errors;
  parallel_in_order(
      0, std::min(samples, this->samples()), thread_count(runs_.threads),
      [&](std::int64_t i) { return recorded(runs_.records, where, i, [&] { return measure(i); }); },
      [&](const std::vector<float>& sample) {
        errors.insert(errors.end(), sample.begin(), sample.end());
        return true;
      });
  return errors;
}

OutputScore OutputScorer::score(const Model& candidate, Arithmetic arithmetic, std::int64_t samples,
                                const OutputScore* best) const {
  OrtRunner runner(candidate.clone(), run_options(arithmetic));
  const std::string where =
      section(arithmetic == Arithmetic::exact ? "score" : "deployed score", candidate);
  const auto measure = [&](std::int64_t i) {
    SampleScore result;
    const std::vector<Tensor> outputs = runner.run(runs_.samples.sample(runs_.indices[i]));
    for (std::size_t j = 0; j < compared_.size(); ++j) {
      const Tensor& reference = outputs_[i][compared_[j]];
      const Tensor& output = outputs[compared_[j]];
      const NoiseSums sums = measure_noise(reference, output);
      result.nonfinite = result.nonfinite || !std::isfinite(sums.difference_squares);
      if (signal_[j] > 0)
        result.noise += sums.difference_squares / signal_[j] / double(compared_.size());
      if (j == 0 && !classes(reference).empty())
        if (const auto share = argmax_agreement(reference, output)) {
          result.agreement = *share;
          result.has_agreement = true;
        }
      if (j == 0 && reference_accuracy_)
        std::tie(result.right, result.rows) = count_right(output, labels_[i]);
      if (logits_ == compared_[j]) {
        result.kl = kl_of_rows(reference, output).sum / static_cast<double>(tokens_);
        if (std::isnan(result.kl)) result.kl = INFINITY;
      }
    }
    return result;
  };
  OutputScore score;
  double agreement = 0, right = 0, rows = 0;
  std::int64_t agreeing = 0;
  parallel_in_order(
      0, samples, thread_count(runs_.threads),
      [&](std::int64_t i) { return recorded(runs_.records, where, i, [&] { return measure(i); }); },
      [&](const SampleScore& sample) {
        score.noise.push_back(sample.noise);
        if (logits_) score.kl.push_back(sample.kl);
        score.nonfinite += sample.nonfinite;
        agreement += sample.agreement;
        agreeing += sample.has_agreement;
        right += sample.right;
        rows += sample.rows;
        return !best || std::ssize(score.noise) != promising_samples(samples) ||
               is_better_so_far(score, *best);
      });
  if (agreeing > 0) score.agreement = agreement / static_cast<double>(agreeing);
  if (rows > 0) score.accuracy = 100 * right / rows;
  return score;
}

}  // namespace vernier
