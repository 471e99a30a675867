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

// What is decided about one kind of finding; its texts are in report/explanations.h.
struct FindingKind {
  std::string_view id;
  CheckGroup group;
  Severity severity;
};

// Every kind of finding, by group, in the order in which they are checked.
std::span<const FindingKind> finding_kinds();

// Throws Error, suggesting similarly spelled ids, if the id does not exist.
const FindingKind& finding_kind(std::string_view id);

}  // namespace vernier
