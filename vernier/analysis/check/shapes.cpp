#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/analysis/check/structure.h"
#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

std::vector<std::string> without_shape(const Body& subgraph) {
  std::vector<std::string> names;
  for (const auto& node : subgraph.graph->node())
    for (const std::string& output : node.output())
      if (!output.empty() && !is_op(node, "Constant") && !declared_shape(subgraph, output))
        names.push_back(output);
  return names;
}

// What ONNX Runtime infers of the tensors: it tells the shape of outputs, so they are made such. A
// shape without dimensions may also be one that is not known.
std::vector<TensorSpec> inferred_shapes(const Graphs& graphs, std::vector<std::string> tensors) {
  Model exposed = graphs.model.clone();
  std::erase_if(tensors, [&](const auto& name) { return graphs.main().index->is_output(name); });
  try {
    expose_outputs(exposed, tensors);
    const OrtRunner runner(std::move(exposed), {.optimization = Optimization::disabled});
    std::vector<TensorSpec> found;
    for (const TensorSpec& spec : runner.outputs())
      if (!spec.shape.empty() && std::ranges::find(tensors, spec.name) != tensors.end())
        found.push_back(spec);
    return found;
  } catch (const Error&) {
    return {};  // a model that is refused is a finding already
  }
}

}  // namespace

Findings check_shapes(const Graphs& graphs) {
  const Body& subgraph = graphs.main();
  const std::vector<std::string> missing = without_shape(subgraph);
  if (missing.empty()) return {};
  const std::vector<TensorSpec> inferred = inferred_shapes(graphs, missing);
  if (inferred.empty()) return {};
  return {make_finding("missing-shapes", tensor_subject(subgraph, inferred.front().name),
                       fmt::format("shape inference gives the shapes of {} that declare none",
                                   counted(std::ssize(inferred), "tensor")))};
}

}  // namespace vernier
