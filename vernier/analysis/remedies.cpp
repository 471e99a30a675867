#include "vernier/analysis/remedies.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "vernier/analysis/quantize/repair.h"
#include "vernier/analysis/quantize/shipped.h"

namespace vernier {
namespace {

Remedy::Kind kind_of(QuantizerRemedy::Kind kind) {
  switch (kind) {
    case QuantizerRemedy::Kind::range: return Remedy::Kind::range;
    case QuantizerRemedy::Kind::per_channel: return Remedy::Kind::per_channel;
    case QuantizerRemedy::Kind::sixteen_bits: break;
  }
  return Remedy::Kind::sixteen_bits;
}

Remedy measured_remedy(Remedy::Kind kind, std::vector<std::string> subjects,
                       const MeasuredGain& gain) {
  return {.kind = kind,
          .subjects = std::move(subjects),
          .before_db = gain.before_db,
          .after_db = gain.after_db,
          .interval_db = (gain.gain_db.high - gain.gain_db.low) / 2};
}

// Whether it has the Q-DQ pairs that repair and tune change.
bool has_pairs(const ComparedModels& models) {
  const Model candidate = with_pairs(models.candidate, *models.reference);
  return !find_shipped(ModelIndex(candidate), ModelIndex(*models.reference)).activations.empty();
}

// Whether the model stays as fast as it is.
bool is_free(const Remedy& remedy) {
  return remedy.kind == Remedy::Kind::ranges || remedy.kind == Remedy::Kind::range ||
         remedy.kind == Remedy::Kind::per_channel;
}

}  // namespace

std::vector<Remedy> measured_remedies(const Sensitivity& sensitivity,
                                      const ComparedModels& models) {
  std::vector<Remedy> remedies;
  if (sensitivity.remedies.empty() && sensitivity.keep_in_float.empty()) return remedies;
  const bool pairs = has_pairs(models);
  if (!sensitivity.remedies.empty()) {
    const QuantizerRemedy& best = sensitivity.remedies.front();
    remedies.push_back(measured_remedy(kind_of(best.kind), {best.tensor}, best.gain));
    if (pairs && best.kind != QuantizerRemedy::Kind::sixteen_bits)  // repair makes none wider
      remedies.back().writer = Remedy::Writer::repair;
  }
  if (!sensitivity.keep_in_float.empty()) {
    const FloatSet& set = sensitivity.keep_in_float.back();
    remedies.push_back(measured_remedy(Remedy::Kind::keep_in_float, set.nodes, set.gain));
    if (pairs) remedies.back().writer = Remedy::Writer::tune;
  }
  return remedies;
}

bool repair_stores_unsigned(const ComparedModels& models) {
  if (!models.reference) return false;
  const Model candidate = with_pairs(models.candidate, *models.reference);
  const ShippedQuantizers shipped =
      find_shipped(ModelIndex(candidate), ModelIndex(*models.reference));
  return std::ranges::any_of(shipped.nodes, [&](const ShippedQuantizers::Node& node) {
    return becomes_unsigned(shipped, node, WeightStorage::uint8);
  });
}

void rank_remedies(std::vector<Remedy>& remedies) {
  double best = 0;
  for (const Remedy& remedy : remedies) best = std::max(best, gain_of(remedy));
  std::ranges::stable_sort(remedies, std::greater{}, [&](const Remedy& remedy) {
    return std::pair(is_free(remedy) && gain_of(remedy) >= most_of_it * best, remedy.after_db);
  });
}

}  // namespace vernier
