#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "vernier/report/command_line.h"
#include "vernier/report/diagnosis.h"
#include "vernier/report/evidence.h"
#include "vernier/report/explanations.h"
#include "vernier/report/layers.h"
#include "vernier/report/number.h"
#include "vernier/report/runtime_loss.h"
#include "vernier/report/verdict.h"

namespace vernier {
namespace {

// "output boxes is the reference's 460: what makes boxes of it there is missing (17 layers)"
std::string unfinished_text(const DiagnosisResult& result) {
  const auto& rows = result.layers->rows;
  const auto inner = std::ranges::find_if(rows, [&](const LayerRow& row) {
    return row.tensor == result.subject && row.layer != result.subject;
  });
  const auto missing = std::ranges::count(rows, Match::none, &LayerRow::match);
  return fmt::format(
      "output {} is the reference's {}: the layers that compute {} from it are missing ({})",
      result.subject, inner->layer, result.subject, format_count(missing, "layer"));
}

// Suggests --map-output if exactly one output exists only in the candidate and may be the missing
// one; empty otherwise.
std::string renamed_text(const CompareResult& compare, const std::string& missing) {
  std::vector<std::string> others;
  for (const PairResult& pair : compare.outputs) {
    if (pair.status == PairStatus::only_in_candidate) others.push_back(pair.name);
    if (pair.status == PairStatus::only_in_reference && pair.name != missing) return "";
  }
  if (others.size() != 1) return "";
  return fmt::format("; if {} is it, pass --map-output {}", others[0],
                     shell_argument(missing + "=" + others[0]));
}

bool is_part(const CompareResult& compare, const std::string& name) {
  return std::ranges::any_of(compare.parts,
                             [&](const PartResult& part) { return part.pair.name == name; });
}

std::string wrong_range_text(const DiagnosisResult& result) {
  std::string text = fmt::format("the range of the quantizer of {} is wrong", result.subject);
  const auto& structure = result.compare->evidence.structure;
  if (structure && structure->lost_bound && structure->origin == result.subject)
    text += ": " + origin_cause_text(*structure);
  return text;
}

// "the quantizer of conv3 clips: it represents [0, 1], and its values are in [0, 4]; with a range
// that fits the outputs are 9.2 dB better"
std::string unfit_range_text(const DiagnosisResult& result) {
  if (!result.range || !result.range->gain_db)
    return fmt::format("the range of the quantizer of {} does not fit its values", result.subject);
  const NarrowRange& unfit = *result.range;
  return fmt::format(
      "the quantizer of {} {}: it represents [{:.3g}, {:.3g}], and its values are in [{:.3g}, "
      "{:.3g}]; with a range that fits the outputs are {:.1f} dB better",
      unfit.tensor, unfit.overflow > 1 ? "clips" : "is too coarse", unfit.range.low,
      unfit.range.high, unfit.seen.low, unfit.seen.high, *unfit.gain_db);
}

// "conv3: attribute_mismatch: axis is 1; in the reference it is -1; without its quantizers the
// candidate is 12.10 dB from it"
std::string structure_text(const DiagnosisResult& result) {
  const Evidence& evidence = result.compare->evidence;
  const bool is_node = !evidence.other_node.empty() && result.subject == evidence.other_node;
  if (!evidence.structure || is_node)
    return fmt::format("node {} differs from the reference's node in its place", result.subject);
  const StructureEvidence& structure = *evidence.structure;
  const std::string figure = fmt::format("{} the candidate is {} dB from it",
                                         evidence.half ? "in float32" : "without its quantizers",
                                         format_decibels(structure.sqnr_db));
  if (structure.origin.empty()) return "not the reference's network: " + figure;
  return fmt::format("{}: {}; {}", structure.origin, origin_cause_text(structure), figure);
}

// Null if the weights differ by more than a checkpoint.
const Doubt* checkpoint_doubt(const DiagnosisResult& result) {
  const std::vector<Doubt>& doubts = result.compare->verdict.doubts;
  const auto found = std::ranges::find(doubts, DoubtKind::other_checkpoint, &Doubt::kind);
  return found == doubts.end() ? nullptr : &*found;
}

}  // namespace

std::string remedy_command(const DiagnosisSubject& subject, const Remedy& remedy) {
  if (remedy.writer == Remedy::Writer::tune)
    return keep_command(subject.candidate, subject.reference, remedy.subjects);
  if (remedy.writer == Remedy::Writer::none || subject.data.empty()) return "";
  const std::string written =
      std::filesystem::path(subject.candidate).stem().string() + ".repaired.onnx";
  return fmt::format("vernier repair {} --reference {} {} -o {}", shell_argument(subject.candidate),
                     shell_argument(subject.reference), subject.data, shell_argument(written));
}

std::string remedy_text(const Remedy& remedy) {
  const std::string interval =
      remedy.interval_db ? fmt::format(" (±{:.1f})", *remedy.interval_db) : "";
  const std::string gain = fmt::format("{} -> {} dB{}", format_decibels(remedy.before_db),
                                       format_decibels(remedy.after_db), interval);
  switch (remedy.kind) {
    case Remedy::Kind::exact_kernels:
      return fmt::format("{} in exact arithmetic ({}session.x64quantprecision=1)", gain,
                         remedy.writer == Remedy::Writer::repair ? "uint8 weights or " : "");
    case Remedy::Kind::no_optimizer:
      return fmt::format("{} without {}", gain,
                         remedy.subjects.empty()
                             ? "that level"
                             : fmt::format("{}", fmt::join(remedy.subjects, ", ")));
    case Remedy::Kind::runtime:
      return fmt::format("{} with {}", gain, runtime_remedy_text(*remedy.how));
    case Remedy::Kind::right_layer:
      return fmt::format("{} once {} computes what the reference computes", gain,
                         fmt::join(remedy.subjects, ", "));
    case Remedy::Kind::right_weights:
      return fmt::format("{} with {} exchanged", gain, fmt::join(remedy.subjects, " and "));
    case Remedy::Kind::right_axes:
      return fmt::format("{} with the axes of {} swapped", gain, fmt::join(remedy.subjects, ", "));
    case Remedy::Kind::inference:
      return gain + " in inference mode: model.eval() before the export";
    case Remedy::Kind::swap_inputs:
    case Remedy::Kind::swap_outputs: {
      const std::string option =
          remedy.kind == Remedy::Kind::swap_inputs ? "--map-input" : "--map-output";
      const std::string &one = remedy.subjects[0], &other = remedy.subjects[1];
      return fmt::format("{} with {} {} {} {}", gain, option, shell_argument(one + "=" + other),
                         option, shell_argument(other + "=" + one));
    }
    case Remedy::Kind::keep_in_float:
      return fmt::format("{} with {} kept in float", gain, fmt::join(remedy.subjects, ", "));
    case Remedy::Kind::ranges: return gain + " with scales and ranges calibrated on these inputs";
    case Remedy::Kind::range:
      return fmt::format("{} with another range for {}", gain, fmt::join(remedy.subjects, ", "));
    case Remedy::Kind::per_channel:
      return fmt::format("{} with a scale for each channel of {}", gain,
                         fmt::join(remedy.subjects, ", "));
    case Remedy::Kind::sixteen_bits:
      return fmt::format("{} with 16 bits for {}", gain, fmt::join(remedy.subjects, ", "));
  }
  return gain;
}

std::string cause_text(const DiagnosisResult& result) {
  switch (result.cause) {
    case DiagnosedCause::none: return "nothing is wrong within these limits";
    case DiagnosedCause::candidate_unsound:
      return fmt::format("the candidate itself is broken: {} ({})",
                         explanation(result.subject).title, result.subject);
    case DiagnosedCause::reference_unsound:
      return fmt::format("the reference itself is broken: {} ({})",
                         explanation(result.subject).title, result.subject);
    case DiagnosedCause::other_weights:
      if (const Doubt* other = checkpoint_doubt(result)) return doubt_text(*other);
      return "the weights are " + weights_text(*result.compare->evidence.weights);
    case DiagnosedCause::other_bias:
      return fmt::format("the parameter {} is not the reference's", result.subject);
    case DiagnosedCause::swapped_weights: {
      const SwappedWeights& swapped = *result.swapped;
      return fmt::format(
          "the weights of {} and {} are swapped: {} holds the reference's {} instead of {}",
          swapped.candidate, swapped.other, swapped.candidate, swapped.found, swapped.expected);
    }
    case DiagnosedCause::transposed_weight:
      return fmt::format(
          "the weight {} is transposed: its axes are not in the order in which the candidate "
          "multiplies by it",
          result.subject);
    case DiagnosedCause::swapped_inputs:
    case DiagnosedCause::swapped_outputs: {
      const auto& subjects = result.remedies.front().subjects;
      return fmt::format("the candidate's {} {} and {} are swapped",
                         result.cause == DiagnosedCause::swapped_inputs ? "inputs" : "outputs",
                         subjects[0], subjects[1]);
    }
    case DiagnosedCause::unlike_outputs:
      return fmt::format("output {} is not the reference's{}", result.subject,
                         is_part(*result.compare, result.subject)
                             ? "; a quantizer that all parts share fits the largest of them: keep "
                               "their Concat, and what follows it, in float"
                             : renamed_text(*result.compare, result.subject));
    case DiagnosedCause::unfinished_output: return unfinished_text(result);
    case DiagnosedCause::nonfinite_input:
      return fmt::format(
          "input '{}' holds NaN or infinity in sample {}: fix it, or leave the sample "
          "out",
          result.subject, result.compare->nonfinite_input->sample);
    case DiagnosedCause::unlike_inputs: return "cannot be told on these inputs";
    case DiagnosedCause::nonfinite:
      return fmt::format("NaN or infinity begins in the candidate's {}", result.subject);
    case DiagnosedCause::other_structure: return structure_text(result);
    case DiagnosedCause::changed_scale:
      return fmt::format("the input scale of {} was changed: its bias was quantized for another",
                         result.subject);
    case DiagnosedCause::missing_activation:
      return fmt::format("the candidate lacks the activation function {}", result.subject);
    case DiagnosedCause::narrow_range: return unfit_range_text(result);
    case DiagnosedCause::wrong_range: return wrong_range_text(result);
    case DiagnosedCause::other_calibration:
      return fmt::format("calibrated on inputs unlike these (S {:.2f}): its ranges do not fit them",
                         result.compare->evidence.calibration->score);
    case DiagnosedCause::kernels:
      return "the file is right; this CPU's integer kernels saturate when they run it";
    case DiagnosedCause::optimizer:
      return fmt::format("the file is right; ONNX Runtime's {} changes what it computes",
                         result.subject);
    case DiagnosedCause::inexact_operator: {
      const auto& first = result.compare->arithmetic->first_operator;
      return fmt::format(
          "the file is right; ONNX Runtime computes {} less exactly than the file says",
          first ? fmt::format("{} ({})", first->node, first->op) : "one of its operators");
    }
    case DiagnosedCause::drift_origin: {
      const LayersResult& layers = *result.layers;
      const auto row = layers.drift_origin
                           ? layers.rows.begin() + static_cast<std::ptrdiff_t>(*layers.drift_origin)
                           : std::ranges::find(layers.outputs, true, &LayerRow::exceeds);
      const std::string evidence = describe_evidence(*row, layers.rows);
      return fmt::format("{}: {}{}{}", row->layer, cause_name(row->cause),
                         evidence.empty() ? "" : ": ", evidence);
    }
    case DiagnosedCause::quantized_nodes:
      return fmt::format("quantization: {} makes most of the noise", result.subject);
    case DiagnosedCause::spread_quantization:
      return "quantization: the noise is spread, no few nodes make most of it";
    case DiagnosedCause::not_quantization:
      return fmt::format(
          "not found, but not quantization: with its quantizers off the candidate is {} dB from "
          "the reference",
          format_decibels(result.compare->evidence.structure->sqnr_db));
    case DiagnosedCause::unknown: break;
  }
  if (result.compare && result.compare->evidence.quantized && result.layers)
    return "not found: switching quantizers off needs the float .onnx model; give that as the "
           "reference";
  const auto little = std::ranges::find(result.remedies, Remedy::Kind::right_layer, &Remedy::kind);
  if (little != result.remedies.end())
    return fmt::format("not found: {} differs first, but explains little ({} -> {} dB once right)",
                       little->subjects.front(), format_decibels(little->before_db),
                       format_decibels(little->after_db));
  return "not found";
}

}  // namespace vernier
