#include "vernier/report/warning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace vernier {
namespace {

// "not compared, it did not run: a, b, c, d, e and 7 more"
std::string not_compared_text(const Warning& warning) {
  constexpr std::size_t named = 5;
  const std::size_t count = std::min(named, warning.more.size());
  std::string text = fmt::format("not compared, {}: {}", warning.subject,
                                 fmt::join(std::span(warning.more).first(count), ", "));
  if (count < warning.more.size()) text += fmt::format(" and {} more", warning.more.size() - count);
  return text;
}

std::string constant_text(const Warning& warning, const char* what) {
  const bool several = warning.value > 0;
  return fmt::format(
      "output '{}'{} of the reference {} {} in every sample, so agreement proves little",
      warning.subject, several ? fmt::format(" and {:.0f} more", warning.value) : std::string(),
      several ? "are" : "is", what);
}

std::string axes_text(const Warning& warning, const char* what) {
  return fmt::format(
      "input '{}' is {} in the candidate and {} in the reference: axes of size 1 are "
      "{}",
      warning.subject, warning.more.at(0), warning.more.at(1), what);
}

std::string left_out_text(const Warning& warning, const char* why) {
  return fmt::format("[dataset] {:.0f} of {:.0f} examples left out: {}{}", warning.value,
                     warning.limit, why,
                     warning.other.empty() ? "" : "; the first: " + warning.other);
}

std::string synthetic_text(const char* what) {
  return fmt::format(
      "calibrated and measured on synthetic inputs, {}: how good the model is on real "
      "ones is not known",
      what);
}

std::string kept_tokens(const CacheFault& fault) {
  const std::int64_t first = std::max<std::int64_t>(0, fault.shift);
  return fmt::format("{} to {}", first,
                     std::min(first + fault.candidate_length, fault.reference_length) - 1);
}

}  // namespace

std::string warning_text(const Warning& warning) {
  const auto& [kind, subject, other, value, limit, more] = warning;
  switch (kind) {
    case WarningKind::reported: return subject;
    case WarningKind::cast_array:
      return fmt::format("[npz] {}: '{}' is {}, the model takes {}; cast", other, subject,
                         more.at(0), more.at(1));
    case WarningKind::permuted_rows:
      return fmt::format(
          "[npz] {}: rows of '{}' have shape {}, the model takes {}; their axes are permuted",
          other, subject, more.at(0), more.at(1));
    case WarningKind::leftover_rows:
      return fmt::format(
          "[npz] {}: the last {:.0f} of {:.0f} rows of '{}' do not fill a batch of {}; left out",
          other, value, limit, subject, more.at(0));
    case WarningKind::leftover_runs:
      return fmt::format(
          "[inputs] {}: the last {:.0f} of {:.0f} runs do not fill a sequence of {} steps; left "
          "out",
          other, value, limit, more.at(0));
    case WarningKind::unnamed_arrays:
      return fmt::format(
          "[npz] {}: of {:.0f} arrays without names the model's inputs take the first {:.0f}; the "
          "rest is ignored",
          other, value, limit);
    case WarningKind::unused_array:
      return fmt::format("[npz] {}: '{}' is no input of the model; ignored", other, subject);
    case WarningKind::unreadable_images:
      return left_out_text(warning, "their images cannot be read");
    case WarningKind::without_label: return left_out_text(warning, "they have no label");
    case WarningKind::unknown_labels:
      return left_out_text(warning, "the model does not have their label");
    case WarningKind::unbound_input:
      return fmt::format(
          "input '{}' is only in the candidate, which is fed what is drawn for it; --set {}=VALUE "
          "fixes it",
          subject, subject);
    case WarningKind::input_by_position:
      return fmt::format(
          "input '{}' is bound to the reference's '{}' by position only; confirm with --map-input "
          "{}={}",
          subject, other, other, subject);
    case WarningKind::permuted_input:
      return fmt::format(
          "input '{}' is {} in the candidate and {} in the reference: its axes are permuted ({})",
          subject, more.at(0), more.at(1), more.at(2));
    case WarningKind::squeezed_input: return axes_text(warning, "removed");
    case WarningKind::widened_input: return axes_text(warning, "added");
    case WarningKind::output_by_position:
      return fmt::format(
          "output '{}' is paired with the reference's '{}' by position only; confirm with "
          "--map-output {}={}",
          subject, other, other, subject);
    case WarningKind::reordered_outputs:
      return fmt::format(
          "the candidate's outputs are in another order, {} for the reference's {}: they are "
          "paired by name; code that takes outputs by position gets different ones",
          subject, other);
    case WarningKind::nonfinite_input:
      return fmt::format(
          "input '{}' already holds NaN or infinity in sample {:.0f}: fix it, or leave the sample "
          "out",
          subject, value);
    case WarningKind::zero_output: return constant_text(warning, "zero");
    case WarningKind::constant_output: return constant_text(warning, "the same");
    case WarningKind::own_tokens:
      return "[eval] --generate: each model continues with its own tokens; behind the first that "
             "differs, figures compare other texts with each other";
    case WarningKind::not_quantized:
      return fmt::format("{} has no integer operator and no quantizer, whatever its name", subject);
    case WarningKind::quantized_reference:
      return fmt::format("the reference, {}, is the quantized one of the two; are they swapped?",
                         subject);
    case WarningKind::same_files: return "the two files are the same, byte for byte";
    case WarningKind::input_overflow:
      return fmt::format(
          "input '{}' holds up to {:.2g} times what its quantizer was calibrated for", subject,
          value);
    case WarningKind::costly_quantization:
      return "the weights are the reference's: it is the same network, and quantization costs too "
             "much";
    case WarningKind::quiet_sample:
      return fmt::format(
          "output '{}': the worst sample's SQNR is {:.1f} dB because its signal is far below the "
          "other samples'; relative to their mean signal it is {:.1f} dB",
          subject, value, limit);
    case WarningKind::unmeasured_form:
      return fmt::format("whether it is the same function in float32 was not measured: {}",
                         subject);
    case WarningKind::unproven_form:
      return fmt::format(
          "not proven to be the same function: with its quantizers off, output {} has {:.1f} dB, "
          "which {:.0f} constants or operators that stay rounded, such as {}, may explain",
          subject, value, limit, other);
    case WarningKind::unmeasured_nodes:
      return fmt::format("what nodes do to the output was not measured: {}", subject);
    case WarningKind::not_compared: return not_compared_text(warning);
    case WarningKind::too_many_tensors:
      return "too many tensors to search by value; layers without a matching name are not compared";
    case WarningKind::unmeasured_errors:
      return fmt::format("the candidate does not run on the reference's tensors: {}", subject);
    case WarningKind::at_chance:
      return fmt::format(
          "{} {:.4f} is not above chance ({:.4f}, by always naming the commonest labels); do the "
          "labels belong to these samples?",
          subject, value, limit);
    case WarningKind::few_neighbours:
      return fmt::format("only {:.0f} neighbours vote: there are no more samples", value);
    case WarningKind::only_top1:
      return "predicted classes give top1_accuracy alone; logits give both";
    case WarningKind::certain_metric:
      return fmt::format("{} says nothing: there are {:.0f} classes", subject, value);
    case WarningKind::classes_left_out:
      return fmt::format(
          "[dataset] {:.0f} of its classes have no sample here, '{}' is the first; more --samples "
          "would reach them",
          value, subject);
    case WarningKind::batch_dependence:
      return fmt::format(
          "[task] the candidate's answers depend on the other examples of a batch: the same "
          "example gets another answer when it is run alone (SQNR {:.1f} dB). Dynamic quantization "
          "does that, for it takes its ranges from the whole batch; --batch 1 scores each example "
          "by itself",
          value);
    case WarningKind::few_samples:
      return fmt::format(
          "few samples ({:.0f}): ranges and figures depend on which they are{}", value,
          limit > 0 ? fmt::format("; give at least {:.0f}, better 128 or more", limit)
                    : std::string());
    case WarningKind::nonfinite_values:
      return fmt::format(
          "{}: {:.0f} values are not finite in the float model; they count for nothing in its "
          "range",
          subject, value);
    case WarningKind::synthetic_samples:
      return synthetic_text("and nothing shows whether they are like real ones");
    case WarningKind::fitting_samples:
      return synthetic_text("which are like those of training, judging by its batch norms");
  }
  return "";
}

std::vector<std::string> warning_texts(std::span<const Warning> warnings) {
  std::vector<std::string> texts;
  for (const Warning& warning : warnings) texts.push_back(warning_text(warning));
  return texts;
}

std::string cache_fault_text(const CacheFault& fault) {
  const std::string when =
      fault.step == 0 ? "after the prompt" : fmt::format("after step {}", fault.step);
  const std::string before = std::isfinite(fault.sqnr_db)
                                 ? fmt::format("SQNR {:.1f} dB", fault.sqnr_db)
                                 : "not comparable";
  switch (fault.kind) {
    case CacheFault::Kind::swapped:
      return fmt::format(
          "caches '{}' and '{}' are swapped: {}, {} as they are, {:.1f} dB if exchanged",
          fault.output, fault.other, when, before, fault.right_db);
    case CacheFault::Kind::cut:
      return fmt::format(
          "cache '{}' is cut wrong: {} it holds {} tokens, the reference's {}; they are its "
          "numbers {} ({} as it is, {:.1f} dB after correction)",
          fault.output, when, fault.candidate_length, fault.reference_length, kept_tokens(fault),
          before, fault.right_db);
    case CacheFault::Kind::shifted:
      return fmt::format(
          "cache '{}' is shifted by {} token{}: {}, {} as it is, {:.1f} dB if shifted back",
          fault.output, fault.shift, std::abs(fault.shift) == 1 ? "" : "s", when, before,
          fault.right_db);
    case CacheFault::Kind::position: break;
  }
  return fmt::format(
      "positions are off by {:+}: {} the newest token in cache '{}' is the reference's {} place{} "
      "{} ({} as it is, {:.1f} dB after correction)",
      fault.shift, when, fault.output, std::abs(fault.shift), std::abs(fault.shift) == 1 ? "" : "s",
      fault.shift > 0 ? "on" : "before", before, fault.right_db);
}

std::vector<std::string> cache_fault_texts(std::span<const CacheFault> faults) {
  std::vector<std::string> texts;
  for (const CacheFault& fault : faults) texts.push_back(cache_fault_text(fault));
  return texts;
}

}  // namespace vernier
