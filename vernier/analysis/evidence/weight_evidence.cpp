#include "vernier/analysis/evidence/weight_evidence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "vernier/analysis/evidence/joined_weights.h"
#include "vernier/analysis/evidence/model_weights.h"
#include "vernier/analysis/evidence/recurrent_weights.h"
#include "vernier/analysis/evidence/settled_weights.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"

namespace vernier {
namespace {

// The SQNR below which a similar weight without a name was changed; -infinity if it cannot be told.
double most_changed_db(DType stored) {
  if (stored == DType::f32) return INFINITY;
  return stored == DType::f16 ? rounded_twice_db : -INFINITY;
}

double norm(const Tensor& weight) {
  return std::sqrt(measure_noise(weight, weight).reference_squares);
}

bool is_uniform(const ChannelScale& fold) {
  return std::ranges::adjacent_find(fold.factors, std::not_equal_to{}) == fold.factors.end();
}

class Pairing {
 public:
  // `shapes_tell`: a weight without a name that is unlike all of its shape proves a difference.
  Pairing(const std::vector<ModelWeight>& reference, bool shapes_tell)
      : reference_(reference),
        shapes_tell_(shapes_tell),
        joined_(reference),
        norms_(reference.size()) {
    for (std::size_t i = 0; i < reference.size(); ++i)
      for (const std::string& name : reference[i].aliases) by_name_.emplace(name, i);
  }

  // By name first, for all weights; then by shape, among those that are left.
  std::vector<PairedWeight> pair(const std::vector<ModelWeight>& candidate) {
    std::vector<PairedWeight> rows;
    std::vector<const ModelWeight*> weights;
    for (const ModelWeight& weight : candidate) {
      const Tensor real = weight.read();
      if (real.shape.size() < 2 || real.size() == 0) continue;
      rows.push_back(weight.is_blocked ? unpaired(weight, real) : by_name(weight, real));
      weights.push_back(&weight);
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!rows[i].same && !weights[i]->is_blocked && rows[i].elements >= named_only_elements)
        by_shape(*weights[i], rows[i]);
    return rows;
  }

 private:
  static PairedWeight unpaired(const ModelWeight& weight, const Tensor& real) {
    return {.candidate = weight.name, .elements = real.size(), .sqnr_db = -INFINITY};
  }

  PairedWeight by_name(const ModelWeight& weight, const Tensor& real) {
    PairedWeight row = unpaired(weight, real);
    for (const std::string& name : weight.aliases) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) continue;
      const ModelWeight& reference = reference_[found->second];
      if (!shapes_fit(reference.shape, real.shape)) continue;
      row = compare_pair(reference, weight, real);
      if (row.same) taken_.insert(found->second);
      break;
    }
    return row;
  }

  // Takes an unpaired weight that is the same, or several that an optimiser joined. If there is
  // none, and none of its name, the nearest one decides: if unrelated, the models differ; if very
  // similar, the weight was changed; anything in between proves nothing.
  void by_shape(const ModelWeight& weight, PairedWeight& row) {
    const Tensor real = weight.read();
    std::optional<PairedWeight> unlike;
    for (std::size_t i = 0; i < reference_.size(); ++i) {
      if (taken_.contains(i) || !shapes_fit(reference_[i].shape, real.shape)) continue;
      if (unlike && !may_be_same(i, real)) continue;
      const PairedWeight found = compare_pair(reference_[i], weight, real);
      if (found.same) {
        taken_.insert(i);
        row = found;
        return;
      }
      if (!unlike || is_better(found, *unlike)) unlike = found;
    }
    if (!row.reference.empty()) return;
    if (auto joined = joined_pair(weight, real)) {
      row = *std::move(joined);
      return;
    }
    if (!unlike) row = second_copy(weight, real).value_or(row);
    if (shapes_tell_ && unlike && unlike->sqnr_db < unrelated_db) row = *unlike;
    // Only the weight that it was changed from is so much like it.
    const bool is_changed = unlike && unlike->sqnr_db >= changed_weight_db &&
                            unlike->sqnr_db < most_changed_db(weight.stored);
    if (is_changed || (unlike && unlike->other_channel)) row = *unlike;
  }

  std::optional<PairedWeight> joined_pair(const ModelWeight& weight, const Tensor& real) {
    const auto found = joined_.find(weight, real, taken_);
    if (!found) return std::nullopt;
    PairedWeight row = unpaired(weight, real);
    bool is_rounded = false;
    for (const std::size_t part : found->parts) {
      row.reference += (row.reference.empty() ? "" : ", ") + reference_[part].name;
      is_rounded |= reference_[part].quantizer.has_value();
    }
    row = compare_values(std::move(row), found->weight, real, weight, is_rounded);
    if (!row.same) return std::nullopt;
    taken_.insert(found->parts.begin(), found->parts.end());
    return row;
  }

  // Pairs the weight with a reference weight that is already paired: a model may store tied weights
  // twice.
  std::optional<PairedWeight> second_copy(const ModelWeight& weight, const Tensor& real) {
    for (std::size_t i = 0; i < reference_.size(); ++i) {
      if (!taken_.contains(i) || !shapes_fit(reference_[i].shape, real.shape) ||
          !may_be_same(i, real))
        continue;
      if (PairedWeight found = compare_pair(reference_[i], weight, real); found.same) return found;
    }
    return std::nullopt;
  }

  // Rounding hardly changes the norm, and an axis order does not change it at all; a fold with one
  // factor for all channels multiplies it.
  bool may_be_same(std::size_t reference, const Tensor& real) {
    const std::vector<ChannelScale>& folds = reference_[reference].folds;
    if (!std::ranges::all_of(folds, is_uniform)) return true;
    std::optional<double>& expected = norms_[reference];
    if (!expected) expected = norm(reference_[reference].read());
    const double ratio = norm(real) / *expected;
    const auto fits = [&](double factor) { return ratio > 0.7 * factor && ratio < 1.4 * factor; };
    return fits(1) || std::ranges::any_of(folds, [&](const ChannelScale& fold) {
             return !fold.factors.empty() && fits(std::abs(fold.factors[0]));
           });
  }

  const std::vector<ModelWeight>& reference_;
  bool shapes_tell_;
  JoinedWeights joined_;
  std::vector<std::optional<double>> norms_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_set<std::size_t> taken_;
};

std::size_t largest(const std::vector<PairedWeight>& weights) {
  return std::ranges::max_element(weights, {}, &PairedWeight::elements) - weights.begin();
}

WeightEvidence compare(const std::vector<ModelWeight>& references,
                       const std::vector<ModelWeight>& candidates, bool shapes_tell) {
  WeightEvidence evidence{.weights = Pairing(references, shapes_tell).pair(candidates),
                          .worst_db = INFINITY};
  explain_equalised(evidence.weights, references, candidates);
  settle_scaled(evidence.weights);
  double all = 0, same = 0;
  for (std::size_t i = 0; i < evidence.weights.size(); ++i) {
    const PairedWeight& row = evidence.weights[i];
    all += static_cast<double>(row.elements);
    if (row.reference.empty()) continue;
    ++evidence.paired;
    if (row.same) {
      same += static_cast<double>(row.elements);
      evidence.worst_db = std::min(evidence.worst_db, row.sqnr_db);
      if (row.steps) evidence.worst_steps = std::max(evidence.worst_steps.value_or(0), *row.steps);
    } else if (!evidence.most_different ||
               row.sqnr_db < evidence.weights[*evidence.most_different].sqnr_db) {
      evidence.most_different = i;
    }
  }
  using Answer = WeightEvidence::Answer;
  // Two models that are the same network have some weight in common.
  if (same == 0 && evidence.weights.size() > 1 && references.size() > 1 &&
      std::ranges::none_of(candidates, &ModelWeight::is_blocked))
    evidence.most_different = largest(evidence.weights);
  if (evidence.most_different)
    evidence.answer = Answer::different;
  else if (same > 0 && same >= same_network_share * all)
    evidence.answer = Answer::same;
  return evidence;
}

}  // namespace

std::string_view answer_name(WeightEvidence::Answer answer) {
  switch (answer) {
    case WeightEvidence::Answer::same: return "same";
    case WeightEvidence::Answer::different: return "different";
    case WeightEvidence::Answer::unknown: return "unknown";
  }
  return "";
}

WeightEvidence compare_weights_of(const ModelIndex& reference, const ModelIndex& candidate) {
  std::vector<ModelWeight> references = weights_of(reference, true);
  for (ModelWeight& weight : references)  // the stored codes of a quantized one may have another
    if (weight.shape.empty()) weight.shape = weight.read().shape;
  return compare(references, weights_of(candidate, false), true);
}

std::optional<WeightEvidence> compare_weights_of(const Runner& reference,
                                                 const ModelIndex& candidate) {
  const std::vector<ModelWeight> references = parameters_of(reference);
  if (references.empty()) return std::nullopt;
  std::vector<ModelWeight> candidates = weights_of(candidate, false);
  const auto names = recurrent_names(candidate);
  for (ModelWeight& weight : candidates)
    if (const auto name = names.find(weight.name); name != names.end())
      weight.aliases.push_back(name->second);
  return compare(references, candidates, false);
}

}  // namespace vernier
