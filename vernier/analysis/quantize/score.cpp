#include "vernier/analysis/quantize/score.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
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

struct SampleScore {
  std::vector<double> noise;  // squared error of each compared output
  double agreement = 0, right = 0, rows = 0, kl = 0, tokens = 0;
  bool has_agreement = false, nonfinite = false;
};
template <typename Archive>
void fields(Archive& archive, SampleScore& score) {
  archive(score.noise, score.agreement, score.right, score.rows, score.kl, score.tokens,
          score.has_agreement, score.nonfinite);
}

std::string hash_of(const Model& model) { return content_hash(flatten(model.pieces())).text(); }

// The measurement of a sample, read from the records of an earlier run if it is there.
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

// How many samples have to gain before the others are run.
std::int64_t promising_samples(std::int64_t samples) {
  return std::max<std::int64_t>(16, samples / 3);
}

OrtOptions run_options(Arithmetic arithmetic) {
  return {.exact = arithmetic == Arithmetic::exact, .threads = 1};
}

// The predicted class of each row: its first maximum. Empty unless the shape is [rows, classes].
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

// The number of rows whose label is predicted, and the number of rows; 0, 0 if labels do not fit.
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
  return noise.samples() == 0 ? std::numeric_limits<double>::quiet_NaN() : noise_db(noise.total());
}

Gain gain(const OutputScore& before, const OutputScore& after) {
  const std::int64_t samples = std::min(before.noise.samples(), after.noise.samples());
  const OutputNoise first = before.noise.first(samples), second = after.noise.first(samples);
  if (first.kl && second.kl)
    return {gain_db(first.kl_mean(), second.kl_mean()), kl_gain_interval(first, second)};
  return {gain_db(first.total(), second.total()), gain_interval(first, second)};
}

OutputScorer::OutputScorer(const Model& reference, SampleRuns runs,
                           std::vector<std::vector<Tensor>> outputs)
    : runs_(std::move(runs)), outputs_(std::move(outputs)) {
  OrtRunner runner(reference.clone(), run_options(Arithmetic::exact));
  for (std::size_t i = 0; i < runner.outputs().size(); ++i)
    if (is_float(runner.outputs()[i].dtype)) compared_.push_back(i);
  if (compared_.empty())
    throw Error(fmt::format(
        "[quantize] {}: no output holds floats, so nothing tells how good a quantized model is",
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
  for (std::size_t s = 0; s < outputs_.size(); ++s)
    require_finite(outputs_[s], runs_.samples.number(runs_.indices[s]));
  answers_ = compared_[0];
  measure_signal();
  for (const std::size_t i : compared_) names_.push_back(runner.outputs()[i].name);
  double right = 0, rows = 0;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    auto labels = runs_.samples.labels(runs_.indices[i]);
    if (!labels) break;
    const auto [sample_right, sample_rows] = count_right(outputs_[i][answers_], *labels);
    right += sample_right;
    rows += sample_rows;
    labels_.push_back(std::move(*labels));
  }
  if (labels_.size() == outputs_.size() && rows > 0) reference_accuracy_ = 100 * right / rows;
  if (runs_.records)
    against_ = content_hash(fmt::format("{} {}", hash_of(reference), fmt::join(runs_.indices, " ")))
                   .text();
}

void OutputScorer::measure_signal() {
  const auto squares = [](const Tensor& output) {
    return measure_noise(output, output).reference_squares;
  };
  std::vector<std::size_t> loud;
  for (const std::size_t i : compared_)
    if (std::ranges::any_of(outputs_, [&](const auto& sample) { return squares(sample[i]) > 0; }))
      loud.push_back(i);
  if (!loud.empty()) compared_ = std::move(loud);
  for (const std::vector<Tensor>& sample : outputs_) {
    std::vector<double>& signal = signal_.emplace_back();
    for (const std::size_t i : compared_) signal.push_back(squares(sample[i]));
  }
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
  const std::string where = section("relative errors", candidate);
  std::vector<double> total(compared_.size());
  for (const std::vector<double>& signal : signal_)
    std::ranges::transform(total, signal, total.begin(), std::plus{});
  const auto measure = [&](std::int64_t i) {
    std::vector<float> sample;
    const std::vector<Tensor> outputs = runner.run(runs_.samples.sample(runs_.indices[i]));
    for (std::size_t j = 0; j < compared_.size(); ++j) {
      const std::vector<float> reference = to_f32(outputs_[i][compared_[j]]);
      const std::vector<float> output = to_f32(outputs[compared_[j]]);
      const auto scale = static_cast<float>(total[j] > 0 ? 1 / std::sqrt(total[j]) : 1);
      for (std::size_t k = 0; k < std::min(reference.size(), output.size()); ++k)
        sample.push_back((output[k] - reference[k]) * scale);
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
      section(arithmetic == Arithmetic::exact ? "scores" : "deployed scores", candidate);
  const auto measure = [&](std::int64_t i) {
    SampleScore result;
    const std::vector<Tensor> outputs = runner.run(runs_.samples.sample(runs_.indices[i]));
    for (const std::size_t j : compared_) {
      const NoiseSums sums = measure_noise(outputs_[i][j], outputs[j]);
      result.nonfinite = result.nonfinite || !std::isfinite(sums.difference_squares);
      result.noise.push_back(sums.difference_squares);
    }
    const Tensor &reference = outputs_[i][answers_], &output = outputs[answers_];
    if (!classes(reference).empty())
      if (const auto share = argmax_agreement(reference, output)) {
        result.agreement = *share;
        result.has_agreement = true;
      }
    if (reference_accuracy_) std::tie(result.right, result.rows) = count_right(output, labels_[i]);
    if (logits_) {
      const KlSum kl = kl_of_rows(outputs_[i][*logits_], outputs[*logits_]);
      result.kl = std::isnan(kl.sum) ? INFINITY : kl.sum;
      result.tokens = static_cast<double>(kl.rows);
    }
    return result;
  };
  OutputScore score;
  for (const std::string& name : names_) score.noise.outputs.push_back({name, {}, {}});
  if (logits_) score.noise.kl.emplace();
  std::size_t next = 0;
  double agreement = 0, right = 0, rows = 0;
  std::int64_t agreeing = 0;
  parallel_in_order(
      0, samples, thread_count(runs_.threads),
      [&](std::int64_t i) { return recorded(runs_.records, where, i, [&] { return measure(i); }); },
      [&](const SampleScore& sample) {
        for (std::size_t j = 0; j < sample.noise.size(); ++j) {
          score.noise.outputs[j].over.push_back(sample.noise[j]);
          score.noise.outputs[j].under.push_back(signal_[next][j]);
        }
        if (logits_) {
          score.noise.kl->over.push_back(sample.kl);
          score.noise.kl->under.push_back(sample.tokens);
        }
        ++next;
        score.nonfinite += sample.nonfinite;
        agreement += sample.agreement;
        agreeing += sample.has_agreement;
        right += sample.right;
        rows += sample.rows;
        return !best || score.noise.samples() != promising_samples(samples) ||
               gain(*best, score).db > 0;
      });
  if (agreeing > 0) score.agreement = agreement / static_cast<double>(agreeing);
  if (rows > 0) score.accuracy = 100 * right / rows;
  return score;
}

}  // namespace vernier
