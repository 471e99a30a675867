#include "vernier/analysis/compare/output_parts.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "vernier/model/index.h"

namespace vernier {
namespace {

bool keeps_axes(const NodeProto& node) {
  return is_one_of(node, {"Identity", "Cast", "QuantizeLinear", "DequantizeLinear"});
}

bool reshapes(const NodeProto& node) {
  return is_one_of(node, {"Reshape", "Squeeze", "Unsqueeze", "Flatten"});
}

bool is_transpose(const NodeProto& node) { return node.op_type() == "Transpose"; }

bool carries(const NodeProto& node) {
  return keeps_axes(node) || reshapes(node) || is_transpose(node);
}

// The operands of a Concat or QLinearConcat; empty for other nodes.
std::vector<std::string> operands_of(const NodeProto& node) {
  std::vector<std::string> operands;
  if (is_op(node, "Concat")) operands.assign(node.input().begin(), node.input().end());
  if (node.op_type() == "QLinearConcat")  // two inputs for the output, then three for each operand
    for (int i = 2; i < node.input_size(); i += 3) operands.push_back(node.input(i));
  return operands;
}

// An operand of a Concat; its size is along the Concat's axis.
struct PartOperand {
  std::int64_t size = 0;
  bool is_judged = true;
  bool is_share = false;
  bool operator==(const PartOperand&) const = default;
};

// How a tensor is split into operands along one of its axes.
struct PartSplit {
  std::int64_t axis = 0;
  std::vector<PartOperand> operands;
  bool operator==(const PartSplit&) const = default;
};

// The axis of the new shape that holds what `axis` of the old one does; nullopt if the reshape
// splits it or merges it with others.
std::optional<std::int64_t> followed_axis(const Shape& from, std::int64_t axis, const Shape& to) {
  const auto before = [](const Shape& shape, std::int64_t end) {
    return element_count(std::span(shape).first(static_cast<std::size_t>(end)));
  };
  for (std::int64_t i = 0; i < std::ssize(to); ++i)
    if (to[i] == from[axis] && before(to, i) == before(from, axis)) return i;
  return std::nullopt;
}

// Finds parts in one model, by the shapes that its tensors have when it runs.
class PartSearch {
 public:
  explicit PartSearch(const ModelIndex& index)
      : index_(index), constants_(constant_tensors(index.model().graph())) {}

  // The tensors from an output back to the operands of its Concats; empty if no Concat writes it.
  std::vector<std::string> tensors_behind(const std::string& output) const {
    std::vector<std::string> tensors;
    return collect(output, tensors) ? tensors : std::vector<std::string>{};
  }

  std::vector<PartSplit> splits_of(const std::string& tensor,
                                   const std::map<std::string, Shape>& shapes) const {
    const NodeProto* node = graph().producer(tensor);
    if (!node) return {};
    if (keeps_axes(*node)) return splits_of(node->input(0), shapes);
    if (is_transpose(*node)) return transposed(*node, splits_of(node->input(0), shapes), shapes);
    if (reshapes(*node)) return reshaped(*node, splits_of(node->input(0), shapes), shapes);
    return joined(*node, shapes);
  }

 private:
  const GraphIndex& graph() const { return index_.main(); }

  // Adds the tensor and those that it is carried or joined from; whether a Concat writes it.
  bool collect(const std::string& tensor, std::vector<std::string>& tensors) const {
    const NodeProto* node = graph().producer(tensor);
    if (!node || constants_.contains(tensor)) return false;
    tensors.push_back(tensor);
    if (carries(*node)) return collect(node->input(0), tensors);
    const std::vector<std::string> operands = operands_of(*node);
    for (const std::string& operand : operands) collect(operand, tensors);
    return operands.size() > 1;
  }

  static std::vector<PartSplit> transposed(const NodeProto& node, std::vector<PartSplit> splits,
                                           const std::map<std::string, Shape>& shapes) {
    std::vector<std::int64_t> permutation = attribute_ints(node, "perm");
    const auto shape = shapes.find(node.input(0));
    if (permutation.empty() && shape != shapes.end())  // the default reverses all axes
      for (std::int64_t axis = std::ssize(shape->second); axis-- > 0;) permutation.push_back(axis);
    std::erase_if(splits, [&](PartSplit& split) {
      const auto found = std::ranges::find(permutation, split.axis);
      split.axis = found - permutation.begin();
      return found == permutation.end();
    });
    return splits;
  }

  static std::vector<PartSplit> reshaped(const NodeProto& node, std::vector<PartSplit> splits,
                                         const std::map<std::string, Shape>& shapes) {
    const auto from = shapes.find(node.input(0)), to = shapes.find(node.output(0));
    if (from == shapes.end() || to == shapes.end()) return {};
    std::erase_if(splits, [&](PartSplit& split) {
      const auto axis = followed_axis(from->second, split.axis, to->second);
      split.axis = axis.value_or(0);
      return !axis;
    });
    return splits;
  }

  std::vector<PartSplit> joined(const NodeProto& node,
                                const std::map<std::string, Shape>& shapes) const {
    const std::vector<std::string> operands = operands_of(node);
    const auto shape = shapes.find(node.output(0));
    if (operands.empty() || shape == shapes.end()) return {};
    const std::int64_t axis = attribute_int(node, "axis", 0);
    PartSplit own{.axis = axis < 0 ? axis + std::ssize(shape->second) : axis};
    std::optional<std::vector<PartSplit>> across;  // splits that all computed operands share
    for (const std::string& operand : operands) {
      const std::vector<PartSplit> inner = splits_of(operand, shapes);
      const auto parts = operands_along(own.axis, operand, inner, shapes);
      if (parts.empty()) return {};
      std::ranges::copy(parts, std::back_inserter(own.operands));
      if (constants_.contains(operand)) continue;
      if (!across) across = inner;
      std::erase_if(*across, [&](const PartSplit& split) {
        return split.axis == own.axis || std::ranges::find(inner, split) == inner.end();
      });
    }
    std::vector<PartSplit> splits = {std::move(own)};
    if (across) std::ranges::copy(*across, std::back_inserter(splits));
    return splits;
  }

  // The operand, or its own operands along the same axis; empty if its size is not known.
  std::vector<PartOperand> operands_along(std::int64_t axis, const std::string& operand,
                                          const std::vector<PartSplit>& inner,
                                          const std::map<std::string, Shape>& shapes) const {
    if (const auto same = std::ranges::find(inner, axis, &PartSplit::axis); same != inner.end())
      return same->operands;
    const auto seen = shapes.find(operand);
    const std::optional<Shape> shape =
        seen != shapes.end() ? seen->second : graph().declared_shape(operand);
    if (!shape || axis >= std::ssize(*shape) || (*shape)[axis] < 0) return {};
    return {{(*shape)[axis], is_judged(operand), is_share(operand)}};
  }

  // Whether the model computes real numbers there: no constant, model input or cast integer.
  bool is_judged(const std::string& tensor) const {
    if (constants_.contains(tensor)) return false;
    const NodeProto* node = graph().producer(tensor);
    if (!node) return false;
    if (!carries(*node)) return true;
    const auto dtype = graph().dtype(node->input(0));
    if (node->op_type() == "Cast" && dtype && !is_float(*dtype)) return false;
    return is_judged(node->input(0));
  }

  bool is_share(const std::string& tensor) const {
    constexpr std::array<std::string_view, 5> activations = {"Sigmoid", "Softmax", "HardSigmoid",
                                                             "QLinearSigmoid", "QLinearSoftmax"};
    const NodeProto* node = graph().producer(tensor);
    if (!node) return false;
    if (node->op_type() == "Mul") return is_share(node->input(0)) && is_share(node->input(1));
    return carries(*node) ? is_share(node->input(0)) : is_one_of(*node, activations);
  }

  const ModelIndex& index_;
  std::unordered_set<std::string> constants_;
};

void add_parts(std::vector<OutputPart>& parts, const std::string& output, const PartSplit& split) {
  OutputPart part{.output = output, .count = std::ssize(split.operands), .axis = split.axis};
  for (const PartOperand& operand : split.operands) part.length += operand.size;
  for (const PartOperand& operand : split.operands) {
    part.begin = part.end;
    part.end += operand.size;
    part.is_share = operand.is_share;
    if (operand.is_judged && operand.size > 0 && operand.size < part.length) parts.push_back(part);
    ++part.number;
  }
}

}  // namespace

std::string part_name(const OutputPart& part) {
  return fmt::format("{}, part {} of {} ({} along axis {})", part.output, part.number, part.count,
                     part.end - part.begin == 1 ? fmt::format("{}", part.begin)
                                                : fmt::format("{} to {}", part.begin, part.end - 1),
                     part.axis);
}

std::vector<OutputPart> find_output_parts(const ModelIndex& model, const TensorShapes& shapes_of) {
  const PartSearch search(model);
  std::vector<std::string> outputs, tensors;
  for (const auto& output : model.main().graph().output()) {
    const std::vector<std::string> behind = search.tensors_behind(output.name());
    if (behind.empty()) continue;
    outputs.push_back(output.name());
    for (const std::string& tensor : behind)
      if (std::ranges::find(tensors, tensor) == tensors.end()) tensors.push_back(tensor);
  }
  std::vector<OutputPart> parts;
  if (outputs.empty()) return parts;
  const std::map<std::string, Shape> shapes = shapes_of(tensors);
  for (const std::string& output : outputs)
    for (const PartSplit& split : search.splits_of(output, shapes)) add_parts(parts, output, split);
  return parts;
}

bool has_part(const TensorView& tensor, const OutputPart& part) {
  return part.axis < std::ssize(tensor.shape) &&
         tensor.shape[static_cast<std::size_t>(part.axis)] == part.length && is_float(tensor.dtype);
}

Tensor slice_of(const TensorView& tensor, const OutputPart& part) {
  Shape shape(tensor.shape.begin(), tensor.shape.end());
  const auto axis = static_cast<std::size_t>(part.axis);
  const auto inner = byte_size(tensor.dtype, element_count(tensor.shape.subspan(axis + 1)));
  shape[axis] = part.end - part.begin;
  Tensor slice = make_tensor(std::string(tensor.name), tensor.dtype, std::move(shape));
  const auto rows = static_cast<std::size_t>(element_count(tensor.shape.first(axis)));
  const auto stride = static_cast<std::size_t>(part.length * inner);
  const auto width = static_cast<std::size_t>((part.end - part.begin) * inner);
  const std::byte* source = tensor.bytes.data() + part.begin * inner;
  for (std::size_t row = 0; row < rows; ++row)
    std::copy_n(source + row * stride, width, slice.bytes.data() + row * width);
  return slice;
}

}  // namespace vernier
