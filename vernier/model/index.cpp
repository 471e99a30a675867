#include "vernier/model/index.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cstring>

#include "vernier/error.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Longer than any real chain of Identity, Cast and Transpose; bounds the walk in a cyclic graph.
constexpr int longest_chain = 16;

template <typename Map>
auto find_or_null(const Map& map, std::string_view name) -> typename Map::mapped_type {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second;
}

template <typename Map, typename Key>
auto address_or_null(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// The value of a Constant node that has value_float, value_int, value_floats or value_ints instead
// of a tensor.
std::optional<Tensor> attribute_value(const NodeProto& node) {
  if (const AttributeProto* value = attribute(node, "value_float"))
    return tensor_of<float>("", DType::f32, {}, std::array{value->f()});
  if (const AttributeProto* value = attribute(node, "value_int"))
    return tensor_of<std::int64_t>("", DType::i64, {}, std::array{value->i()});
  if (const AttributeProto* value = attribute(node, "value_floats")) {
    const std::vector<float> values(value->floats().begin(), value->floats().end());
    return tensor_of<float>("", DType::f32, {std::ssize(values)}, values);
  }
  if (attribute(node, "value_ints")) {
    const std::vector<std::int64_t> values = attribute_ints(node, "value_ints");
    return tensor_of<std::int64_t>("", DType::i64, {std::ssize(values)}, values);
  }
  return std::nullopt;
}

bool swaps_two_axes(const NodeProto& node) {
  const auto permutation = attribute_ints(node, "perm");
  return permutation.empty() || permutation == std::vector<std::int64_t>{1, 0};
}

std::string function_key(std::string_view domain, std::string_view name) {
  return std::string(domain == "ai.onnx" ? "" : domain) + ":" + std::string(name);
}

std::size_t hash_of(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// A hash of the type, the shape and some of the elements, so that a large weight need not be read
// whole. Equal weights have equal fingerprints.
std::size_t fingerprint(const TensorView& tensor) {
  constexpr std::size_t part = 4096;
  std::size_t hash = hash_of(std::as_bytes(tensor.shape)) * 31 + static_cast<int>(tensor.dtype);
  const auto& bytes = tensor.bytes;
  if (bytes.size() <= 3 * part) return hash * 31 + hash_of(bytes);
  for (const std::size_t begin : {std::size_t{0}, bytes.size() / 2, bytes.size() - part})
    hash = hash * 31 + hash_of(bytes.subspan(begin, part));
  return hash;
}

bool same_content(const TensorView& left, const TensorView& right) {
  return left.dtype == right.dtype && std::ranges::equal(left.shape, right.shape) &&
         left.bytes.size() == right.bytes.size() &&
         std::memcmp(left.bytes.data(), right.bytes.data(), left.bytes.size()) == 0;
}

}  // namespace

GraphIndex::GraphIndex(const GraphProto& graph, const GraphIndex* outer)
    : place_{.graph = &graph}, outer_(outer) {
  for (const ValueInfoProto& value : graph.value_info()) infos_.emplace(value.name(), &value);
  for (const ValueInfoProto& value : graph.output()) {
    infos_.emplace(value.name(), &value);
    outputs_.insert(value.name());
  }
  for (const ValueInfoProto& value : graph.input()) {
    infos_.emplace(value.name(), &value);
    inputs_.insert(value.name());
  }
  for (const TensorProto& tensor : graph.initializer())
    initializers_.emplace(tensor.name(), &tensor);
  for (const NodeProto& node : graph.node()) {
    positions_.emplace(&node, static_cast<int>(positions_.size()));
    for (const auto& output : node.output())
      if (!output.empty()) producers_.emplace(output, &node);
    const auto read = [&](const std::string& name) {
      auto& readers = consumers_[name];
      if (readers.empty() || readers.back() != &node) readers.push_back(&node);
    };
    for (const auto& input : node.input())
      if (!input.empty()) read(input);
    for (const auto& name : captured_names(node)) read(name);
  }
}

GraphIndex::GraphIndex(const ModelIndex& model, const Subgraph& place, const GraphIndex* outer)
    : GraphIndex(*place.graph, outer) {
  model_ = &model;
  place_ = place;
}

const NodeProto* GraphIndex::producer(std::string_view tensor) const {
  if (const auto* node = find_or_null(producers_, tensor)) return node;
  return outer_ && !defines(tensor) ? outer_->producer(tensor) : nullptr;
}

std::span<const NodeProto* const> GraphIndex::consumers(std::string_view tensor) const {
  const auto found = consumers_.find(tensor);
  if (found == consumers_.end()) return {};
  return found->second;
}

const TensorProto* GraphIndex::initializer(std::string_view tensor) const {
  if (const auto* weight = find_or_null(initializers_, tensor)) return weight;
  return outer_ && !defines(tensor) ? outer_->initializer(tensor) : nullptr;
}

const ValueInfoProto* GraphIndex::value_info(std::string_view tensor) const {
  if (const auto* info = find_or_null(infos_, tensor)) return info;
  return outer_ && !defines(tensor) ? outer_->value_info(tensor) : nullptr;
}

bool GraphIndex::defines(std::string_view tensor) const {
  return producers_.contains(tensor) || inputs_.contains(tensor) || initializers_.contains(tensor);
}

bool GraphIndex::has_one_reader(std::string_view tensor) const {
  return defines(tensor) && !is_output(tensor) && consumers(tensor).size() == 1;
}

std::optional<Shape> GraphIndex::declared_shape(std::string_view tensor) const {
  if (const TensorProto* proto = constant(tensor)) return dims_of(*proto);
  const ValueInfoProto* info = value_info(tensor);
  return info ? vernier::declared_shape(*info) : std::nullopt;
}

std::optional<DType> GraphIndex::dtype(const std::string& tensor) const {
  if (!model_) return std::nullopt;
  const DTypes& dtypes = model_->dtypes_.at(place_.graph);
  const auto found = dtypes.find(tensor);
  return found == dtypes.end() ? std::nullopt : std::optional(found->second);
}

const TensorProto* GraphIndex::constant(std::string_view tensor) const {
  if (tensor.empty()) return nullptr;
  if (const TensorProto* weight = initializer(tensor)) return weight;
  const NodeProto* node = producer(tensor);
  return node ? constant_tensor(*node) : nullptr;
}

std::optional<Tensor> GraphIndex::value(std::string_view tensor) const {
  if (const TensorProto* proto = constant(tensor)) {
    try {
      return model_ ? std::optional(model_->model().tensor(*proto)) : std::nullopt;
    } catch (const Error&) {
      return std::nullopt;  // reported by the check of external data
    }
  }
  const NodeProto* node = tensor.empty() ? nullptr : producer(tensor);
  return node && is_op(*node, "Constant") ? attribute_value(*node) : std::nullopt;
}

std::optional<std::vector<double>> GraphIndex::numbers(std::string_view tensor) const {
  const std::optional<Tensor> found = value(tensor);
  return found ? std::optional(to_f64(*found)) : std::nullopt;
}

std::optional<double> GraphIndex::number(std::string_view tensor) const {
  if (const TensorProto* proto = constant(tensor))
    if (checked_element_count(dims_of(*proto)) != 1) return std::nullopt;
  const auto found = numbers(tensor);
  return found && found->size() == 1 ? std::optional(found->front()) : std::nullopt;
}

WeightSource GraphIndex::weight_source(std::string_view tensor) const {
  WeightSource source;
  for (int step = 0; step <= longest_chain; ++step) {
    if (const TensorProto* stored = constant(tensor)) {
      if (source.transposed && stored->dims_size() != 2) return {};
      source.stored = stored;
      return source;
    }
    const NodeProto* node = producer(tensor);
    if (!node || node->input_size() == 0) return {};
    if (is_op(*node, "Transpose") && swaps_two_axes(*node))
      source.transposed = !source.transposed;
    else if (node->op_type() == "DequantizeLinear")
      source.dequantize = node;
    else if (!is_op(*node, "Identity") && !is_op(*node, "Cast"))
      return {};
    tensor = node->input(0);
  }
  return {};
}

std::string GraphIndex::label(const std::string& tensor) const {
  return model_ ? model_->labels_(path(), tensor) : tensor;
}

const std::string& FoundTensor::name() const { return node->output(output); }

ModelIndex::ModelIndex(const Model& model)
    : ModelIndex(std::shared_ptr<const Model>(std::shared_ptr<void>(), &model)) {}

ModelIndex::ModelIndex(Model&& model)
    : ModelIndex(std::make_shared<const Model>(std::move(model))) {}

ModelIndex::ModelIndex(std::shared_ptr<const Model> model)
    : model_(std::move(model)), dtypes_(infer_dtypes(model_->graph())), labels_(model_->graph()) {
  for (const Subgraph& place : all_subgraphs(model_->graph()))
    graphs_.emplace_back(*this, place, place.outer < 0 ? nullptr : &graphs_[place.outer]);
  for (const GraphIndex& graph : graphs_) add_graph(graph);
  for (const auto& function : model_->proto().functions())
    functions_.insert(function_key(function.domain(), function.name()));
  for (const Weight& weight : weights_) {
    weights_by_name_.emplace(weight.name, &weight);
    if (const auto count = checked_element_count(dims_of(*weight.proto)))
      weights_by_size_[*count].push_back(&weight);
  }
}

void ModelIndex::add_graph(const GraphIndex& graph) {
  for (const TensorProto& tensor : graph.graph().initializer())
    weights_.push_back({tensor.name(), &tensor, &graph});
  for (const NodeProto& node : graph.graph().node()) {
    if (!node.name().empty()) nodes_.emplace(node.name(), FoundNode{&graph, &node});
    for (int i = 0; i < node.output_size(); ++i)
      if (!node.output(i).empty())
        tensors_.emplace(graph.label(node.output(i)), FoundTensor{{&graph, &node}, i});
    if (const TensorProto* value = constant_tensor(node); value && node.output_size() > 0)
      weights_.push_back({node.output(0), value, &graph});
  }
}

const FoundTensor* ModelIndex::tensor(std::string_view label) const {
  return address_or_null(tensors_, label);
}

const FoundNode* ModelIndex::node(std::string_view name) const {
  return address_or_null(nodes_, name);
}

bool ModelIndex::is_local_function(const NodeProto& node) const {
  return functions_.contains(function_key(node.domain(), node.op_type()));
}

const Weight* ModelIndex::weight(std::string_view name) const {
  return find_or_null(weights_by_name_, name);
}

std::span<const Weight* const> ModelIndex::weights_of_size(std::int64_t elements) const {
  const Weights* found = address_or_null(weights_by_size_, elements);
  return found ? std::span<const Weight* const>(*found) : std::span<const Weight* const>();
}

// Weights that cannot be read are left out.
void ModelIndex::add_contents() const {
  for (const Weight& weight : weights_) {
    try {
      weights_by_content_[fingerprint(model_->view(*weight.proto))].push_back(&weight);
    } catch (const Error&) {
      // Nothing equals it.
    }
  }
}

const Weight* ModelIndex::weight_with(const TensorView& content) const {
  if (content.bytes.empty()) return nullptr;
  std::call_once(contents_once_, [&] { add_contents(); });
  const Weights* alike = address_or_null(weights_by_content_, fingerprint(content));
  if (!alike) return nullptr;
  const auto found = std::ranges::find_if(*alike, [&](const Weight* weight) {
    return same_content(model_->view(*weight->proto), content);
  });
  return found == alike->end() ? nullptr : *found;
}

}  // namespace vernier
