#include "vernier/analysis/inputs/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Steps of equal shapes get a new leading axis. Others become rows of their last axis if all have
// the same length there, else a single row.
Shape stacked_shape(std::span<const Tensor> steps) {
  Shape shape = steps[0].shape;
  if (std::ranges::all_of(steps, [&](const Tensor& step) { return step.shape == shape; })) {
    shape.insert(shape.begin(), std::ssize(steps));
    return shape;
  }
  std::int64_t count = 0;
  for (const Tensor& step : steps) count += step.size();
  const auto is_as_long = [&](const Tensor& step) {
    return !step.shape.empty() && !shape.empty() && step.shape.back() == shape.back();
  };
  if (count == 0 || !std::ranges::all_of(steps, is_as_long)) return {count};
  return {count / shape.back(), shape.back()};
}

Tensor stack(std::vector<Tensor>& steps) {
  Tensor stacked{.name = steps[0].name, .dtype = steps[0].dtype, .shape = stacked_shape(steps)};
  for (const Tensor& step : steps)
    stacked.bytes.insert(stacked.bytes.end(), step.bytes.begin(), step.bytes.end());
  steps.clear();
  return stacked;
}

bool is_worse(double value, double than) {
  return !std::isnan(than) && (std::isnan(value) || value < than);
}

Tensor greedy_token(const TensorView& logits) {
  Tensor token = make_tensor(std::string(logits.name), DType::i64, {1, 1});
  elements<std::int64_t>(token)[0] = best_token(logits);
  return token;
}

void note_worst(const WorstStep& step, std::optional<WorstStep>& worst) {
  if (!worst || is_worse(step.sqnr_db, worst->sqnr_db)) worst = step;
}

const std::string* find_name(std::span<const std::string> names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &*found;
}

// The names of one input or output in both models; empty if a model lacks it.
struct NamePair {
  std::string reference, candidate;
};

NamePair input_names(const PairedModels& models, const std::string& name) {
  NamePair names;
  if (const auto found = std::ranges::find(models.candidate_inputs, name, &TensorSpec::name);
      found != models.candidate_inputs.end())
    names.candidate = name;
  for (std::size_t i = 0; i < models.reference_inputs.size(); ++i) {
    const int source = models.bindings.inputs[i].source;
    const std::string bound = source < 0 ? "" : models.candidate_inputs[source].name;
    if (models.reference_inputs[i].name != name && (bound.empty() || bound != names.candidate))
      continue;
    names.reference = models.reference_inputs[i].name;
    if (names.candidate.empty()) names.candidate = bound;
  }
  return names;
}

NamePair output_names(const PairedModels& models, const std::string& name) {
  for (const OutputPair& pair : models.pairing.pairs) {
    const std::string& reference = models.reference_outputs[pair.reference];
    if (pair.name == name || reference == name) return {reference, pair.name};
  }
  const std::string* reference = find_name(models.reference_outputs, name);
  const std::string* candidate = find_name(models.candidate_outputs, name);
  return {reference ? *reference : "", candidate ? *candidate : ""};
}

std::vector<std::string> joined(std::vector<std::string> names, std::span<const std::string> more) {
  for (const std::string& name : more)
    if (!find_name(names, name)) names.push_back(name);
  return names;
}

[[noreturn]] void throw_half(const Feedback& state, std::string_view model) {
  throw Error(
      fmt::format("[inputs] --feedback {}={}: the {} has the input, but not the output; name the "
                  "output that is its next state",
                  state.output, state.input, model));
}

}  // namespace

PairOverSteps::PairOverSteps(std::string name, const SimilarityOptions& options, std::int64_t steps)
    : samples_(std::move(name), options), options_(options), steps_(steps) {}

void PairOverSteps::measure(std::int64_t run, const TensorView& reference,
                            const TensorView& candidate) {
  const std::int64_t sample = run / steps_, step = run % steps_;
  const bool comparable = reference.size() == candidate.size();
  if (steps_ == 1 || !comparable) {
    sample_.pairs.push_back(measure_pair(reference, candidate, options_));
    return;
  }
  const double sqnr_db = similarity(reference, candidate).sqnr_db;
  note_worst({sample, step, sqnr_db}, sample_.worst_step);
  reference_.push_back(copy(reference));
  candidate_.push_back(copy(candidate));
  if (step == steps_ - 1)
    sample_.pairs.push_back(measure_pair(stack(reference_), stack(candidate_), options_));
}

void PairOverSteps::add(std::int64_t sample, const SequenceSample& measured) {
  for (const PairSample& pair : measured.pairs) samples_.add(sample, pair);
  if (measured.worst_step) note_worst(*measured.worst_step, worst_);
}

PairResult PairOverSteps::result() const {
  PairResult pair = samples_.result();
  pair.worst_step = worst_;
  return pair;
}

void ModelState::keep(std::span<const Feedback> feedback, std::span<const Tensor> outputs) {
  for (const Feedback& state : feedback) {
    const auto output = std::ranges::find(outputs, state.output, &Tensor::name);
    if (output == outputs.end()) continue;
    if (output->size() == 0 && tensors_.contains(state.input)) continue;
    tensors_.insert_or_assign(state.input, state.greedy ? greedy_token(*output) : *output);
  }
}

void ModelState::feed(std::vector<Tensor>& inputs) const {
  for (Tensor& input : inputs) {
    const auto state = tensors_.find(input.name);
    if (state == tensors_.end()) continue;
    Tensor fed =
        state->second.dtype == input.dtype ? state->second : convert(state->second, input.dtype);
    fed.name = input.name;
    if (fed.size() == input.size()) fed.shape = input.shape;
    input = std::move(fed);
  }
}

ModelFeedback resolve_feedback(const IoMapping& io, const PairedModels& models) {
  ModelFeedback feedback;
  for (const Feedback& state : io.feedback) {
    const NamePair input = input_names(models, state.input);
    const NamePair output = output_names(models, state.output);
    if (input.reference.empty() && input.candidate.empty())
      require_name(state.input,
                   joined(names_of(models.candidate_inputs), names_of(models.reference_inputs)),
                   "--feedback", "either model", "input");
    if (output.reference.empty() && output.candidate.empty())
      require_name(state.output,
                   joined({models.candidate_outputs.begin(), models.candidate_outputs.end()},
                          models.reference_outputs),
                   "--feedback", "either model", "output");
    const std::string& next = io.teacher ? output.reference : output.candidate;
    if (!input.reference.empty() && output.reference.empty()) throw_half(state, "reference");
    if (!input.candidate.empty() && next.empty())
      throw_half(state, io.teacher ? "reference" : "candidate");
    if (!input.reference.empty())
      feedback.reference.push_back({output.reference, input.reference, state.greedy});
    if (!input.candidate.empty())
      feedback.candidate.push_back({next, input.candidate, state.greedy});
  }
  return feedback;
}

}  // namespace vernier
