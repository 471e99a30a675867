#include "vernier/report/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "vernier/report/number.h"

namespace vernier {
namespace {

constexpr std::size_t most_failures = 3;  // shown in one line; JSON lists all

// The lower end of the interval counts; NaN if there is none.
std::string unproven_text(const Failure& failure) {
  if (std::isnan(failure.value)) return "no gain is proven: its interval is unknown";
  return fmt::format("no gain is proven: {} {:.2f} at the lower end of its interval (<= {:g})",
                     failure.metric, failure.value, failure.limit->value);
}

std::string broken_text(const Failure& failure) {
  if (failure.metric == "weight_steps")
    return fmt::format("not the reference's: {:.3g} steps off", failure.value);
  if (failure.metric == "weight_sqnr_db" && !std::isfinite(failure.value))
    return "the reference has no weight like it";
  if (failure.metric == "weight_sqnr_db")
    return fmt::format("not the reference's: {:.1f} dB", failure.value);
  if (failure.metric == "unquantized_sqnr_db")
    return fmt::format("not the reference's network: in float32 it has {:.1f} dB", failure.value);
  if (failure.metric == "gain_db") return unproven_text(failure);
  if (failure.metric == "equal_share")
    return fmt::format("{:.1f} % of its numbers are the reference's (< {:g} %)",
                       100 * failure.value, 100 * failure.limit->value);
  if (failure.metric == "kl_behind_cache")
    return fmt::format("with its cache it predicts other tokens than without: KL {:.3g} >= {:g}",
                       failure.value, failure.limit->value);
  return fmt::format("{} {:.6g} {} {:.6g}", failure.metric, failure.value,
                     operator_text(*failure.limit), failure.limit->value);
}

std::string shape_text(const Failure& failure) {
  const std::string shapes =
      fmt::format("shape {} against {}", format_shape(failure.reference_shape),
                  format_shape(failure.candidate_shape));
  return failure.layout.empty() ? shapes
                                : fmt::format("{}: agrees after {}", shapes, failure.layout);
}

// "3 NaN in the candidate", "top1_accuracy is NaN".
std::string nonfinite_text(const Failure& failure) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> counted = {
      {{"reference_nan", "NaN in the reference"},
       {"reference_inf", "infinities in the reference"},
       {"candidate_nan", "NaN in the candidate"},
       {"candidate_inf", "infinities in the candidate"},
       {"reference_non_finite_samples", "samples have NaN or infinity in the reference's answer"},
       {"non_finite_samples", "samples have NaN or infinity in their answer"}}};
  for (const auto& [metric, what] : counted)
    if (failure.metric == metric) return fmt::format("{} {}", failure.value, what);
  if (failure.metric == "reference" || failure.metric == "candidate")
    return fmt::format("NaN or infinity in the {}", failure.metric);
  return fmt::format("{} is NaN", failure.metric);
}

std::string shown_failures(std::span<const Failure> failures) {
  std::vector<std::string> texts;
  for (const Failure& failure : failures.first(std::min(failures.size(), most_failures)))
    texts.push_back(failure_text(failure));
  if (failures.size() > most_failures)
    texts.push_back(fmt::format("and {} more", failures.size() - most_failures));
  return fmt::format("{}", fmt::join(texts, "; "));
}

// The first failure of the subject's own run.
std::string failed_text(const Failure& failure) {
  if (failure.reason.empty()) return failure.metric + " fails";
  return failure.value > 1 ? fmt::format("{}, and {:g} more", failure.reason, failure.value - 1)
                           : failure.reason;
}

// "INCONCLUSIVE: output y: sqnr_db_mean 7 < 15, but these inputs are unlike ..."
Paragraph inconclusive_paragraph(const Verdict& verdict) {
  std::vector<std::string> doubts;
  for (const Doubt& doubt : verdict.doubts) doubts.push_back(doubt_text(doubt));
  if (doubts.empty()) doubts.emplace_back("nothing was measured");
  const std::string failures =
      verdict.failures.empty() ? "" : shown_failures(verdict.failures) + ", but ";
  return {{fmt::format("INCONCLUSIVE: {}{}", failures, fmt::join(doubts, "; ")), Tone::fair}};
}

}  // namespace

std::string reason_text(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::broken: return broken_text(failure);
    case FailureKind::unmeasured:
      return failure.reason.empty() ? failure.metric + " was not measured" : failure.reason;
    case FailureKind::nonfinite: return nonfinite_text(failure);
    case FailureKind::missing: return fmt::format("missing in the {}", failure.metric);
    case FailureKind::shape: return shape_text(failure);
    case FailureKind::failed: return failed_text(failure);
  }
  return "";
}

std::string failure_text(const Failure& failure) {
  if (failure.subject.empty()) return reason_text(failure);
  return fmt::format("{}{}{}: {}", failure.group, failure.group.empty() ? "" : " ", failure.subject,
                     reason_text(failure));
}

std::string doubt_text(const Doubt& doubt) {
  switch (doubt.kind) {
    case DoubtKind::unlike_calibration:
      return fmt::format(
          "these inputs are unlike the calibration data (S {:.2f} > {:g}): give --dataset or "
          "--input-data",
          doubt.value, doubt.limit);
    case DoubtKind::other_calibration:
      return fmt::format(
          "these inputs are unlike those that the candidate was calibrated on (S {:.2f} > {:g}): "
          "check their preprocessing, or calibrate it on inputs like these",
          doubt.value, doubt.limit);
    case DoubtKind::unlike_training:
      return fmt::format(
          "these inputs are unlike the training data, judging by the reference's batch norms "
          "({:.2f} > {:g}): give --dataset or --input-data",
          doubt.value, doubt.limit);
    case DoubtKind::clipping:
      return fmt::format(
          "the quantizer of {} clips {:.1f} % of its values (> {:g} %): calibrate it on inputs "
          "like these",
          doubt.subject, 100 * doubt.value, 100 * doubt.limit);
    case DoubtKind::narrow_range:
      return fmt::format(
          "the values that the quantizer of {} reads reach {:.2g} times its range (> {:g}), "
          "although these inputs fit the other quantizers: give --dataset or --input-data",
          doubt.subject, doubt.value, doubt.limit);
    case DoubtKind::changed_scale:
      return fmt::format(
          "the bias that is added in {} has {:.3g} times the scale of the products, unlike the "
          "model's other biases: a scale was changed; give --dataset or --input-data",
          doubt.subject, doubt.value);
    case DoubtKind::narrow_input:
      return fmt::format(
          "the tensors after {} fill their ranges only with inputs {:g} times as large as its "
          "quantizer can represent: give --dataset or --input-data",
          doubt.subject, doubt.value);
    case DoubtKind::other_inputs:
      return fmt::format(
          "on other synthetic inputs that fit nearly as well, output {} has {:.1f} dB (< {:g}): "
          "give --dataset or --input-data",
          doubt.subject, doubt.value, doubt.limit);
    case DoubtKind::costly_range:
      return fmt::format(
          "the range of the quantizer of {} does not fit its values, and with one that does the "
          "outputs are {:.1f} dB better (> {:g}): calibrate it on inputs like these",
          doubt.subject, doubt.value, doubt.limit);
    case DoubtKind::other_structure:
      return fmt::format(
          "run in float32, the candidate's output {} agrees with the reference's at {:.1f} dB (< "
          "{:g}): it may be another function",
          doubt.subject, doubt.value, doubt.limit);
    case DoubtKind::unproven_structure:
      return fmt::format(
          "not shown to be the same function: with all quantizers off that can be, the candidate "
          "agrees with the reference at {:.1f} dB (< {:g}), but {} stays quantized; compare a "
          "candidate that keeps that in float",
          doubt.value, doubt.limit, doubt.subject);
    case DoubtKind::missing_activation:
      return fmt::format(
          "the reference has {:g} activation functions like {}, the candidate {:g}: one may be "
          "lost; vernier layers names it if the tensors have names",
          doubt.limit, doubt.subject, doubt.value);
    case DoubtKind::unproven_weight:
      return fmt::format(
          "weight {} belongs to a layer that was fused; it is not known to be the reference's, and "
          "the layer behind it hardly depends on it: run layers on the model as it was exported, "
          "before it was optimised",
          doubt.subject);
    case DoubtKind::other_node:
      return fmt::format(
          "node {} differs from the reference's node in its place (operator, attribute or "
          "constant), which synthetic inputs may not show: give --dataset or --input-data",
          doubt.subject);
    case DoubtKind::other_checkpoint:
      return fmt::format(
          "weights like {} are near the reference's, but not the reference's rounded, and with "
          "these the outputs are {:.1f} dB better (> {:g}): compare with the checkpoint that the "
          "candidate was made from",
          doubt.subject, doubt.value, doubt.limit);
    case DoubtKind::misplaced_bias:
      return fmt::format(
          "parameter {} is {}, and these outputs hardly depend on it: convert that layer again",
          doubt.subject,
          doubt.value == 0 ? "zero, which the reference's is not"
                           : "in another order than the reference's");
    case DoubtKind::transposed_weight:
      return fmt::format(
          "weight {} is transposed, and these outputs hardly depend on it: convert that layer "
          "again, with the axes of its weight as the reference has them",
          doubt.subject);
    case DoubtKind::alike_samples:
      return fmt::format(
          "the outputs hardly differ between samples ({:.2g} < {:g}), and the weights could not be "
          "compared: give --dataset or --input-data",
          doubt.value, doubt.limit);
    case DoubtKind::unknown_inputs:
      return "nothing shows whether these synthetic inputs are like real ones: give --dataset or "
             "--input-data";
    case DoubtKind::unknown_reference:
      return fmt::format(
          "on these synthetic inputs the reference itself has NaN or infinity in output {}, so the "
          "candidate cannot be judged: give --dataset or --input-data, or --set INPUT=VALUE",
          doubt.subject);
    case DoubtKind::near_limit:
      return fmt::format(
          "these inputs are synthetic, and on real ones it may be up to {:g} dB better: give "
          "--dataset or --input-data",
          doubt.value);
    case DoubtKind::other_ids:
      return fmt::format(
          "only {:.0f} % of the integers in output {} equal the reference's (< {:.0f} %), and "
          "decibels do not apply to them: score it with --task, or set a limit with --fail-if",
          100 * doubt.value, doubt.subject, 100 * doubt.limit);
    case DoubtKind::other_float_ids:
      return fmt::format(
          "run in float32, only {:.1f} % of the integers in the candidate's output {} equal the "
          "reference's (< {:.0f} %): it may be another function",
          100 * doubt.value, doubt.subject, 100 * doubt.limit);
    case DoubtKind::empty_output:
      return fmt::format(
          "output {} has no element in any sample, so nothing of it was compared: give --dataset "
          "or "
          "--input-data for which it has",
          doubt.subject);
    case DoubtKind::quiet_part:
      return fmt::format(
          "output {} has {:.1f} dB (< {:g}), but is close to zero on these inputs: give --dataset "
          "or --input-data on which it is not",
          doubt.subject, doubt.value, doubt.limit);
    case DoubtKind::at_chance:
      return fmt::format(
          "the reference is no better than chance ({} {:g}, by chance {:g}): check that labels are "
          "numbered like the model's classes (--label-mapping) and belong to these samples, and "
          "that inputs are preprocessed as the model expects",
          doubt.subject, doubt.value, doubt.limit);
    case DoubtKind::few_samples:
      return fmt::format("{} can show such a {} by chance: about {} would decide (--samples)",
                         format_count(static_cast<std::int64_t>(doubt.value), "sample"),
                         doubt.subject, static_cast<std::int64_t>(doubt.limit));
    case DoubtKind::interrupted:
      if (doubt.limit == 0) return "the run was interrupted: run it to its end";
      return fmt::format(
          "only {} of {} samples were measured: run it to its end, or merge every part",
          static_cast<std::int64_t>(doubt.value), static_cast<std::int64_t>(doubt.limit));
    case DoubtKind::caches_not_run:
      return fmt::format(
          "a model could not be run with its cache, so only text without a cache was scored: {}",
          doubt.subject);
    case DoubtKind::not_run:
      return "the model could not be run, so checks that need a run were left out (not-run): give "
             "--shape or --input-data that it accepts, or more memory if that ran out";
    case DoubtKind::inconclusive_rows:
      return fmt::format("of {} {:g} INCONCLUSIVE: what each needs is said with it",
                         format_count(static_cast<std::int64_t>(doubt.limit), "row"), doubt.value);
    case DoubtKind::missing_rows:
      return fmt::format("of {} {:g} not measured: run the zoo, or the missing shards, to the end",
                         format_count(static_cast<std::int64_t>(doubt.limit), "row"), doubt.value);
  }
  return "";
}

std::vector<std::string> unsaid_doubts(const Verdict& verdict) {
  std::vector<std::string> texts;
  if (verdict.outcome != Outcome::inconclusive)
    std::ranges::transform(verdict.doubts, std::back_inserter(texts), doubt_text);
  return texts;
}

Paragraph verdict_paragraph(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::pass: break;
    case Outcome::fail: return {{"FAIL: " + shown_failures(verdict.failures), Tone::bad}};
    case Outcome::inconclusive: return inconclusive_paragraph(verdict);
  }
  if (!verdict.has_judged()) return {{"no limits were given: nothing was judged", Tone::plain}};
  return {{"PASS", Tone::good}};
}

}  // namespace vernier
