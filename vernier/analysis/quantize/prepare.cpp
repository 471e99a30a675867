#include "vernier/analysis/quantize/prepare.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <unordered_set>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

std::int64_t batch_norms(const Model& model) {
  return std::ranges::count_if(model.graph().node(), [](const NodeProto& node) {
    return is_op(node, "BatchNormalization");
  });
}

void name_nodes(Model& model) {
  std::unordered_set<std::string> names;
  for (const NodeProto& node : model.graph().node()) names.insert(node.name());
  std::unordered_set<std::string> seen;
  for (NodeProto& node : *model.graph().mutable_node()) {
    const std::string given = node.name();
    if (!given.empty() && seen.insert(given).second) continue;
    const std::string stem = given.empty() ? node_label(node) : given;
    std::string name = stem;
    for (int i = 1; names.contains(name); ++i) name = fmt::format("{}_{}", stem, i);
    names.insert(name);
    seen.insert(name);
    node.set_name(name);
  }
}

}  // namespace

PreparedModel prepare(const Model& model) {
  if (precision_of(model) == Precision::int8)
    throw Error(
        fmt::format("[quantize] {}: is quantized already; `vernier repair` improves it, and "
                    "quantize takes the float model it was made from",
                    model.name()));
  if (precision_of(model) == Precision::fp16)
    throw Error(fmt::format("[quantize] {}: is float16; give the float32 model it was made from",
                            model.name()));
  PreparedModel prepared{.model = optimize(model, Optimization::basic),
                         .nodes_before = model.graph().node_size()};
  prepared.nodes_after = prepared.model.graph().node_size();
  prepared.batch_norms = batch_norms(model) - batch_norms(prepared.model);
  name_nodes(prepared.model);
  return prepared;
}

}  // namespace vernier
