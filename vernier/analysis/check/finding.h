#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/check/statement.h"

namespace vernier {

enum class Severity { note, warning, error };
std::string_view severity_name(Severity severity);

enum class SubjectKind { model, node, tensor };
std::string_view subject_kind_name(SubjectKind kind);

// What a finding is about. Inside an If, Loop or Scan the name is prefixed with the subgraph's
// path: "loop_1.body/add_2".
struct Subject {
  SubjectKind kind = SubjectKind::model;
  std::string name;  // empty for the model itself
  bool operator==(const Subject&) const = default;
};

// Where something was found, and what shows it.
struct Occurrence {
  Subject subject;
  Statement evidence;
  bool operator==(const Occurrence&) const = default;
};

struct Finding : Occurrence {
  std::string id;  // one of finding_kinds()
  Severity severity = Severity::warning;
  Statement remedy = {};         // none: that of its explanation
  std::vector<Occurrence> more;  // of the same id, severity and remedy
  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

// A finding with the severity of its kind.
Finding make_finding(std::string_view id, Subject subject, Statement evidence);

void append(Findings& findings, Findings more);

// Merges findings of the same id, severity and remedy: the first keeps the others in `more`.
Findings grouped(Findings findings);

}  // namespace vernier
