#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/index.h"

namespace vernier {

enum class Severity { note, warning, error };
std::string_view severity_name(Severity severity);

enum class SubjectKind { model, node, tensor };
std::string_view subject_kind_name(SubjectKind kind);

// What a finding is about. Inside an If, Loop or Scan the name has the subgraph's path in front:
// "loop_1.body/add_2".
struct Subject {
  SubjectKind kind = SubjectKind::model;
  std::string name;  // empty for the model itself
  bool operator==(const Subject&) const = default;
};

struct Finding {
  std::string id;  // an entry of explanations()
  Severity severity = Severity::warning;
  Subject subject;
  std::string evidence;  // one sentence each
  std::string remedy;
  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

// A finding with the severity and the remedy that the explanation of `id` gives.
Finding make_finding(std::string_view id, Subject subject, std::string evidence);

// A node or tensor of one of the model's graphs.
Subject node_subject(const GraphIndex& graph, const vernier_onnx::NodeProto& node);
Subject tensor_subject(const GraphIndex& graph, const std::string& tensor);

void append(Findings& findings, Findings more);

// "3 nodes", "1 node".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace vernier
