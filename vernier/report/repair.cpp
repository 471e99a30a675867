#include "vernier/report/repair.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "vernier/report/decisions.h"
#include "vernier/report/number.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

std::string conclusion(const RepairSubject& subject, const RepairResult& result) {
  const std::string change =
      fmt::format("{} -> {} dB at the output on {} held-back samples, gain {:+.2f} {}",
                  format_decibels(result.shipped_db), format_decibels(result.repaired_db),
                  result.held_back_samples, result.gain.db, interval_text(result.gain.interval));
  return result.model ? fmt::format("{}: {}", subject.file, change)
                      : fmt::format("nothing is gained, nothing is written: {}", change);
}

}  // namespace

Document describe_repair(const RepairSubject& subject, const RepairResult& result) {
  std::vector<Block> blocks;
  if (!result.decisions.empty())
    blocks.emplace_back(decisions_table(result.decisions, result.choosing_samples, subject.top));
  blocks.emplace_back(
      Paragraph{Cell(conclusion(subject, result), result.model ? Tone::good : Tone::fair)});
  return report_document({.run = subject.run, .warnings = result.warnings}, std::move(blocks));
}

std::string repair_json(const RepairSubject& subject, const RepairResult& result) {
  Json json = report_json<Json>({.run = subject.run, .warnings = result.warnings});
  json["written"] = result.model ? Json(subject.file) : Json(nullptr);
  json["activation_quantizers"] = result.quantizers;
  json["weights"] = result.weights;
  json["unmatched_weights"] = result.unmatched_weights;
  json["decisions"] = decisions_json<Json>(result.decisions);
  json["held_back"] = {{"samples", result.held_back_samples},
                       {"shipped_sqnr_db", json_number<Json>(result.shipped_db)},
                       {"repaired_sqnr_db", json_number<Json>(result.repaired_db)},
                       {"gain_db", json_number<Json>(result.gain.db)},
                       {"gain_db_interval", interval_json<Json>(result.gain.interval)}};
  return json_text(json);
}

}  // namespace vernier
