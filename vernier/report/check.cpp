#include "vernier/report/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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

std::string subject_text(const CheckSubject& subject, const Finding& finding) {
  return finding.subject.name.empty() ? subject.model : finding.subject.name;
}

// Findings of one kind and severity that have the same remedy.
using Kind = std::vector<Finding>;

std::vector<Kind> by_kind(const Findings& findings) {
  std::vector<Kind> kinds;
  for (const Finding& finding : findings) {
    const auto same = std::ranges::find_if(kinds, [&](const Kind& kind) {
      const Finding& first = kind.front();
      return first.id == finding.id && first.severity == finding.severity &&
             first.remedy == finding.remedy;
    });
    if (same == kinds.end())
      kinds.push_back({finding});
    else
      same->push_back(finding);
  }
  return kinds;
}

Panel kind_panel(const CheckSubject& subject, const Kind& kind) {
  const Finding& first = kind.front();
  Panel panel{fmt::format("{}: {}", severity_name(first.severity), first.id), {}};
  const auto shown = std::min<std::size_t>(kind.size(), subject.top);
  for (std::size_t i = 0; i < shown; ++i)
    panel.facts.emplace_back(subject_text(subject, kind[i]),
                             Cell{kind[i].evidence, tone_of(first.severity)});
  if (shown < kind.size())
    panel.facts.emplace_back(fmt::format("and {} more", kind.size() - shown),
                             Cell{"JSON lists them all", Tone::faint});
  panel.facts.emplace_back("remedy", first.remedy);
  return panel;
}

Panel subject_panel(const CheckSubject& subject, const CheckResult& result) {
  Panel panel{"", {{"model", subject.model}}};
  if (!subject.reference.empty()) panel.facts.emplace_back("reference", subject.reference);
  panel.facts.emplace_back(
      "findings", fmt::format("{}, {}, {}", format_count(result.count(Severity::error), "error"),
                              format_count(result.count(Severity::warning), "warning"),
                              format_count(result.count(Severity::note), "note")));
  return panel;
}

Json finding_json(const Finding& finding) {
  return {{"id", finding.id},
          {"severity", std::string(severity_name(finding.severity))},
          {"subject",
           {{"kind", std::string(subject_kind_name(finding.subject.kind))},
            {"name", finding.subject.name}}},
          {"evidence", finding.evidence},
          {"remedy", finding.remedy}};
}

}  // namespace

Document describe_check(const CheckSubject& subject, const CheckResult& result) {
  Document document;
  document.blocks.emplace_back(subject_panel(subject, result));
  for (const Kind& kind : by_kind(result.findings))
    document.blocks.emplace_back(kind_panel(subject, kind));
  document.blocks.emplace_back(verdict_paragraph(result.verdict));
  return document;
}

std::string check_json(const CheckSubject& subject, const CheckResult& result) {
  Json json = json_header<Json>("check", {.onnxruntime = true});
  json["configuration"] = {
      {"model", subject.model},
      {"reference", subject.reference.empty() ? Json(nullptr) : Json(subject.reference)},
      {"only", subject.only},
      {"disable", subject.disable},
      {"strict", subject.strict}};
  json["findings"] = Json::array();
  for (const Finding& finding : result.findings) json["findings"].push_back(finding_json(finding));
  json["counts"] = {{"error", result.count(Severity::error)},
                    {"warning", result.count(Severity::warning)},
                    {"note", result.count(Severity::note)}};
  json["verdict"] = verdict_json<Json>(result.verdict);
  json["pass"] = result.verdict.pass();
  return json_text(json);
}

}  // namespace vernier
