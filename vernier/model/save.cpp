#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/model.h"
#include "vernier/model/skeleton.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/atomic_file.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// Protobuf's limit of 2 GB, less room for the graph.
constexpr std::int64_t max_inline_bytes = (std::int64_t{1} << 31) - (std::int64_t{64} << 20);
constexpr std::size_t min_external_bytes = 1024;
constexpr std::int64_t alignment = 4096;  // so that a weight can be mapped on its own

// Visits every weight and every tensor attribute of the graph and its subgraphs.
template <typename Visit>
void for_each_weight(const GraphProto& graph, const Visit& visit) {
  for (const Subgraph& subgraph : all_subgraphs(graph)) {
    for (const TensorProto& weight : subgraph.graph->initializer()) visit(weight);
    for (const auto& node : subgraph.graph->node())
      for (const AttributeProto& attribute : node.attribute())
        if (attribute.has_t()) visit(attribute.t());
  }
}

template <typename Visit>
void edit_each_weight(GraphProto& graph, const Visit& visit) {
  for (TensorProto& weight : *graph.mutable_initializer()) visit(weight);
  for (auto& node : *graph.mutable_node()) {
    for (AttributeProto& attribute : *node.mutable_attribute())
      if (attribute.has_t()) visit(*attribute.mutable_t());
    for_each_subgraph(node,
                      [&](GraphProto& inner, const auto&) { edit_each_weight(inner, visit); });
  }
}

bool same_folder(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a.empty() ? "." : a, b.empty() ? "." : b, ignored);
}

bool needs_data_file(const Model& model, const fs::path& folder) {
  bool outside = false;
  std::int64_t inline_bytes = 0;
  for_each_weight(model.graph(), [&](const TensorProto& weight) {
    const bool inside = model.is_inside(weight);
    outside = outside || (has_external_data(weight) && !inside);
    inline_bytes += inside ? external_data(weight).length : std::ssize(weight.raw_data());
  });
  return (outside && !same_folder(model.folder(), folder)) || inline_bytes > max_inline_bytes;
}

// Whether an edit moved weights of the model file to places other than the main graph's
// initializers; with_weights() restores only those.
bool has_strays(const Model& model) {
  int inside = 0;
  for_each_weight(model.graph(),
                  [&](const TensorProto& weight) { inside += model.is_inside(weight); });
  for (const TensorProto& weight : model.graph().initializer()) inside -= model.is_inside(weight);
  return inside != 0;
}

// A copy of the model with all weights of the model file inline.
Model self_contained(const Model& model) {
  Model copy = model.clone();
  edit_each_weight(copy.graph(), [&](TensorProto& weight) {
    if (model.is_inside(weight)) weight = make_tensor_proto(model.tensor(weight));
  });
  return copy;
}

}  // namespace

Rope Model::pieces() const {
  if (has_strays(*this)) return self_contained(*this).pieces();
  auto bytes = std::make_unique<const std::string>(proto_->SerializeAsString());
  if (bytes->empty())
    throw Error(
        fmt::format("[model] {}: {} bytes do not fit into an ONNX file; save the model to "
                    "move its weights to a file of their own",
                    name_, proto_->ByteSizeLong()));
  const auto view = std::as_bytes(std::span(*bytes));
  Rope rope;
  if (file_)
    rope = with_weights(view, path_.filename().string(), file_->bytes());
  else
    rope.append(view);
  rope.owned.push_back(std::move(bytes));
  rope.file = file_;
  return rope;
}

std::string Model::serialize() const { return flatten(pieces()); }

void Model::save(const fs::path& path) const {
  AtomicFile model_file(path);
  if (!needs_data_file(*this, path.parent_path())) {
    const Rope rope = pieces();
    for (const auto& piece : rope.pieces) model_file.append(piece.bytes);
    if (rope.file) rope.file->require_unchanged();
    return model_file.commit();
  }
  ModelProto proto = *proto_;
  const fs::path data_path = fs::path(path).concat(".data");
  AtomicFile data_file(data_path);
  std::int64_t offset = 0;
  edit_each_weight(*proto.mutable_graph(), [&](TensorProto& weight) {
    if (!has_external_data(weight) && weight.raw_data().size() < min_external_bytes) return;
    const Tensor tensor = this->tensor(weight);
    const auto length = std::ssize(tensor.bytes);
    data_file.write_at(offset, tensor.bytes);
    set_external_data(weight, {data_path.filename().string(), offset, length});
    offset += (length + alignment - 1) / alignment * alignment;
  });
  model_file.append(proto.SerializeAsString());
  data_file.commit();
  model_file.commit();
}

}  // namespace vernier
