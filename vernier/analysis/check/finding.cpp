#include "vernier/analysis/check/finding.h"

#include <algorithm>
#include <iterator>

#include "vernier/analysis/check/finding_kinds.h"

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

Finding make_finding(std::string_view id, Subject subject, Statement evidence) {
  return {{std::move(subject), std::move(evidence)}, std::string(id), finding_kind(id).severity};
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

}  // namespace vernier
