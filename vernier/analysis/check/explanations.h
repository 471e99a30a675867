#pragma once

#include <span>
#include <string_view>

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

// All texts for one kind of finding, used by findings, `vernier check --explain`, SARIF rules and
// docs/checks.md.
struct Explanation {
  std::string_view id;
  CheckGroup group;
  Severity severity;
  std::string_view title;
  std::string_view what;
  std::string_view why;
  std::string_view remedy;
};

// Every kind of finding, by group, in the order in which they are checked.
std::span<const Explanation> explanations();

// Throws Error, suggesting similarly spelled ids, if the id does not exist.
const Explanation& explanation(std::string_view id);

}  // namespace vernier
