#pragma once

#include <string>
#include <vector>

#include "tests/model_builder.h"

namespace vernier {

// Small graphs that several tests edit and watch, and how their nodes hang together.

inline GraphBuilder chain() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"b"}).node("Relu", {"b"}, {"y"});
  return builder;
}

inline std::vector<std::string> wiring(const vernier_onnx::GraphProto& graph) {
  std::vector<std::string> lines;
  for (const auto& node : graph.node())
    lines.push_back(node.op_type() + " " + node.input(0) + " -> " + node.output(0));
  return lines;
}

inline GraphBuilder branch(const std::string& op) {
  GraphBuilder builder;
  builder.node(op, {"x"}, {"same"}).output("same", DType::f32, {{2}});
  return builder;
}

inline GraphBuilder conditional() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}})
      .input("c", DType::boolean, {})
      .output("y", DType::f32, {{2}});
  builder.node("If", {"c"}, {"y"},
               {graph_attribute("then_branch", branch("Neg")),
                graph_attribute("else_branch", branch("Abs"))});
  return builder;
}

}  // namespace vernier
