#include "vernier/analysis/check/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "vernier/analysis/check/explanations.h"

namespace vernier {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "";
}

std::string_view subject_kind_name(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::model: return "model";
    case SubjectKind::node: return "node";
    case SubjectKind::tensor: return "tensor";
  }
  return "";
}

Finding make_finding(std::string_view id, Subject subject, std::string evidence) {
  const Explanation& text = explanation(id);
  return {{std::move(subject), std::move(evidence)},
          std::string(id),
          text.severity,
          std::string(text.remedy),
          {}};
}

void append(Findings& findings, Findings more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

Findings grouped(Findings findings) {
  Findings groups;
  for (Finding& finding : findings) {
    const auto same = std::ranges::find_if(groups, [&](const Finding& first) {
      return first.id == finding.id && first.severity == finding.severity &&
             first.remedy == finding.remedy;
    });
    if (same == groups.end())
      groups.push_back(std::move(finding));
    else
      same->more.push_back(std::move(finding));
  }
  return groups;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace vernier
