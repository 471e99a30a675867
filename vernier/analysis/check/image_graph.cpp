#include "vernier/analysis/check/image_graph.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>

#include "vernier/error.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;
using Numbers = std::vector<double>;

std::optional<ImageInput> first_image(const Model& model) {
  for (const TensorSpec& spec : model.inputs()) {
    if (!spec.ranked || spec.shape.size() != 4) continue;
    try {
      return image_input(spec);
    } catch (const Error&) {
    }
  }
  return std::nullopt;
}

// One number for all channels, or one for each.
std::optional<Numbers> channel_numbers(const Graphs& graphs, const std::string& tensor,
                                       int channels) {
  const auto numbers = constant_numbers(graphs, graphs.main(), tensor);
  if (!numbers) return std::nullopt;
  const auto count = static_cast<int>(numbers->size());
  return count == 1 || count == channels ? numbers : std::nullopt;
}

template <typename Function>
Numbers combine(const Numbers& left, const Numbers& right, const Function& function) {
  Numbers out(std::max(left.size(), right.size()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = function(left[left.size() == 1 ? 0 : i], right[right.size() == 1 ? 0 : i]);
  return out;
}

void multiply(ImageGraph& image, const Numbers& factor) {
  image.scale = combine(image.scale, factor, std::multiplies{});
  image.shift = combine(image.shift, factor, std::multiplies{});
}

// Applies an arithmetic operator with a constant; false if it is none.
bool apply_arithmetic(const Graphs& graphs, const NodeProto& node, const std::string& value,
                      ImageGraph& image) {
  const bool first = input_name(node, 0) == value;
  const auto other = channel_numbers(graphs, input_name(node, first ? 1 : 0), image.input.channels);
  if (!other) return false;
  if (is_op(node, "Mul")) {
    multiply(image, *other);
  } else if (is_op(node, "Div") && first) {
    multiply(image, combine({1}, *other, std::divides{}));
  } else if (is_op(node, "Add")) {
    image.shift = combine(image.shift, *other, std::plus{});
  } else if (is_op(node, "Sub") && first) {
    image.shift = combine(image.shift, *other, std::minus{});
  } else {
    return false;
  }
  return true;
}

bool apply_batchnorm(const Graphs& graphs, const NodeProto& node, ImageGraph& image) {
  if (!is_op(node, "BatchNormalization")) return false;
  const auto numbers = [&](int index) {
    return channel_numbers(graphs, input_name(node, index), image.input.channels);
  };
  const auto gamma = numbers(1), beta = numbers(2), mean = numbers(3), variance = numbers(4);
  if (!gamma || !beta || !mean || !variance) return false;
  const double epsilon = attribute_float(node, "epsilon", 1e-5F);
  const Numbers factor =
      combine(*gamma, *variance, [&](double g, double v) { return g / std::sqrt(v + epsilon); });
  image.shift = combine(image.shift, *mean, std::minus{});
  multiply(image, factor);
  image.shift = combine(image.shift, *beta, std::plus{});
  return true;
}

// A Gather that puts the channels in reverse order.
bool apply_reversal(const Graphs& graphs, const NodeProto& node, ImageGraph& image) {
  if (!is_op(node, "Gather")) return false;
  const auto order = constant_numbers(graphs, graphs.main(), input_name(node, 1));
  if (!order || *order != Numbers{2, 1, 0}) return false;
  image.reverses_channels = !image.reverses_channels;
  std::ranges::reverse(image.scale);
  std::ranges::reverse(image.shift);
  return true;
}

bool leaves_values(const NodeProto& node) {
  return is_op(node, "Cast") || is_op(node, "Identity") || is_op(node, "Transpose") ||
         is_op(node, "QuantizeLinear") || is_op(node, "DequantizeLinear");
}

bool close(double value, double expected) { return std::abs(value - expected) <= 0.01 * expected; }

}  // namespace

Numbers ImageGraph::std() const { return combine({1}, scale, std::divides{}); }
Numbers ImageGraph::mean() const {
  return combine(shift, scale, [](double b, double a) { return a == 0 ? 0 : -b / a; });
}

bool ImageGraph::rescales() const {
  return std::ranges::all_of(scale, [](double factor) { return close(factor, 1.0 / 255); }) &&
         std::ranges::all_of(shift, [](double value) { return value == 0; });
}

bool ImageGraph::normalises() const {
  const bool unchanged = std::ranges::all_of(scale, [](double factor) { return factor == 1; }) &&
                         std::ranges::all_of(shift, [](double value) { return value == 0; });
  return !unchanged && !rescales();
}

std::optional<ImageGraph> read_image_graph(const Graphs& graphs) {
  const std::optional<ImageInput> input = first_image(graphs.model);
  if (!input) return std::nullopt;
  ImageGraph image{.input = *input};
  std::string value = input->name;
  while (true) {
    const auto readers = graphs.main().index->consumers(value);
    if (readers.size() != 1 || readers[0]->output_size() != 1) break;
    const NodeProto& node = *readers[0];
    const bool counts = apply_arithmetic(graphs, node, value, image) ||
                        apply_batchnorm(graphs, node, image) || apply_reversal(graphs, node, image);
    if (!counts && !leaves_values(node)) break;
    if (counts) image.last_node = node_label(node);
    value = node.output(0);
  }
  return image;
}

}  // namespace vernier
