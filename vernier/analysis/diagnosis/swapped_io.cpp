#include <algorithm>
#include <cmath>

#include "vernier/analysis/diagnosis/ask.h"
#include "vernier/error.h"
#include "vernier/model/index.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

constexpr std::size_t most_pairs = 10;        // tried at most, of inputs and of outputs each
constexpr std::int64_t samples_of_pairs = 4;  // that each pair is tried on
constexpr double swap_gain_db = 20;           // a swap has to gain more than this

using Swap = std::pair<std::string, std::string>;

bool may_feed(const TensorSpec& one, const TensorSpec& other) {
  return one.dtype == other.dtype &&
         std::ranges::equal(one.shape, other.shape, [](const Dim& left, const Dim& right) {
           return left.is_dynamic() || right.is_dynamic() || left.size == right.size;
         });
}

// Pairs of inputs that both models have and that agree in type and shape.
std::vector<Swap> input_pairs(const std::vector<TensorSpec>& reference,
                              const std::vector<TensorSpec>& candidate) {
  std::vector<Swap> pairs;
  const auto is_shared = [&](const TensorSpec& spec) {
    return std::ranges::find(reference, spec.name, &TensorSpec::name) != reference.end();
  };
  for (std::size_t i = 0; i < candidate.size(); ++i)
    for (std::size_t j = i + 1; j < candidate.size() && pairs.size() < most_pairs; ++j)
      if (is_shared(candidate[i]) && is_shared(candidate[j]) &&
          may_feed(candidate[i], candidate[j]))
        pairs.emplace_back(candidate[i].name, candidate[j].name);
  return pairs;
}

// Pairs of outputs that both models have, of any shape: a swap may be why shapes differ.
std::vector<Swap> output_pairs(const std::vector<PairResult>& outputs) {
  const auto is_shared = [](const PairResult& output) {
    return output.status != PairStatus::only_in_candidate &&
           output.status != PairStatus::only_in_reference;
  };
  std::vector<Swap> pairs;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = i + 1; j < outputs.size() && pairs.size() < most_pairs; ++j)
      if (is_shared(outputs[i]) && is_shared(outputs[j]))
        pairs.emplace_back(outputs[i].name, outputs[j].name);
  return pairs;
}

class SwapSearch {
 public:
  SwapSearch(const ComparedModels& models, Samples& samples, const DiagnosisOptions& options)
      : models_(models),
        few_(first_samples(samples, samples_of_pairs)),
        options_(options),
        before_db_(sqnr_with(options.compare.compare.io)) {}

  // The first pair whose swap repairs the outputs; nullopt if none does.
  std::optional<Remedy> find(const std::vector<Swap>& pairs, Remedy::Kind kind) const {
    for (const auto& [one, other] : pairs) {
      IoMapping io = options_.compare.compare.io;
      auto& names = kind == Remedy::Kind::swap_inputs ? io.inputs : io.outputs;
      if (names.contains(one) || names.contains(other)) continue;
      names[one] = other;
      names[other] = one;
      const double after_db = sqnr_with(io);
      if (after_db > before_db_ + swap_gain_db)
        return Remedy{
            .kind = kind, .subjects = {one, other}, .before_db = before_db_, .after_db = after_db};
    }
    return std::nullopt;
  }

 private:
  // -infinity if an output could not be measured, for instance because the shapes differ.
  double sqnr_with(const IoMapping& io) const {
    DiagnosisOptions options = options_;
    options.compare.compare.io = io;
    const CompareResult result =
        compared(models_.candidate.model(), models_, *few_, options, false);
    const bool all_measured = std::ranges::all_of(result.outputs, [](const PairResult& pair) {
      return pair.status == PairStatus::compared && !std::isnan(pair.similarity.statistics[0].mean);
    });
    return all_measured ? worst_db(result.outputs) : -INFINITY;
  }

  const ComparedModels& models_;
  std::unique_ptr<Samples> few_;
  const DiagnosisOptions& options_;
  double before_db_;
};

}  // namespace

bool are_swapped(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                 const DiagnosisOptions& options) {
  const auto& weights = result.compare->evidence.weights;
  if (result.verdict.outcome != Outcome::fail || !models.reference || options.quick ||
      options.compare.compare.io.steps > 1 ||
      (weights && weights->answer == WeightEvidence::Answer::different))
    return false;
  const auto inputs =
      input_pairs(models.reference->model().inputs(), models.candidate.model().inputs());
  const auto outputs = output_pairs(result.compare->outputs);
  if (inputs.empty() && outputs.empty()) return false;
  asked(options, Question::remedy);
  try {
    const SwapSearch swapping(models, samples, options);
    auto remedy = swapping.find(inputs, Remedy::Kind::swap_inputs);
    if (!remedy) remedy = swapping.find(outputs, Remedy::Kind::swap_outputs);
    if (!remedy) return false;
    name_cause(result,
               remedy->kind == Remedy::Kind::swap_inputs ? DiagnosedCause::swapped_inputs
                                                         : DiagnosedCause::swapped_outputs,
               remedy->subjects.front());
    return is_proven(result, *std::move(remedy));
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    return false;  // for instance, a decoder's inputs cannot be exchanged
  }
}

}  // namespace vernier
