#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/check/finding.h"

namespace vernier {

enum class CheckGroup {
  runs,
  consistency,
  dynamic_axes,
  training_mode,
  numerics,
  preprocessing,
  structure,
  quantization
};
std::string_view check_group_name(CheckGroup group);  // "Dynamic axes"

// Everything that is said of one kind of finding: findings, `vernier check --explain`, SARIF rules
// and docs/checks.md all take it from here.
struct Explanation {
  std::string_view id;
  CheckGroup group;
  Severity severity;
  std::string_view title;
  std::string_view what;
  std::string_view why;
  std::string_view remedy;
};

// Every kind of finding, by group, in the order in which they are looked for.
std::span<const Explanation> explanations();

// Throws Error, with the ids that are spelled alike, if there is none of that id.
const Explanation& explanation(std::string_view id);

}  // namespace vernier
