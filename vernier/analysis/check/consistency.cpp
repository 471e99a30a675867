#include "vernier/analysis/check/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "vernier/analysis/compare/compare.h"
#include "vernier/analysis/decoding/fed_decoder.h"
#include "vernier/error.h"
#include "vernier/model/decoder.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/isolated_runner.h"
#include "vernier/runtime/open_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr double large = 1e3;
// Relative error that float32 rounding may cause in outputs of large numbers.
constexpr double relative_tolerance = 1e-4;

class OneSample : public Samples {
 public:
  explicit OneSample(Sample sample) : sample_(std::move(sample)) {}
  std::int64_t size() const override { return 1; }
  Sample sample(std::int64_t) override { return sample_; }

 private:
  Sample sample_;
};

// The first sample with each element changed; indices stay within their table.
template <typename Change>
Sample changed(const Runs& runs, const Change& change) {
  Sample sample = runs.samples.front();
  for (Tensor& tensor : sample) {
    std::vector<double> numbers = to_f64(tensor);
    const auto length = runs.lengths.find(tensor.name);
    for (double& number : numbers) {
      number = change(number, is_float(tensor.dtype));
      if (length != runs.lengths.end())
        number = std::min(number, static_cast<double>(length->second - 1));
    }
    Tensor wide = make_tensor(tensor.name, DType::f64, tensor.shape);
    std::ranges::copy(numbers, elements<double>(wide).begin());
    tensor = convert(wide, tensor.dtype);
  }
  return sample;
}

std::vector<std::pair<StatementKind, Sample>> constant_samples(const Runs& runs) {
  return {{StatementKind::zeros, changed(runs, [](double, bool) { return 0.0; })},
          {StatementKind::ones, changed(runs, [](double, bool) { return 1.0; })},
          {StatementKind::large_values, changed(runs, [](double number, bool is_float) {
             return is_float ? number * large : number;
           })}};
}

double worst(const PairResult& pair, std::string_view metric, Better better) {
  const Statistics& statistics = pair.similarity.statistics[*find_metric(metric)];
  if (statistics.nan > 0) return std::numeric_limits<double>::quiet_NaN();
  return better == Better::lower ? statistics.max : statistics.min;
}

std::int64_t reference_nonfinite(const PairResult& pair) {
  return pair.similarity.reference_nan + pair.similarity.reference_inf;
}

std::int64_t candidate_nonfinite(const PairResult& pair) {
  return pair.similarity.candidate_nan + pair.similarity.candidate_inf;
}

// How the outputs of a pair differ; none if they agree. If the reference itself is not finite,
// nothing can be concluded.
Statement difference(const PairResult& pair, Precision precision, double tolerance) {
  if (pair.status == PairStatus::only_in_candidate || is_empty(pair)) return {};
  if (pair.status == PairStatus::only_in_reference) return {StatementKind::missing_output};
  if (pair.reference_shape != pair.candidate_shape)
    return {StatementKind::other_shape, {pair.candidate_shape, pair.reference_shape}};
  if (reference_nonfinite(pair) > 0) return {};
  if (candidate_nonfinite(pair) > 0) return {StatementKind::nonfinite_output};
  if (precision != Precision::fp32) {
    const std::vector<Failure> failures =
        judge_pairs({&pair, 1}, "output", default_limits(precision));
    if (failures.empty()) return {};
    return {StatementKind::low_sqnr, {failures[0].value, failures[0].limit->value}};
  }
  const double max_abs_diff = worst(pair, "max_abs_diff", Better::lower);
  const double relative_l2 = worst(pair, "relative_l2", Better::lower);
  if (max_abs_diff <= tolerance || relative_l2 <= relative_tolerance * (tolerance / 1e-3))
    return {};
  return {StatementKind::large_difference, {max_abs_diff, tolerance}};
}

// The reference runs in a process of its own if the model does.
std::shared_ptr<Runner> open_reference(const CheckOptions& options) {
  if (options.hosted) return options.hosted;
  const auto open = [path = options.reference,
                     model = options.reference_model]() -> std::unique_ptr<Runner> {
    if (model) return std::make_unique<OrtRunner>(model->model().clone());
    return open_runner(path);
  };
  return options.isolated ? open_isolated(open) : open();
}

class Consistency {
 public:
  Consistency(const ModelIndex& index, const Runs& runs, const CheckOptions& options)
      : runs_(runs),
        options_(options),
        precision_(precision_of(index.model())),
        reference_(open_reference(options)) {
    compare_.outputs_by_position = reference_->outputs_are_positional();
    pair_cache_outputs(index.model(), reference_->outputs(), compare_.io);
  }

  Findings check(const Model& model) {
    if (options_.samples) {
      add({StatementKind::given_samples}, *options_.samples(model), true);
    } else {
      if (model_format(options_.reference) == ModelFormat::recorded)
        throw Error(
            fmt::format("[check] {}: recorded outputs belong to the inputs that they were recorded "
                        "with; pass these with --input-data",
                        options_.reference.string()));
      for (std::int64_t i = 0; i < std::ssize(runs_.samples); ++i)
        add_sample({StatementKind::random_sample, {i}}, runs_.samples[i], true);
      // A mask of zeros is not a valid input of a decoder.
      if (precision_ == Precision::fp32 && !find_decoder(model, {}))
        for (const auto& [kind, sample] : constant_samples(runs_)) add_constant({kind}, sample);
    }
    return std::move(findings_);
  }

 private:
  void add_constant(const Statement& name, const Sample& sample) {
    try {
      add_sample(name, sample, false);
    } catch (const Error&) {
      // Models need not accept such inputs.
    }
  }

  // For a quantized model it is only a note: it was not calibrated for random inputs.
  Finding tempered(Finding finding) const {
    if (precision_ != Precision::int8) return finding;
    finding.severity = Severity::note;
    finding.remedy = {StatementKind::calibration_inputs};
    return finding;
  }

  void add_sample(const Statement& name, const Sample& sample, bool finite) {
    OneSample samples(sample);
    add(name, samples, finite);
  }

  // The reference is expected to be finite on these samples: if it is not, that is a finding.
  void add_nonfinite(const Statement& name, const PairResult& pair) {
    if (pair.status != PairStatus::compared || reference_nonfinite(pair) == 0) return;
    findings_.push_back(
        make_finding("nonfinite-reference", {SubjectKind::tensor, pair.name},
                     {StatementKind::nonfinite_reference,
                      {name, reference_nonfinite(pair), candidate_nonfinite(pair)}}));
    if (options_.samples) findings_.back().severity = Severity::error;
  }

  void add(const Statement& name, Samples& samples, bool finite) {
    const CompareResult result = compare(*reference_, *runs_.runner, samples, compare_);
    for (const PairResult& pair : result.outputs) {
      if (finite) add_nonfinite(name, pair);
      const Statement found = difference(pair, precision_, options_.tolerance);
      if (found.kind == StatementKind::none) continue;
      Finding finding = make_finding("output-differs", {SubjectKind::tensor, pair.name},
                                     {StatementKind::output_differs, {name, found}});
      findings_.push_back(options_.samples ? std::move(finding) : tempered(std::move(finding)));
    }
  }

  const Runs& runs_;
  const CheckOptions& options_;
  Precision precision_;
  std::shared_ptr<Runner> reference_;
  CompareOptions compare_;
  Findings findings_;
};

}  // namespace

Findings check_consistency(const ModelIndex& index, const Runs& runs, const CheckOptions& options) {
  return Consistency(index, runs, options).check(index.model());
}

}  // namespace vernier
