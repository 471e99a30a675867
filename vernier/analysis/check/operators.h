#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vernier {

// The first opset of ONNX's own domain that has the operator, and the first that no longer has it.
struct OperatorHistory {
  std::int64_t since = 0;
  std::int64_t removed = 0;      // 0: still there
  std::string_view replacement;  // for what was removed
  bool operator==(const OperatorHistory&) const = default;
};
std::optional<OperatorHistory> operator_history(std::string_view op_type);

// Whether an opset of ONNX has the operator.
bool exists_in(const OperatorHistory& history, std::int64_t opset);

// ONNX's operator that is spelled most like this one; empty if none is.
std::string closest_operator(std::string_view op_type);

// The newest opset whose IR version is known.
extern const std::int64_t newest_known_opset;
// The IR version that came with an opset of ONNX: what a file that imports it needs.
std::int64_t ir_version_of(std::int64_t opset);

// Domains whose operators are built into ONNX Runtime, besides ONNX's own.
bool is_runtime_domain(std::string_view domain);
// ONNX's own domains.
bool is_standard_domain(std::string_view domain);

}  // namespace vernier
