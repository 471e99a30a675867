#include "vernier/report/quantize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/report/decisions.h"
#include "vernier/report/json.h"
#include "vernier/report/number.h"
#include "vernier/report/runtime_loss.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

std::string kernels_text(const QuantizeResult& result) {
  const auto count_text = [](const auto& kernel) {
    return fmt::format("{} {}", kernel.second, kernel.first);
  };
  std::string text =
      result.integer_kernels.empty() ? "none" : joined(result.integer_kernels, count_text);
  if (!result.float_kernels.empty())
    text += "; in float " + joined(result.float_kernels, count_text);
  return text;
}

std::string weights_text(const QuantizationChoices& choices) {
  const int bits = choices.precision.weight_bits;
  std::string text = fmt::format("{} bits", bits);
  if (bits == 8) text += fmt::format(", {}", weight_storage_name(choices.storage));
  if (bits != 4) return text;
  text += fmt::format(" in blocks of {}, {}, {}", choices.blocks.block_size,
                      choices.blocks.symmetric ? "symmetric" : "with zero points",
                      block_rule_name(choices.blocks.rule));
  if (!choices.weight_bits.empty())
    text += fmt::format("; {} in 8 bits", choices.weight_bits.size());
  return text;
}

Panel model_panel(const QuantizeSubject& subject, const QuantizeResult& result) {
  Panel panel{.title = "Quantized"};
  const auto add = [&](const char* name, std::string text) {
    if (!text.empty()) panel.facts.emplace_back(name, std::move(text));
  };
  add("written",
      fmt::format("{}, {} ({:.2f} of the float model's)", subject.files.quantized,
                  format_bytes(subject.files.quantized_bytes),
                  static_cast<double>(subject.files.quantized_bytes) /
                      static_cast<double>(std::max<std::int64_t>(1, subject.files.source_bytes))));
  add("float model", subject.files.floating);
  add("prepared",
      fmt::format("{} nodes to {}, {} folded", result.nodes_before, result.float_model_nodes,
                  format_count(result.batch_norms, "batch norm")));
  add("operators",
      fmt::format("{} quantized, {} in float", result.quantized_nodes, result.float_nodes));
  if (result.quantizers > 0) add("activations", format_count(result.quantizers, "quantizer"));
  add("weights", weights_text(result.choices));
  add("kernels", kernels_text(result));
  return panel;
}

Panel held_back_panel(const QuantizeResult& result) {
  const HeldBackResult& held = *result.held_back;
  Panel panel{.title = "Held back"};
  const auto add = [&](const char* name, Cell cell) {
    panel.facts.emplace_back(name, std::move(cell));
  };
  add("samples", std::to_string(held.samples));
  add("sqnr_db",
      Cell(fmt::format("{} {}", format_decibels(held.sqnr_db), interval_text(held.interval)),
           decibel_tone(held.sqnr_db)));
  if (std::isnan(held.interval.low) && !std::isnan(held.sqnr_db))
    add("interval", "unknown: of fewer than 3 samples there is none");
  if (held.outputs.size() > 1)
    for (const OutputFigure& output : held.outputs)
      add("of output", fmt::format("{} {} {}{}", output.name, format_decibels(output.sqnr_db),
                                   interval_text(output.interval),
                                   &output == &worst_of(held.outputs) ? ", the worst" : ""));
  add("as deployed here",
      Cell(format_decibels(held.deployed_sqnr_db), decibel_tone(held.deployed_sqnr_db)));
  if (held.int8_sqnr_db)
    add("with int8 weights",
        fmt::format("{} exact, {} as deployed here: what the target CPU is spared",
                    format_decibels(*held.int8_sqnr_db), format_decibels(*held.int8_deployed_db)));
  if (held.kl_mean)
    add("kl_mean", fmt::format("{} [{}, {}] nats", format_significant(*held.kl_mean),
                               format_significant(held.kl_interval.low),
                               format_significant(held.kl_interval.high)));
  if (held.agreement) add("agreement", fmt::format("{:.2f} %", 100 * *held.agreement));
  if (held.accuracy)
    add("accuracy", fmt::format("{:.2f} %, float {:.2f} %", *held.accuracy,
                                held.reference_accuracy.value_or(0)));
  return panel;
}

Json held_back_json(const HeldBackResult& held) {
  Json json = {{"samples", held.samples},
               {"sqnr_db", json_number(held.sqnr_db)},
               {"sqnr_db_interval", held.interval},
               {"deployed_sqnr_db", json_number(held.deployed_sqnr_db)},
               {"int8_sqnr_db", optional_json(held.int8_sqnr_db)},
               {"int8_deployed_sqnr_db", optional_json(held.int8_deployed_db)},
               {"agreement", optional_json(held.agreement)},
               {"accuracy", optional_json(held.accuracy)},
               {"reference_accuracy", optional_json(held.reference_accuracy)}};
  if (held.outputs.size() > 1) {
    json["outputs"] = held.outputs;
    json["worst_output"] = worst_of(held.outputs).name;
  }
  if (held.arithmetic) json["arithmetic"] = *held.arithmetic;
  if (held.kl_mean) {
    json["kl_mean"] = json_number(*held.kl_mean);
    json["kl_mean_interval"] = held.kl_interval;
  }
  return json;
}

Envelope envelope_of(const QuantizeSubject& subject, const QuantizeResult& result) {
  std::vector<std::string> warnings = warning_texts(result.warnings);
  if (const auto& held = result.held_back)
    if (std::string loss = runtime_loss_text({.db = held->sqnr_db - held->deployed_sqnr_db,
                                              .why = held->arithmetic,
                                              .candidate = subject.files.quantized,
                                              .reference = subject.files.floating});
        !loss.empty())
      warnings.push_back(std::move(loss));
  return {.run = subject.run,
          .warnings = std::move(warnings),
          .verdict = result.verdict.limits.empty() ? nullptr : &result.verdict};
}

}  // namespace

std::vector<Warning> with_doubts(const CalibrationData& data, std::vector<Warning> warnings) {
  if (data.synthetic)
    warnings.insert(warnings.begin(),
                    {data.fit ? WarningKind::fitting_samples : WarningKind::synthetic_samples});
  return warnings;
}

Document describe_quantize(const QuantizeSubject& subject, const QuantizeResult& result) {
  std::vector<Block> blocks;
  if (!result.decisions.empty())
    blocks.emplace_back(decisions_table(result.decisions, result.choosing_samples, subject.top));
  blocks.emplace_back(model_panel(subject, result));
  if (result.held_back) blocks.emplace_back(held_back_panel(result));
  return report_document(envelope_of(subject, result), std::move(blocks));
}

std::string quantize_json(const QuantizeSubject& subject, const QuantizeResult& result) {
  Json json = report_json<Json>(envelope_of(subject, result));
  json["files"] = subject.files;
  json["batch_norms_folded"] = result.batch_norms;
  json["quantized_operators"] = result.quantized_nodes;
  json["float_operators"] = result.float_nodes;
  json["activation_quantizers"] = result.quantizers;
  json["weight_storage"] = weight_storage_name(result.choices.storage);
  json["integer_kernels"] = result.integer_kernels;
  json["float_kernels"] = result.float_kernels;
  json["calibration_samples"] = result.calibration_samples;
  json["choosing_samples"] = result.choosing_samples;
  json["decisions"] = result.decisions;
  json["ranges"] = Json::object();
  for (const auto& [tensor, range] : result.choices.ranges)
    json["ranges"][tensor] = {
        {"low", json_number(range.low)}, {"high", json_number(range.high)}, {"rule", range.rule}};
  json["held_back"] = result.held_back ? held_back_json(*result.held_back) : Json(nullptr);
  return json_text(json);
}

}  // namespace vernier
