#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "vernier/analysis/check/finding_kinds.h"
#include "vernier/report/check.h"
#include "vernier/report/finding.h"
#include "vernier/report/json.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

Json text(std::string_view sentence) { return {{"text", printable(sentence)}}; }

// SARIF's levels have the names of our severities.
Json rule(const Explanation& entry) {
  const FindingKind& kind = finding_kind(entry.id);
  return {{"id", std::string(entry.id)},
          {"shortDescription", text(entry.title)},
          {"fullDescription", text(std::string(entry.what) + " " + std::string(entry.why))},
          {"help", text(entry.remedy)},
          {"defaultConfiguration", {{"level", severity_name(kind.severity)}}},
          {"properties", {{"group", check_group_name(kind.group)}}}};
}

std::size_t rule_index(std::string_view id) { return &finding_kind(id) - finding_kinds().data(); }

// A file's name as a relative URI.
std::string uri(const std::string& file) {
  std::string out;
  for (const char c : file) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Json location(const CheckSubject& subject, const Occurrence& finding) {
  Json json = {{"physicalLocation", {{"artifactLocation", {{"uri", uri(subject.run.candidate)}}}}}};
  if (!finding.subject.name.empty())
    json["logicalLocations"] =
        Json::array({{{"fullyQualifiedName", printable(finding.subject.name)},
                      {"kind", subject_kind_name(finding.subject.kind)}}});
  return json;
}

Json result_json(const CheckSubject& subject, const Finding& finding, const Occurrence& found) {
  const std::string where = found.subject.name.empty() ? "" : found.subject.name + ": ";
  return {{"ruleId", finding.id},
          {"ruleIndex", rule_index(finding.id)},
          {"level", severity_name(finding.severity)},
          {"message", text(where + evidence_text(found) + ". " + remedy_text(finding))},
          {"locations", Json::array({location(subject, found)})}};
}

}  // namespace

std::string check_sarif(const CheckSubject& subject, const CheckResult& result) {
  Json driver = {{"name", "vernier"}, {"version", version()}, {"rules", Json::array()}};
  for (const Explanation& entry : explanations()) driver["rules"].push_back(rule(entry));
  Json run = {{"tool", {{"driver", std::move(driver)}}}, {"results", Json::array()}};
  for (const Finding& finding : result.findings) {
    run["results"].push_back(result_json(subject, finding, finding));
    for (const Occurrence& other : finding.more)
      run["results"].push_back(result_json(subject, finding, other));
  }
  return json_text(Json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                        {"version", "2.1.0"},
                        {"runs", Json::array({std::move(run)})}});
}

}  // namespace vernier
