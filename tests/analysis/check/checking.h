#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/analysis/check/check.h"
#include "vernier/model/index.h"
#include "vernier/report/finding.h"

namespace vernier {

// What check() finds in a model that is saved to a file of its own.
inline Findings check_saved(const Model& model, const CheckOptions& options = {}) {
  const TemporaryDirectory folder;
  model.save(folder / "built.onnx");
  return check(folder / "built.onnx", options).findings;
}

inline Findings check_saved(const Model& model, const std::string& only) {
  return check_saved(model, CheckOptions{.only = {only}});
}

inline std::vector<std::string> ids_of(const Findings& findings) {
  std::vector<std::string> ids;
  for (const Finding& finding : findings) ids.push_back(finding.id);
  return ids;
}

// The findings of one kind.
inline Findings only(Findings findings, const std::string& id) {
  std::erase_if(findings, [&](const Finding& finding) { return finding.id != id; });
  return findings;
}

// Errors and warnings.
inline Findings serious(Findings findings) {
  std::erase_if(findings, [](const Finding& f) { return f.severity == Severity::note; });
  return findings;
}

// "node_1: what was found", for the only finding of a kind; "none" or "several" otherwise.
inline std::string told(const Findings& findings, const std::string& id) {
  const Findings found = only(findings, id);
  if (found.empty()) return "none";
  if (found.size() > 1) return "several";
  return found[0].subject.name + ": " + evidence_text(found[0]);
}

// For the messages of failed tests.
inline void PrintTo(const Finding& finding, std::ostream* out) {
  *out << finding.id << " " << finding.subject.name << ": " << evidence_text(finding);
}

inline Tensor f32(const std::string& name, Shape shape, const std::vector<float>& values) {
  return tensor_of<float>(name, DType::f32, std::move(shape), values);
}

// As many equal numbers as the shape takes.
inline Tensor filled(const std::string& name, const Shape& shape, float value) {
  return f32(name, shape, std::vector<float>(element_count(shape), value));
}

inline Tensor i64(const std::string& name, const std::vector<std::int64_t>& values) {
  return tensor_of<std::int64_t>(name, DType::i64, {std::ssize(values)}, values);
}

inline vernier_onnx::AttributeProto float_attribute(const std::string& name, float value) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
  return attribute;
}

inline vernier_onnx::AttributeProto ints_attribute(const std::string& name,
                                                   const std::vector<std::int64_t>& values) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
  return attribute;
}

}  // namespace vernier
