#include "vernier/report/evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/report/number.h"

namespace vernier {

std::string weights_text(const WeightEvidence& evidence) {
  const auto total = std::ssize(evidence.weights);
  if (evidence.answer == WeightEvidence::Answer::different) {
    const PairedWeight& weight = evidence.weights[*evidence.most_different];
    if (weight.reference.empty())
      return fmt::format("not the same: the reference has none like {}", weight.candidate);
    if (weight.steps)
      return fmt::format("not the same: {} is {:.3g} steps off", weight.candidate, *weight.steps);
    return fmt::format("not the same: {} has {} dB", weight.candidate,
                       format_decibels(weight.sqnr_db));
  }
  if (total == 0) return "none to compare";
  const auto same = std::ranges::count(evidence.weights, true, &PairedWeight::same);
  std::string text =
      same == total
          ? fmt::format("all {} are the reference's", total)
          : fmt::format("{} of {} are the reference's, the others were not found", same, total);
  if (evidence.worst_steps) text += fmt::format(", rounded ({:.2f} steps)", *evidence.worst_steps);
  const auto equalised = std::ranges::count(evidence.weights, true, &PairedWeight::equalised);
  if (equalised > 0) text += fmt::format(", {} with equalised channels", equalised);
  if (const auto transposed = std::ranges::find(evidence.weights, true, &PairedWeight::transposed);
      transposed != evidence.weights.end())
    text += fmt::format(", but {} is transposed", transposed->candidate);
  return text;
}

std::string calibration_text(const CalibrationFit& fit, bool real_inputs) {
  const bool fits = fit.score <= most_score(real_inputs);
  return fmt::format("S {:.2f}, {} the calibration data", fit.score,
                     !fits         ? "unlike"
                     : real_inputs ? "like"
                                   : "made up to be like");
}

}  // namespace vernier
