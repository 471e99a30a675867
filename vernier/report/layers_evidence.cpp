#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vernier/report/layers.h"

namespace vernier {
namespace {

// Larger distances in ulps are not shown: they say no more than the difference itself.
constexpr int most_ulps = 1000000;

// "Conv, Relu"; for more than 6, the count and the last.
std::string operators(const std::vector<std::string>& names) {
  constexpr std::size_t most_names = 6;
  if (names.empty()) return "nothing";
  if (names.size() > most_names)
    return fmt::format("{} operators up to {}", names.size(), names.back());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string other_operators(const LayerEvidence& evidence) {
  const std::string reference = fmt::format("{}", fmt::join(evidence.reference, ", "));
  const std::string candidate = fmt::format("{}", fmt::join(evidence.candidate, ", "));
  if (candidate.empty()) return fmt::format("the reference has {} more", reference);
  if (reference.empty()) return fmt::format("the candidate has {} more", candidate);
  return fmt::format("the reference has {} where the candidate has {}", reference, candidate);
}

std::string other_attribute(const LayerEvidence& evidence) {
  const auto value = [](const std::vector<std::string>& values) {
    return values.empty() ? "unset" : values[0];
  };
  return fmt::format("{} of {} is {} in the candidate, {} in the reference", evidence.name,
                     evidence.node, value(evidence.candidate), value(evidence.reference));
}

std::string nonfinite(const LayerRow& row, const LayerEvidence& evidence) {
  std::string text = fmt::format(
      "{} elements of the candidate are not finite, {} of the reference; its inputs are",
      row.candidate_nan + row.candidate_inf, row.reference_nan + row.reference_inf);
  if (!evidence.name.empty()) text += fmt::format(", but constant {} is not finite", evidence.name);
  return text;
}

std::string narrow_dtype(const LayerEvidence& evidence) {
  const std::string node = evidence.node.empty() ? "" : " of " + evidence.node;
  return fmt::format("{}{} is {}", evidence.name, node, evidence.candidate.at(0));
}

// The introduced error of the layer, on the reference's inputs.
std::string by_itself(const LayerRow& row) {
  const double difference = row.introduced_max_abs_diff.value_or(NAN);
  return difference == 0 ? "by itself it is exact"
                         : fmt::format("by itself it is {:.3g} off", difference);
}

// States that the layer itself is wrong, and not its inputs.
std::string recomputed(const LayerRow& row, const std::string& why) {
  return fmt::format("on the reference's inputs it is still {:.3g} off: {}",
                     row.introduced_max_abs_diff.value_or(NAN), why);
}

std::string sentence(const LayerRow& row, const LayerEvidence& evidence) {
  using Fact = LayerEvidence::Fact;
  const auto& [fact, at, layer, node, name, reference, candidate, in_reference, in_candidate,
               weight] = evidence;
  switch (fact) {
    case Fact::none: return "";
    case Fact::weight_differs: return weight ? describe_difference(*weight) : "";
    case Fact::other_checkpoint:
      return fmt::format("{} of {} weights are not the reference's but those of another checkpoint",
                         in_candidate, in_reference);
    case Fact::foreign_weights: return "the weights are those of another checkpoint";
    case Fact::other_layout:
      return "the values agree once the axes are reordered: " +
             (row.layout ? row.layout->description : "");
    case Fact::absent:
      return "nothing in the candidate stands for it: no tensor has its name, and none its values";
    case Fact::reads_later:
      return fmt::format("it reads {}, which the reference computes after it", layer);
    case Fact::unread:
      return fmt::format("nothing reads {}, which the reference computes before it", layer);
    case Fact::training_mode: return fmt::format("{} {} computes as in training", name, node);
    case Fact::lacks_operator:
      return fmt::format("no operator computes the {}: there is only {}", row.type,
                         operators(candidate));
    case Fact::other_operators: return other_operators(evidence);
    case Fact::activations:
      return fmt::format("the reference has {} activation functions like {}, the candidate {}",
                         in_reference, name, in_candidate);
    case Fact::narrow_dtype: return narrow_dtype(evidence);
    case Fact::quantized: return fmt::format("{} {} is quantized", name, node);
    case Fact::nonfinite: return nonfinite(row, evidence);
    case Fact::near_truth:
      return fmt::format("against float64 the candidate errs by {:.3g}, the reference by {:.3g}",
                         row.truth->error_candidate, row.truth->error_reference);
    case Fact::other_attribute: return recomputed(row, other_attribute(evidence));
    case Fact::operand_order:
      return recomputed(row, fmt::format("the operands of {} are in another order", node));
    case Fact::computed_by: return recomputed(row, "computed by " + operators(candidate));
    case Fact::absent_with:
      return fmt::format("it is missing with {} and what follows that", layer);
    case Fact::follows_absent: return fmt::format("it follows {}, which is missing", layer);
    case Fact::shared_tensor:
      return fmt::format("its tensor is that of {}, which is out of tolerance", layer);
    case Fact::shared_operator:
      return fmt::format("{} is on the way to it and to {}, which is out of tolerance", node,
                         layer);
    case Fact::computed_from:
      return fmt::format("it is computed from {}, which is out of tolerance", layer);
    case Fact::sound_after: return fmt::format("{}; it is computed from {}", by_itself(row), layer);
    case Fact::layer_above: return fmt::format("{} before it is out of tolerance already", layer);
    case Fact::origin_before: return fmt::format("{} is out of tolerance", layer);
    case Fact::no_operation: return "it does nothing, and no tensor holds its values";
    case Fact::other_shape: return "the shapes differ, and no operator or weight says why";
    case Fact::unexplained: return "none of the known causes explains it";
    case Fact::rounding_adds_up:
      return fmt::format("{}, at {:.0f} dB: rounding may have added up, which --truth fp64 tells",
                         by_itself(row), row.sqnr_db);
    case Fact::adds_up: return by_itself(row) + "; the difference added up over layers";
    case Fact::no_output: return "the candidate has no such output";
    case Fact::closing_operator_missing:
      return fmt::format("{} of it is the reference's output: the candidate lacks it", name);
    case Fact::closing_operator_extra:
      return fmt::format("it is {} of the reference's output: the candidate has it more", name);
    case Fact::behind_layers:
      return "every layer agrees: what is computed behind them is something else";
  }
  return "";
}

}  // namespace

std::string describe_evidence(const LayerRow& row, std::span<const LayerRow> rows) {
  const LayerEvidence& evidence = row.evidence;
  if (!evidence.at) return sentence(row, evidence);
  const LayerRow& other = rows[*evidence.at];
  return fmt::format("at {}: {}", other.layer, sentence(other, evidence));
}

std::string describe_difference(const ComparedWeight& weight) {
  const WeightDifference& difference = weight.difference;
  std::string text =
      fmt::format("{} is not what initializer {} holds", weight.parameter, weight.initializer);
  if (weight.axes_swapped) text += " (its axes are swapped)";
  if (!weight.folded_norm.empty()) text += fmt::format(" ({} is folded in)", weight.folded_norm);
  if (weight.shape != weight.found_shape)
    text += fmt::format(" (its shape is {}, not {})", format_shape(weight.found_shape),
                        format_shape(weight.shape));
  if (difference.first < 0) return text;
  text +=
      fmt::format(": {} of {} elements differ, the first at {}, by up to {:.3g}",
                  difference.differing, weight.elements, difference.first, difference.max_abs_diff);
  if (difference.max_ulp_diff && *difference.max_ulp_diff < most_ulps)
    text += fmt::format(" ({:.0f} ulp)", *difference.max_ulp_diff);
  return text;
}

}  // namespace vernier
