#include "vernier/analysis/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "vernier/analysis/bind_inputs.h"
#include "vernier/analysis/pairing/by_name.h"
#include "vernier/error.h"
#include "vernier/metrics/kernels.h"

namespace vernier {
namespace {

std::vector<std::string> names_of(const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

OutputPairing require_pairs(const std::vector<std::string>& reference,
                            const std::vector<std::string>& candidate, bool by_position) {
  OutputPairing pairing = pair_outputs(reference, candidate, by_position);
  if (pairing.pairs.empty())
    throw Error(fmt::format(
        "[compare] no output is in both models: the reference has {}, the candidate {}; "
        "rename one side's outputs",
        fmt::join(reference, ", "), fmt::join(candidate, ", ")));
  return pairing;
}

// Outputs that were only paired because they stand in the same place.
std::vector<std::string> position_warnings(const OutputPairing& pairing,
                                           const std::vector<Tensor>& reference) {
  std::vector<std::string> warnings;
  for (const OutputPair& pair : pairing.pairs)
    if (pair.match == Match::position)
      warnings.push_back(
          fmt::format("output '{}' is compared with the reference's '{}', which is in the same "
                      "place",
                      pair.name, reference[pair.reference].name));
  return warnings;
}

bool has_nan(const TensorView& tensor) {
  return is_float(tensor.dtype) && measure(tensor, tensor).reference_nan > 0;
}

class Comparison {
 public:
  Comparison(Runner& reference, Runner& candidate, const CompareOptions& options)
      : reference_(reference),
        candidate_(candidate),
        options_(options),
        bindings_(bind_inputs(candidate.inputs(), reference.inputs())) {}

  void add(std::int64_t number, const std::vector<Tensor>& sample) {
    reference_.seek(number);
    candidate_.seek(number);
    const std::vector<Tensor> reference =
        reference_.run(apply_bindings(bindings_, reference_.inputs(), sample));
    const std::vector<Tensor> candidate = candidate_.run(sample);
    if (result_.samples == 0) pair(reference, candidate);
    for (std::size_t i = 0; i < pairing_.pairs.size(); ++i) {
      const Tensor& expected = reference[pairing_.pairs[i].reference];
      const Tensor& found = candidate[pairing_.pairs[i].candidate];
      accumulators_[i].add(number, expected, found);
      if (!result_.nan_origin && has_nan(found) && !has_nan(expected)) trace_nan(number, sample);
    }
    ++result_.samples;
  }

  CompareResult finish(bool interrupted) {
    result_.interrupted = interrupted;
    result_.warnings = bindings_.warnings;
    result_.warnings.insert(result_.warnings.end(), warnings_.begin(), warnings_.end());
    for (const PairAccumulator& accumulator : accumulators_)
      result_.outputs.push_back(accumulator.result());
    std::ranges::move(unpaired_, std::back_inserter(result_.outputs));
    result_.verdict = make_verdict(options_.limits, failures());
    return std::move(result_);
  }

 private:
  // What a model returns is known for sure only once it has run.
  void pair(const std::vector<Tensor>& reference, const std::vector<Tensor>& candidate) {
    pairing_ =
        require_pairs(names_of(reference), names_of(candidate), options_.outputs_by_position);
    if (!options_.outputs_by_position) warnings_ = position_warnings(pairing_, reference);
    std::vector<std::string> names;
    for (const OutputPair& output : pairing_.pairs) {
      names.push_back(output.name);
      accumulators_.emplace_back(output.name, measured_for(options_.limits));
    }
    for (const std::size_t i : pairing_.only_reference)
      unpaired_.push_back(one_sided(reference[i], PairStatus::only_in_reference));
    for (const std::size_t i : pairing_.only_candidate)
      unpaired_.push_back(one_sided(candidate[i], PairStatus::only_in_candidate));
    require_tensors(options_.limits, names);
  }

  // What only the candidate has is more than was asked for, and does not fail.
  std::vector<Failure> failures() const {
    if (result_.samples == 0)
      return judge(std::array{Limit{.metric = "samples", .fails = Limit::Fails::below, .value = 1}},
                   std::array{Judged{.metrics = {{"samples", 0}}}});
    std::vector<Failure> failures = judge_pairs(result_.outputs, "output", options_.limits);
    std::erase_if(failures, [&](const Failure& failure) {
      return failure.kind == FailureKind::missing &&
             (options_.allow_missing || failure.metric == "reference");
    });
    return failures;
  }

  void trace_nan(std::int64_t number, const std::vector<Tensor>& sample) {
    result_.nan_origin = NanOrigin{.sample = number};
    if (!options_.watch_candidate) return;
    std::string& origin = result_.nan_origin->tensor;
    options_.watch_candidate()->run(sample, [&](const TensorView& tensor) {
      if (origin.empty() && has_nan(tensor)) origin = tensor.name;
    });
  }

  Runner& reference_;
  Runner& candidate_;
  const CompareOptions& options_;
  InputBindings bindings_;
  OutputPairing pairing_;
  std::vector<std::string> warnings_;
  std::vector<PairAccumulator> accumulators_;
  std::vector<PairResult> unpaired_;
  CompareResult result_;
};

}  // namespace

CompareResult compare(Runner& reference, Runner& candidate, Samples& samples,
                      const CompareOptions& options) {
  Comparison comparison(reference, candidate, options);
  bool go_on = true;
  for (std::int64_t index = 0; index < samples.size() && go_on; ++index) {
    comparison.add(samples.number(index), samples.sample(index));
    if (options.progress) go_on = options.progress(index + 1, samples.size());
  }
  return comparison.finish(!go_on);
}

}  // namespace vernier
