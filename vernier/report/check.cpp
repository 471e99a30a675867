#include "vernier/report/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "vernier/report/evidence.h"
#include "vernier/report/finding.h"
#include "vernier/report/json.h"
#include "vernier/report/number.h"
#include "vernier/report/verdict.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

Tone tone_of(Severity severity) {
  switch (severity) {
    case Severity::error: return Tone::bad;
    case Severity::warning: return Tone::fair;
    case Severity::note: return Tone::plain;
  }
  return Tone::plain;
}

std::string subject_text(const CheckSubject& subject, const Occurrence& found) {
  return found.subject.name.empty() ? subject.run.candidate : found.subject.name;
}

Panel finding_panel(const CheckSubject& subject, const Finding& finding) {
  Panel panel{fmt::format("{}: {}", severity_name(finding.severity), finding.id), {}};
  const auto add = [&](const Occurrence& found) {
    panel.facts.emplace_back(subject_text(subject, found),
                             Cell{evidence_text(found), tone_of(finding.severity)});
  };
  add(finding);
  const auto shown = std::min<std::size_t>(finding.more.size(), std::max(subject.top - 1, 0));
  for (std::size_t i = 0; i < shown; ++i) add(finding.more[i]);
  if (shown < finding.more.size())
    panel.facts.emplace_back(fmt::format("and {} more", finding.more.size() - shown),
                             Cell{"JSON lists them all", Tone::faint});
  panel.facts.emplace_back("remedy", remedy_text(finding));
  return panel;
}

std::string counts_text(const CheckResult& result) {
  return fmt::format("{}, {}, {}", format_count(result.count(Severity::error), "error"),
                     format_count(result.count(Severity::warning), "warning"),
                     format_count(result.count(Severity::note), "note"));
}

Json occurrence_json(const Occurrence& found) {
  return {
      {"subject", {{"kind", subject_kind_name(found.subject.kind)}, {"name", found.subject.name}}},
      {"evidence", evidence_text(found)}};
}

Json finding_json(const Finding& finding) {
  Json json = {{"id", finding.id}, {"severity", severity_name(finding.severity)}};
  json.update(occurrence_json(finding));
  json["remedy"] = remedy_text(finding);
  json["more"] = json_list<Json>(finding.more, occurrence_json);
  return json;
}

}  // namespace

Document describe_check(const CheckSubject& subject, const CheckResult& result) {
  RunDescription run = subject.run;
  run.settings.emplace_back("findings", counts_text(result));
  std::vector<Block> blocks;
  for (const Finding& finding : result.findings)
    blocks.emplace_back(finding_panel(subject, finding));
  if (result.weights) blocks.emplace_back(Panel{"", {{"weights", weights_text(*result.weights)}}});
  return report_document({.run = run, .verdict = &result.verdict}, std::move(blocks));
}

std::string check_json(const CheckSubject& subject, const CheckResult& result) {
  Json json = report_json<Json>({.run = subject.run, .verdict = &result.verdict});
  json["findings"] = json_list<Json>(result.findings, finding_json);
  json["counts"] = {{"error", result.count(Severity::error)},
                    {"warning", result.count(Severity::warning)},
                    {"note", result.count(Severity::note)}};
  json["weight_evidence"] = weights_json<Json>(result.weights);
  return json_text(json);
}

}  // namespace vernier
