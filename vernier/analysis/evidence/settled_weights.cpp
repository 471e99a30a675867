#include "vernier/analysis/evidence/settled_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "vernier/analysis/evidence/channel_factors.h"
#include "vernier/analysis/pairing/thresholds.h"

namespace vernier {
namespace {

// A pair that is the same once the reference's channels are multiplied by the factors.
struct ScaledPair {
  PairedWeight row;
  ChannelFactors factors;
};

// With factors(reference, candidate); nullopt if these do not make the pair the same.
template <typename Factors>
std::optional<ScaledPair> scaled_pair(const PairedWeight& row, const ModelWeight& reference,
                                      const ModelWeight& candidate, const Factors& factors) {
  std::optional<ScaledPair> scaled;
  visit_forms(reference, candidate, candidate.read(), std::nullopt,
              [&](const TensorView& expected, const Tensor& real, const ChannelScale*) {
                auto found = factors(expected, TensorView(real));
                if (!found) return false;
                PairedWeight compared =
                    compare_values(row, times(expected, *found), real, candidate, false);
                if (compared.other_channel || !(compared.sqnr_db >= equalised_db)) return false;
                compared.same = compared.equalised = true;
                scaled = {compared, *std::move(found)};
                return true;
              });
  return scaled;
}

bool differs(const PairedWeight& row) { return !row.same && !row.reference.empty(); }

// With `much_alike`, weights that are the same only by their SQNR are explained too, if the factors
// leave no more than rounding.
void settle(std::vector<PairedWeight>& rows, const std::vector<ModelWeight>& references,
            const std::vector<ModelWeight>& candidates, bool much_alike) {
  std::vector<PairedWeight> settled = rows;
  std::vector<ChannelFactors> factors;
  const auto explain = [&](const auto& factors_of) {
    bool all = true;
    for (PairedWeight& row : settled) {
      if (is_certain(row) || row.equalised || row.reference.empty()) continue;
      if (row.same && !much_alike) continue;
      const auto from = std::ranges::find(references, row.reference, &ModelWeight::name);
      const auto to = std::ranges::find(candidates, row.candidate, &ModelWeight::name);
      if (from == references.end()) continue;  // several that are one in the candidate
      auto scaled = scaled_pair(row, *from, *to, factors_of);
      if (row.same && scaled && !(*scaled->row.steps <= rounded_steps)) continue;
      all = all && (scaled || row.same);
      if (!scaled) continue;
      row = std::move(scaled->row);
      factors.push_back(std::move(scaled->factors));
    }
    return all;
  };
  bool all = explain(channel_factors);
  for (const std::size_t axis : {1, 0})  // small weights take the factors that cancel the others'
    all = all || explain([&](const TensorView& reference, const TensorView& candidate) {
            return cancelling_factors(factors, reference, candidate, axis);
          });
  if (all && are_equalised(factors)) rows = std::move(settled);
}

}  // namespace

void explain_equalised(std::vector<PairedWeight>& rows, const std::vector<ModelWeight>& references,
                       const std::vector<ModelWeight>& candidates) {
  for (const bool much_alike : {false, true})
    if (std::ranges::any_of(rows, differs)) settle(rows, references, candidates, much_alike);
}

void settle_scaled(std::vector<PairedWeight>& rows) {
  double product = 1;
  for (const PairedWeight& row : rows)
    if (row.factor) product *= *row.factor;
  const bool may_be_undone = std::ranges::any_of(rows, [](const PairedWeight& row) {
    return row.same && !row.factor && (row.equalised || !is_certain(row));
  });
  if (may_be_undone || std::abs(product - 1) <= least_scaling) return;
  for (PairedWeight& row : rows) row.same = row.same && !row.factor;
}

}  // namespace vernier
