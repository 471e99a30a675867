#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include "vernier/analysis/check/structure.h"
#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

std::vector<std::string> without_shape(const Body& body) {
  std::vector<std::string> names;
  for (const auto& node : body.graph->node())
    for (const std::string& output : node.output())
      if (!output.empty() && !is_op(node, "Constant") && !declared_shape(body, output))
        names.push_back(output);
  return names;
}

}  // namespace

Findings check_shapes(const Graphs& graphs) {
  const std::vector<std::string> missing = without_shape(graphs.main());
  if (missing.empty()) return {};
  try {
    const Model inferred = optimize(graphs.model, Optimization::disabled);
    const Graphs inferred_graphs(inferred);
    std::int64_t found = 0;
    std::string first;
    for (const std::string& name : missing)
      if (declared_shape(inferred_graphs.main(), name) && ++found == 1) first = name;
    if (found == 0) return {};
    return {make_finding("missing-shapes", tensor_subject(graphs.main(), first),
                         fmt::format("shape inference gives the shapes of {} that declare none",
                                     counted(found, "tensor")))};
  } catch (const Error&) {
    return {};  // a model that is refused is a finding already
  }
}

}  // namespace vernier
