#include "vernier/report/repair.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "vernier/report/decisions.h"
#include "vernier/report/number.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

std::string conclusion(const RepairSubject& subject, const RepairResult& result) {
  const RepairProof& proof = result.held_back;
  const std::string change = fmt::format(
      "{} -> {} dB at the output on {} held-back samples, gain {:+.2f} {}; as deployed here {} -> "
      "{} dB{}",
      format_decibels(proof.shipped_db), format_decibels(proof.repaired_db),
      result.held_back_samples, proof.gain.db, interval_text(proof.gain.interval),
      format_decibels(proof.shipped_deployed_db), format_decibels(proof.repaired_deployed_db),
      changes_text(proof.outputs));
  return result.model ? fmt::format("{}: {}", subject.file, change)
                      : fmt::format("nothing is gained, nothing is written: {}", change);
}

std::string storage_text(const RepairResult& result) {
  return fmt::format(
      "{} of int8 {} stored as uint8, the same numbers: kernels for uint8 x int8 saturate on CPUs "
      "without VNNI (--target-cpu vnni leaves them).",
      format_count(result.unsigned_weights, "weight"), result.unsigned_weights == 1 ? "is" : "are");
}

}  // namespace

Document describe_repair(const RepairSubject& subject, const RepairResult& result) {
  std::vector<Block> blocks;
  if (!result.decisions.empty())
    blocks.emplace_back(decisions_table(result.decisions, result.choosing_samples, subject.top));
  blocks.emplace_back(
      Paragraph{Cell(conclusion(subject, result), result.model ? Tone::good : Tone::fair)});
  if (result.model && result.unsigned_weights > 0)
    blocks.emplace_back(Paragraph{Cell(storage_text(result))});
  return report_document({subject.run, warning_texts(result.warnings), &result.verdict},
                         std::move(blocks));
}

std::string repair_json(const RepairSubject& subject, const RepairResult& result) {
  Json json = report_json<Json>({subject.run, warning_texts(result.warnings), &result.verdict});
  json["written"] = result.model ? Json(subject.file) : Json(nullptr);
  json["activation_quantizers"] = result.quantizers;
  json["weights"] = result.weights;
  json["unmatched_weights"] = result.unmatched_weights;
  json["unsigned_weights"] = result.model ? result.unsigned_weights : 0;
  json["decisions"] = result.decisions;
  const RepairProof& proof = result.held_back;
  json["held_back"] = {{"samples", result.held_back_samples},
                       {"shipped_sqnr_db", json_number(proof.shipped_db)},
                       {"repaired_sqnr_db", json_number(proof.repaired_db)},
                       {"gain_db", json_number(proof.gain.db)},
                       {"gain_db_interval", proof.gain.interval},
                       {"shipped_deployed_sqnr_db", json_number(proof.shipped_deployed_db)},
                       {"repaired_deployed_sqnr_db", json_number(proof.repaired_deployed_db)},
                       {"deployed_gain_db", json_number(proof.deployed_gain.db)},
                       {"deployed_gain_db_interval", proof.deployed_gain.interval}};
  for (const OutputChange& output : proof.outputs)
    json["held_back"]["outputs"].push_back({{"name", output.name},
                                            {"shipped_sqnr_db", json_number(output.before_db)},
                                            {"repaired_sqnr_db", json_number(output.after_db)}});
  return json_text(json);
}

}  // namespace vernier
