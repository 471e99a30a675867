#include "vernier/report/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/analysis/compare/output_failures.h"
#include "vernier/json.h"
#include "vernier/report/check.h"
#include "vernier/report/compare.h"
#include "vernier/report/debug.h"
#include "vernier/report/evidence.h"
#include "vernier/report/explanations.h"
#include "vernier/report/layers.h"
#include "vernier/report/number.h"
#include "vernier/report/runtime_loss.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

struct Shown {
  const char* symbol;
  Tone tone;
};

Shown shown(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::good: return {"✓", Tone::good};
    case AnswerKind::bad: return {"✗", Tone::bad};
    case AnswerKind::unknown: return {"?", Tone::fair};
    case AnswerKind::not_asked: break;
  }
  return {"·", Tone::faint};
}

std::string soundness_text(const DiagnosisResult& result) {
  const auto errors = result.candidate_check.count(Severity::error);
  if (result.cause == DiagnosedCause::reference_unsound)
    return fmt::format("the reference: {}", explanation(result.subject).title);
  if (errors == 0)
    return result.reference_check ? "both run, nothing unsound" : "the candidate runs";
  const auto error =
      std::ranges::find(result.candidate_check.findings, Severity::error, &Finding::severity);
  return fmt::format("{} in the candidate: {}", format_count(errors, "error"),
                     explanation(error->id).title);
}

std::string inputs_text(const CompareResult& compare) {
  if (const auto& input = compare.nonfinite_input)
    return fmt::format("input '{}' holds NaN or infinity in sample {}", input->tensor,
                       input->sample);
  if (compare.evidence.calibration)
    return calibration_text(*compare.evidence.calibration, compare.evidence.real_inputs);
  if (compare.evidence.real_inputs) return "given";
  if (compare.evidence.norms)
    return fmt::format("{} those of training, by {} batch norms",
                       compare.evidence.norms->fits() ? "like" : "unlike",
                       compare.evidence.norms->norms);
  return compare.evidence.quantized ? "nothing shows whether they are like real ones"
                                    : "drawn for the candidate";
}

// "logits 27.30 dB (worst 22.30), 3.12% of decisions change"
std::string output_text(const PairResult& pair) {
  switch (pair.status) {
    case PairStatus::only_in_reference: return pair.name + " is missing in the candidate";
    case PairStatus::only_in_candidate: return pair.name + " is missing in the reference";
    case PairStatus::shape_mismatch:
      return fmt::format("{} is {}, the reference's {}", pair.name,
                         format_shape(pair.candidate_shape), format_shape(pair.reference_shape));
    case PairStatus::compared: break;
  }
  const Statistics& sqnr = pair.similarity.statistics[*find_metric("sqnr_db")];
  std::string text = fmt::format("{} {} dB (worst {})", pair.name, format_decibels(sqnr.mean),
                                 format_decibels(sqnr.min));
  if (const auto changed = changed_decisions(pair))
    text += fmt::format(", {:.3g}% of decisions change", 100 * *changed);
  return text;
}

// Describes the worst output, and the parts that fail.
std::string outputs_text(const CompareResult& compare) {
  const std::vector<PairResult> outputs = judged_outputs(compare);
  if (outputs.empty()) return "none to compare";
  const PairResult& worst = worst_output(outputs);
  std::string text = output_text(worst);
  const auto compared = std::ranges::count(outputs, PairStatus::compared, &PairResult::status) -
                        (worst.status == PairStatus::compared ? 1 : 0);
  if (compared > 0)
    text += fmt::format("; {} more agree{} better", compared, compared == 1 ? "s" : "");
  for (const PartResult& part : compare.parts)
    if (!failures_of(compare.verdict, part.pair.name).empty())
      text += "; " + output_text(part.pair);
  return text;
}

std::string runtime_text(const DiagnosisResult& result) {
  if (result.compare && result.compare->runtime_loss_db) {
    const double loss_db = std::max(0.0, *result.compare->runtime_loss_db);
    const ArithmeticLoss why = result.compare->arithmetic.value_or(ArithmeticLoss());
    std::string text = fmt::format("{} {:.1f} dB",
                                   is_of_kernels(loss_db, result.compare->arithmetic)
                                       ? "this CPU's integer kernels cost"
                                       : "the runtime's arithmetic costs",
                                   loss_db);
    if (const auto& first = why.first_operator)
      text += fmt::format(", first at {} ({})", first->node, first->op);
    return text;
  }
  const auto moved = std::ranges::find(result.stages, true, &RuntimeStage::is_moved);
  if (moved == result.stages.end())
    return result.stages.empty() ? "not measured" : "the same at every optimisation level";
  return fmt::format("optimisation level {} changes the outputs", moved->name);
}

// One line about the worst tensor; `debug` and the page list all.
std::string quantized_place_text(const DebugResult& debug) {
  const auto& damaged = debug.originators;
  if (!damaged.empty()) {
    const DebugActivation& worst = debug.activations[damaged.front()];
    if (damaged.size() == 1)
      return fmt::format("{} is damaged by its own quantizer ({} dB)", worst.tensor_name,
                         format_decibels(*worst.own_sqnr_db()));
    return fmt::format("{} are damaged by their own quantizer; worst: {} ({} dB)",
                       format_count(std::ssize(damaged), "tensor"), worst.tensor_name,
                       format_decibels(*worst.own_sqnr_db()));
  }
  if (debug.sensitivity && !debug.sensitivity->nodes.empty()) {
    const auto& noisiest = debug.sensitivity->nodes.front();
    return fmt::format("no tensor is damaged by itself; {} makes {:.0f}% of the noise",
                       noisiest.node, 100 * noisiest.noise_share);
  }
  return "no tensor is damaged by its own quantization";
}

std::string place_text(const DiagnosisResult& result) {
  if (result.cause == DiagnosedCause::other_structure)
    return result.subject.empty() ? "could not be found"
                                  : result.subject + ", the first that differs without quantizers";
  if (result.cause == DiagnosedCause::candidate_unsound) {
    const auto& findings = result.candidate_check.findings;
    const auto found = std::ranges::find(findings, result.subject, &Finding::id);
    if (found == findings.end()) return "could not be found";
    return fmt::format("{}, the first of {}", found->subject.name,
                       format_count(std::ssize(found->more) + 1, "node"));
  }
  if (result.cause == DiagnosedCause::transposed_weight)
    return "the node that multiplies by " + result.subject;
  if (result.cause == DiagnosedCause::swapped_inputs)
    return "the nodes that read " + result.subject;
  if (result.cause == DiagnosedCause::swapped_outputs)
    return "the node that writes " + result.subject;
  if (result.changed_scale)
    return fmt::format("{}, whose scale is {:.3g} times the one that the bias was quantized for",
                       result.changed_scale->tensor, result.changed_scale->factor);
  if (result.layers) {
    const LayersResult& layers = *result.layers;
    if (result.cause == DiagnosedCause::nonfinite)
      return fmt::format("{}, the first of {} layers with NaN or infinity", result.subject,
                         layers.layers_total());
    if (layers.drift_origin)
      return fmt::format("{}, the first of {} layers out of tolerance ({} in all)",
                         layers.rows[*layers.drift_origin].layer, layers.layers_total(),
                         layers.layers_exceeding);
    return "no layer is out of tolerance";
  }
  if (result.debug) return quantized_place_text(*result.debug);
  return "could not be found";
}

std::vector<std::string> diagnosis_warnings(const DiagnosisResult& result) {
  std::vector<std::string> warnings = warning_texts(result.warnings);
  if (result.compare)
    std::ranges::move(cache_fault_texts(result.compare->cache_faults),
                      std::back_inserter(warnings));
  return warnings;
}

std::string not_asked_text(const DiagnosisResult& result, Question question) {
  if (result.verdict.pass()) return "not needed";
  if (question == Question::remedy && result.is_other_network())
    return "convert the candidate again from this reference";
  return result.quick && question >= Question::place ? "not asked (--quick)" : "not needed";
}

std::string answer_text(const DiagnosisResult& result, const Answer& answer) {
  if (answer.kind == AnswerKind::not_asked) return not_asked_text(result, answer.question);
  switch (answer.question) {
    case Question::soundness: return soundness_text(result);
    case Question::weights:
      return result.compare->evidence.weights ? weights_text(*result.compare->evidence.weights)
                                              : "not compared";
    case Question::inputs: return inputs_text(*result.compare);
    case Question::outputs: return outputs_text(*result.compare);
    case Question::runtime: return runtime_text(result);
    case Question::place: return place_text(result);
    case Question::remedy:
      return result.remedies.empty() ? "none was found that a run confirms"
                                     : remedy_text(result.remedies.front());
  }
  return "";
}

Json answers_json(const DiagnosisResult& result) {
  return json_list<Json>(result.answers, [&](const Answer& answer) {
    return Json{{"question", question_name(answer.question)},
                {"answer", answer_kind_name(answer.kind)},
                {"text", answer_text(result, answer)}};
  });
}

std::string_view kind_name(Remedy::Kind kind) {
  switch (kind) {
    case Remedy::Kind::exact_kernels: return "exact_kernels";
    case Remedy::Kind::no_optimizer: return "no_optimizer";
    case Remedy::Kind::runtime: return "runtime";
    case Remedy::Kind::right_layer: return "right_layer";
    case Remedy::Kind::right_weights: return "right_weights";
    case Remedy::Kind::right_axes: return "right_axes";
    case Remedy::Kind::inference: return "inference";
    case Remedy::Kind::swap_inputs: return "swap_inputs";
    case Remedy::Kind::swap_outputs: return "swap_outputs";
    case Remedy::Kind::keep_in_float: return "keep_in_float";
    case Remedy::Kind::ranges: return "ranges";
    case Remedy::Kind::range: return "range";
    case Remedy::Kind::per_channel: return "per_channel";
    case Remedy::Kind::sixteen_bits: return "sixteen_bits";
  }
  return "";
}

Json remedies_json(const DiagnosisSubject& subject, const DiagnosisResult& result) {
  Json list = Json::array();
  for (const Remedy& remedy : result.remedies) {
    const std::string command = remedy_command(subject, remedy);
    list.push_back({{"kind", kind_name(remedy.kind)},
                    {"subjects", remedy.subjects},
                    {"before_db", json_number(remedy.before_db)},
                    {"after_db", json_number(remedy.after_db)},
                    {"interval_db", optional_json(remedy.interval_db)},
                    {"text", remedy_text(remedy)},
                    {"command", command.empty() ? Json(nullptr) : Json(command)}});
  }
  return list;
}

RunDescription run_of(RunDescription run, const char* command,
                      std::optional<std::int64_t> samples = {}) {
  run.command = command;
  if (samples) run.samples = samples;
  return run;
}

}  // namespace

Document describe_diagnosis(const DiagnosisSubject& subject, const DiagnosisResult& result) {
  Panel panel;
  for (const Answer& answer : result.answers) {
    const Shown look = shown(answer.kind);
    panel.facts.emplace_back(fmt::format("{} {}", look.symbol, question_name(answer.question)),
                             Cell(answer_text(result, answer), look.tone));
  }
  std::vector<Block> blocks = {panel};
  blocks.emplace_back(Paragraph{{"cause: " + cause_text(result), Tone::strong}});
  if (!result.remedies.empty())
    if (const std::string command = remedy_command(subject, result.remedies.front());
        !command.empty())
      blocks.emplace_back(Code{command});
  if (!result.remedies.empty() && result.remedies.front().how)
    if (const std::string code = session_code(*result.remedies.front().how); !code.empty())
      blocks.emplace_back(Code{code});
  if (!subject.report.empty())
    blocks.emplace_back(Paragraph{{"report: " + subject.report, Tone::plain}});
  return report_document({subject.run, diagnosis_warnings(result), &result.verdict},
                         std::move(blocks));
}

std::string diagnosis_json(const DiagnosisSubject& subject, const DiagnosisResult& result) {
  const RunDescription& run = subject.run;
  Json json = report_json<Json>({run, diagnosis_warnings(result), &result.verdict});
  json["answers"] = answers_json(result);
  json["cause"] = {{"kind", diagnosed_cause_name(result.cause)},
                   {"subject", result.subject},
                   {"text", cause_text(result)}};
  json["remedies"] = remedies_json(subject, result);
  const auto nested = [](const std::string& text) { return parse_json<Json>(text); };
  json["check"] = nested(check_json({.run = run_of(run, "check")}, result.candidate_check));
  if (result.compare) json["eval"] = nested(compare_json(run_of(run, "eval"), *result.compare));
  if (!result.stages.empty()) json["stages"] = result.stages;
  if (result.layers)
    json["layers"] =
        nested(layers_json({.run = run_of(run, "layers", result.layers->samples)}, *result.layers));
  if (result.debug)
    json["debug"] =
        nested(debug_json({.run = run_of(run, "debug", result.debug->samples)}, *result.debug));
  return json_text(json);
}

}  // namespace vernier
