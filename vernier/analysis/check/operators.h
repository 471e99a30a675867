#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vernier {

// The first opset of the ONNX domain that has the operator, and the first that no longer has it.
struct OperatorHistory {
  std::int64_t since = 0;
  std::int64_t removed = 0;      // 0 if not removed
  std::string_view replacement;  // if removed
  bool operator==(const OperatorHistory&) const = default;
};
std::optional<OperatorHistory> operator_history(std::string_view op_type);

// Whether this opset of ONNX has the operator.
bool exists_in(const OperatorHistory& history, std::int64_t opset);

// The ONNX operator with the most similar name; empty if none is similar.
std::string closest_operator(std::string_view op_type);

// The newest opset whose IR version is known.
extern const std::int64_t newest_known_opset;
// The IR version that was released with an opset of ONNX, which a file that imports it needs.
std::int64_t ir_version_of(std::int64_t opset);

// Whether the domain's operators are built into ONNX Runtime but not part of ONNX.
bool is_runtime_domain(std::string_view domain);
// Whether the domain is one of ONNX's own.
bool is_standard_domain(std::string_view domain);

}  // namespace vernier
