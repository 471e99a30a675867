#include "vernier/analysis/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/analysis/bind_inputs.h"
#include "vernier/error.h"
#include "vernier/metrics/kernels.h"

namespace vernier {
namespace {

// Which reference output belongs to which candidate output.
struct OutputPair {
  std::string name;
  std::size_t reference = 0;
  std::size_t candidate = 0;
};

struct OutputPairing {
  std::vector<OutputPair> pairs;
  std::vector<std::string> warnings;
};

std::vector<std::string> names_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

std::vector<std::string> missing_from(const std::vector<std::string>& names,
                                      const std::vector<std::string>& others) {
  std::vector<std::string> missing;
  std::ranges::copy_if(names, std::back_inserter(missing), [&](const std::string& name) {
    return std::ranges::find(others, name) == others.end();
  });
  return missing;
}

OutputPairing pair_by_position(const std::vector<std::string>& candidate) {
  OutputPairing pairing;
  for (std::size_t i = 0; i < candidate.size(); ++i) pairing.pairs.push_back({candidate[i], i, i});
  return pairing;
}

OutputPairing pair_by_name(const std::vector<std::string>& reference,
                           const std::vector<std::string>& candidate) {
  OutputPairing pairing;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const auto found = std::ranges::find(candidate, reference[i]);
    if (found != candidate.end())
      pairing.pairs.push_back(
          {reference[i], i, static_cast<std::size_t>(found - candidate.begin())});
  }
  const auto warn = [&](const char* side, const std::vector<std::string>& only) {
    if (!only.empty())
      pairing.warnings.push_back(
          fmt::format("not compared, only in the {}: {}", side, fmt::join(only, ", ")));
  };
  warn("reference", missing_from(reference, candidate));
  warn("candidate", missing_from(candidate, reference));
  return pairing;
}

OutputPairing pair_outputs(const Runner& reference_runner, const Runner& candidate_runner,
                           bool by_position) {
  const std::vector<std::string> reference = names_of(reference_runner.outputs());
  const std::vector<std::string> candidate = names_of(candidate_runner.outputs());
  if (by_position && reference.size() == candidate.size()) return pair_by_position(candidate);
  OutputPairing pairing = pair_by_name(reference, candidate);
  if (pairing.pairs.empty())
    throw Error(fmt::format(
        "[compare] no output is in both models: the reference has {}, the candidate {}; "
        "rename one side's outputs",
        fmt::join(reference, ", "), fmt::join(candidate, ", ")));
  return pairing;
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
        bindings_(bind_inputs(candidate.inputs(), reference.inputs())),
        pairing_(pair_outputs(reference, candidate, options.outputs_by_position)) {
    for (const OutputPair& pair : pairing_.pairs)
      accumulators_.emplace_back(pair.name, SimilarityOptions{.argmax = true});
  }

  void add(std::int64_t index, const std::vector<Tensor>& sample) {
    reference_.seek(index);
    candidate_.seek(index);
    const std::vector<Tensor> reference =
        reference_.run(apply_bindings(bindings_, reference_.inputs(), sample));
    const std::vector<Tensor> candidate = candidate_.run(sample);
    for (std::size_t i = 0; i < pairing_.pairs.size(); ++i) {
      const Tensor& expected = reference[pairing_.pairs[i].reference];
      const Tensor& found = candidate[pairing_.pairs[i].candidate];
      accumulators_[i].add(index, expected, found);
      if (!result_.nan_origin && has_nan(found) && !has_nan(expected)) trace_nan(index, sample);
    }
    ++result_.samples;
  }

  CompareResult finish(bool interrupted) {
    result_.interrupted = interrupted;
    result_.warnings = bindings_.warnings;
    result_.warnings.insert(result_.warnings.end(), pairing_.warnings.begin(),
                            pairing_.warnings.end());
    for (const PairAccumulator& accumulator : accumulators_) {
      PairResult pair = accumulator.result();
      pair.failures = judge_pair(pair, options_.limits);
      result_.outputs.push_back(std::move(pair));
    }
    return std::move(result_);
  }

  std::vector<std::string> output_names() const {
    std::vector<std::string> names;
    for (const OutputPair& pair : pairing_.pairs) names.push_back(pair.name);
    return names;
  }

 private:
  void trace_nan(std::int64_t index, const std::vector<Tensor>& sample) {
    result_.nan_origin = NanOrigin{.sample = index};
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
  std::vector<PairAccumulator> accumulators_;
  CompareResult result_;
};

}  // namespace

bool CompareResult::pass() const {
  return samples > 0 && std::ranges::all_of(outputs, &PairResult::pass);
}

CompareResult compare(Runner& reference, Runner& candidate, Samples& samples,
                      const CompareOptions& options) {
  Comparison comparison(reference, candidate, options);
  require_tensors(options.limits, comparison.output_names());
  bool go_on = true;
  for (std::int64_t index = 0; index < samples.size() && go_on; ++index) {
    comparison.add(index, samples.sample(index));
    if (options.progress) go_on = options.progress(index + 1, samples.size());
  }
  return comparison.finish(!go_on);
}

}  // namespace vernier
