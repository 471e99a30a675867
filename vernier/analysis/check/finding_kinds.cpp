#include "vernier/analysis/check/finding_kinds.h"

#include <array>

#include "vernier/close_names.h"

namespace vernier {
namespace {

using enum CheckGroup;
using enum Severity;

constexpr std::array table = {
    FindingKind{"unreadable-file", runs, error},
    FindingKind{"unknown-operator", runs, error},
    FindingKind{"custom-operator", runs, error},
    FindingKind{"contrib-operator", runs, note},
    FindingKind{"refused-model", runs, error},
    FindingKind{"other-output-shape", runs, warning},
    FindingKind{"failed-run", runs, error},
    FindingKind{"crashed-run", runs, error},
    FindingKind{"not-run", runs, warning},
    FindingKind{"nondeterministic", runs, error},
    FindingKind{"output-differs", consistency, error},
    FindingKind{"nonfinite-reference", consistency, warning},
    FindingKind{"frozen-axis", dynamic_axes, error},
    FindingKind{"mixed-batch", dynamic_axes, error},
    FindingKind{"fixed-batch", dynamic_axes, warning},
    FindingKind{"fixed-sequence", dynamic_axes, note},
    FindingKind{"active-dropout", training_mode, error},
    FindingKind{"training-batchnorm", training_mode, error},
    FindingKind{"batch-statistics", training_mode, warning},
    FindingKind{"random-operator", training_mode, warning},
    FindingKind{"nonfinite-constant", numerics, error},
    FindingKind{"nonfinite-value", numerics, error},
    FindingKind{"fp16-overflow", numerics, note},
    FindingKind{"float64", numerics, warning},
    FindingKind{"cast-round-trip", numerics, warning},
    FindingKind{"subnormal-weights", numerics, warning},
    FindingKind{"dead-channels", numerics, warning},
    FindingKind{"unfolded-batchnorm", numerics, note},
    FindingKind{"vanishing-epsilon", numerics, warning},
    FindingKind{"fp16-softmax", numerics, warning},
    FindingKind{"index-out-of-range", numerics, error},
    FindingKind{"unreadable-preprocessing", preprocessing, warning},
    FindingKind{"image-layout", preprocessing, error},
    FindingKind{"image-size", preprocessing, error},
    FindingKind{"value-range", preprocessing, error},
    FindingKind{"normalised-twice", preprocessing, error},
    FindingKind{"never-normalised", preprocessing, note},
    FindingKind{"channel-order", preprocessing, warning},
    FindingKind{"missing-external-data", structure, error},
    FindingKind{"escaping-external-data", structure, error},
    FindingKind{"oversized-file", structure, error},
    FindingKind{"unused-initializer", structure, warning},
    FindingKind{"unused-node", structure, warning},
    FindingKind{"unused-input", structure, note},
    FindingKind{"unsorted-nodes", structure, warning},
    FindingKind{"repeated-initializer", structure, error},
    FindingKind{"duplicate-initializer", structure, warning},
    FindingKind{"identity-chain", structure, note},
    FindingKind{"constant-node", structure, note},
    FindingKind{"old-opset", structure, warning},
    FindingKind{"initializer-as-input", structure, warning},
    FindingKind{"old-ir-version", structure, warning},
    FindingKind{"missing-shapes", structure, note},
    FindingKind{"unpaired-quantize", quantization, warning},
    FindingKind{"mismatched-pair", quantization, error},
    FindingKind{"unfilled-range", quantization, warning},
    FindingKind{"differing-requantize", quantization, warning},
    FindingKind{"degenerate-scale", quantization, error},
    FindingKind{"zero-point-range", quantization, error},
    FindingKind{"unquantized-operator", quantization, note},
};

}  // namespace

std::string_view check_group_name(CheckGroup group) {
  switch (group) {
    case runs: return "Runs";
    case consistency: return "Consistency";
    case CheckGroup::dynamic_axes: return "Dynamic axes";
    case training_mode: return "Training mode";
    case numerics: return "Numerics";
    case preprocessing: return "Preprocessing";
    case structure: return "Structure";
    case quantization: return "Quantization";
  }
  return "";
}

std::span<const FindingKind> finding_kinds() { return table; }

const FindingKind& finding_kind(std::string_view id) {
  for (const FindingKind& kind : table)
    if (kind.id == id) return kind;
  std::vector<std::string> ids;
  for (const FindingKind& kind : table) ids.emplace_back(kind.id);
  throw unknown_name("check", "finding", id, ids);
}

}  // namespace vernier
