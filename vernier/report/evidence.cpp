#include "vernier/report/evidence.h"

#include <fmt/format.h>

#include "vernier/report/number.h"

namespace vernier {

namespace {

// ", rounded (0.50 steps)", ", rounded but for conv3: 10.9 steps off (20.9 dB)"; empty if no weight
// has steps.
std::string rounding_text(const WeightEvidence& evidence) {
  if (!evidence.worst_steps) return "";
  const auto is_further = [](const PairedWeight& weight) {
    return weight.same && !weight.is_rounded();
  };
  const auto further = std::ranges::count_if(evidence.weights, is_further);
  if (further == 0) return fmt::format(", rounded ({:.2f} steps)", *evidence.worst_steps);
  const auto furthest = std::ranges::find_if(evidence.weights, [&](const PairedWeight& weight) {
    return weight.same && weight.steps == evidence.worst_steps;
  });
  return fmt::format(", rounded except {}{}: {:.3g} steps off ({} dB)",
                     further > 1 ? fmt::format("{}, the furthest ", further) : "",
                     furthest->candidate, *furthest->steps, format_decibels(furthest->sqnr_db));
}

// "not the same: conv3 is 187 steps off, channel 5 of its axis 1 is another (-2.6 dB)"
std::string difference_text(const PairedWeight& weight) {
  if (weight.reference.empty())
    return fmt::format("not the same: the reference has no counterpart of {}", weight.candidate);
  std::string text = weight.steps ? fmt::format("not the same: {} is {:.3g} steps off",
                                                weight.candidate, *weight.steps)
                                  : fmt::format("not the same: {} has {} dB", weight.candidate,
                                                format_decibels(weight.sqnr_db));
  if (const auto& channel = weight.other_channel)
    text += fmt::format(", channel {} of axis {} differs ({} dB)", channel->index, channel->axis,
                        format_decibels(channel->sqnr_db));
  if (weight.factor)
    text += fmt::format(", as a whole {:.3g} times the reference's", *weight.factor);
  return text;
}

}  // namespace

std::string weights_text(const WeightEvidence& evidence) {
  const auto total = std::ssize(evidence.weights);
  if (evidence.answer == WeightEvidence::Answer::different)
    return difference_text(evidence.weights[*evidence.most_different]);
  if (total == 0) return "none to compare";
  const auto same = std::ranges::count(evidence.weights, true, &PairedWeight::same);
  std::string text =
      same == total
          ? fmt::format("all {} are the reference's", total)
          : fmt::format("{} of {} are the reference's, the others were not found", same, total);
  text += rounding_text(evidence);
  const auto equalised = std::ranges::count(evidence.weights, true, &PairedWeight::equalised);
  if (equalised > 0) text += fmt::format(", {} with equalised channels", equalised);
  if (const auto transposed = std::ranges::find(evidence.weights, true, &PairedWeight::transposed);
      transposed != evidence.weights.end())
    text += fmt::format(", but {} is transposed", transposed->candidate);
  return text;
}

std::string calibration_text(const CalibrationFit& fit, bool real_inputs) {
  const bool fits = fit.fits(real_inputs);
  return fmt::format(
      "S {:.2f}, {}", fit.score,
      !fits ? "unlike the calibration data"
      : real_inputs
          ? "like the calibration data"
          : "synthetic, like the calibration data; whether real data is, only --data shows");
}

std::vector<std::pair<std::string, Cell>> evidence_facts(const Evidence& evidence) {
  std::vector<std::pair<std::string, Cell>> facts;
  if (evidence.weights) facts.emplace_back("weights", weights_text(*evidence.weights));
  if (evidence.calibration)
    facts.emplace_back("inputs fit", calibration_text(*evidence.calibration, evidence.real_inputs));
  return facts;
}

std::string origin_cause_text(const StructureEvidence& structure) {
  if (structure.origin.empty()) return "";
  if (const auto& lost = structure.lost_bound)
    return fmt::format(
        "its quantizer replaces a Relu or Clip of the reference, but its range {} at {:.3g} "
        "instead of {:.3g}",
        lost->is_low ? "begins" : "ends", lost->end, lost->bound);
  const LayerEvidence& why = structure.why;
  std::string text(cause_name(structure.cause));
  const auto value = [](const std::vector<std::string>& values) {
    return values.empty() ? "unset" : values[0];
  };
  if (why.fact == LayerEvidence::Fact::other_attribute)
    text += fmt::format(": {} is {}; in the reference it is {}", why.name, value(why.candidate),
                        value(why.reference));
  return text;
}

std::vector<std::string> origin_texts(const Evidence& evidence) {
  const auto& structure = evidence.structure;
  if (!structure || structure->origin.empty()) return {};
  return {fmt::format("in float32 the candidate first differs from the reference at {} ({})",
                      structure->origin, origin_cause_text(*structure))};
}

}  // namespace vernier
