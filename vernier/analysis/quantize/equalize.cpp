#include "vernier/analysis/quantize/equalize.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "vernier/analysis/quantize/weights.h"
#include "vernier/model/index.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

// Operators f with f(a x) = a f(x) for every channel and a > 0.
constexpr std::array homogeneous_ops = {"Relu", "LeakyRelu", "MaxPool", "AveragePool",
                                        "GlobalAveragePool"};
// If a reader mixes channels, only this power of the factor is applied: its weights get as uneven
// as the channels get even.
constexpr double shared_exponent = 0.5;
constexpr double largest_factor = 32;

class Finding {
 public:
  explicit Finding(const ModelIndex& index) : graph_(index.main()) {}

  std::vector<ScalableChannels> find() {
    std::vector<ScalableChannels> result;
    for (const NodeProto& node : graph_.graph().node()) {
      if (!is_op(node, "Conv") || !owns_weights(node)) continue;
      ScalableChannels found{.writer = graph_.position(node),
                             .tensor = behind_activation(node),
                             .channels = graph_.initializer(node.input(1))->dims(0)};
      scaled_.clear();
      if (follow(node.output(0), found) && !found.readers.empty() && products_are_single())
        result.push_back(std::move(found));
    }
    return result;
  }

 private:
  const TensorProto* own_float(const std::string& tensor) const {
    const TensorProto* weight = graph_.initializer(tensor);
    return weight && weight->data_type() == TensorProto::FLOAT && !graph_.is_input(tensor) &&
                   graph_.has_one_reader(tensor)
               ? weight
               : nullptr;
  }

  bool owns_weights(const NodeProto& conv) const {
    const std::string bias = input_name(conv, 2);
    return conv.input_size() > 1 && own_float(conv.input(1)) && (bias.empty() || own_float(bias));
  }

  std::string behind_activation(const NodeProto& conv) const {
    const auto readers = graph_.consumers(conv.output(0));
    const bool one = readers.size() == 1 && !graph_.is_output(conv.output(0));
    return one && (is_op(*readers[0], "Relu") || is_op(*readers[0], "Clip")) ? readers[0]->output(0)
                                                                             : conv.output(0);
  }

  // Whether every reader of the tensor preserves a factor or can divide by it.
  bool follow(const std::string& tensor, ScalableChannels& found) {
    if (graph_.is_output(tensor)) return false;
    scaled_.insert(tensor);
    for (const NodeProto* reader : graph_.consumers(tensor)) {
      if (is_op(*reader, "Conv")) {
        if (!divides(*reader, tensor, found)) return false;
      } else if (!passes_on(*reader, tensor) || !follow(reader->output(0), found)) {
        return false;
      }
    }
    return true;
  }

  bool passes_on(const NodeProto& node, const std::string& tensor) {
    if (node.input_size() == 0 || node.output_size() != 1) return false;
    if (std::ranges::any_of(homogeneous_ops, [&](const char* op) { return is_op(node, op); }))
      return true;
    if (is_op(node, "Clip"))
      return node.input(0) == tensor && node.input_size() > 1 &&
             graph_.number(node.input(1)) == std::optional(0.0);
    if (!is_op(node, "Mul") || node.input(0) == node.input(1)) return false;
    products_.push_back(&node);
    return true;
  }

  // A product of two scaled tensors would be scaled twice.
  bool products_are_single() {
    const bool single = std::ranges::none_of(products_, [&](const NodeProto* product) {
      return scaled_.contains(product->input(0)) && scaled_.contains(product->input(1));
    });
    products_.clear();
    return single;
  }

  bool divides(const NodeProto& conv, const std::string& tensor, ScalableChannels& found) const {
    const std::string bias = input_name(conv, 2);
    if (conv.input_size() < 2 || conv.input(0) != tensor || conv.input(1) == tensor ||
        bias == tensor)
      return false;
    const TensorProto* weight = own_float(conv.input(1));
    const std::int64_t groups = attribute_int(conv, "group", 1);
    if (!weight || weight->dims(1) * groups != found.channels) return false;
    const int number = graph_.position(conv);
    if (number == found.writer ||
        std::ranges::count(found.readers, number, &ScalableChannels::Reader::node) > 0)
      return false;
    found.readers.push_back({number, weight->dims(1) == 1});
    return true;
  }

  const GraphIndex& graph_;
  std::set<std::string> scaled_;
  std::vector<const NodeProto*> products_;
};

// An all-zero channel is not scaled.
std::vector<float> factors_of(const ScalableChannels& channels,
                              const std::vector<float>& extremes) {
  const float widest = *std::ranges::max_element(extremes);
  const bool alone = std::ranges::all_of(channels.readers, &ScalableChannels::Reader::alone);
  std::vector<float> factors;
  for (const float extreme : extremes) {
    const double lacks = extreme > 0 ? std::min<double>(widest / extreme, largest_factor) : 1;
    const double wanted = alone ? lacks : std::pow(lacks, shared_exponent);
    factors.push_back(static_cast<float>(wanted));
  }
  return factors;
}

void multiply(const Model& model, TensorProto& proto,
              const std::function<double(std::int64_t)>& factor) {
  Tensor weight = copy(model.view(proto));
  const auto values = elements<float>(weight);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(values[i] * factor(static_cast<std::int64_t>(i)));
  weight.name = proto.name();
  proto = make_tensor_proto(weight);
}

void scale_channels(const Model& model, const std::map<std::string, TensorProto*>& weights,
                    const ScalableChannels& channels, const std::vector<float>& factors) {
  const NodeProto& writer = model.graph().node(channels.writer);
  TensorProto& written = *weights.at(writer.input(1));
  const Shape filters = dims_of(written);
  const std::int64_t filter = element_count(std::span(filters).subspan(1));
  multiply(model, written, [&](std::int64_t i) { return factors[i / filter]; });
  if (const std::string bias = input_name(writer, 2); !bias.empty())
    multiply(model, *weights.at(bias), [&](std::int64_t i) { return factors[i]; });
  for (const ScalableChannels::Reader& reader : channels.readers) {
    const NodeProto& node = model.graph().node(reader.node);
    TensorProto& weight = *weights.at(node.input(1));
    const Shape shape = dims_of(weight);
    const std::int64_t inner = element_count(std::span(shape).subspan(2));
    const std::int64_t outputs_of_group = shape[0] / attribute_int(node, "group", 1);
    multiply(model, weight, [&](std::int64_t i) {
      const std::int64_t output = i / (inner * shape[1]), input = i / inner % shape[1];
      return 1.0 / factors[output / outputs_of_group * shape[1] + input];
    });
  }
}

}  // namespace

std::vector<ScalableChannels> find_scalable(const ModelIndex& index) {
  return Finding(index).find();
}

ChannelExtremes::ChannelExtremes(std::vector<ScalableChannels> channels)
    : channels_(std::move(channels)) {
  for (const ScalableChannels& each : channels_)
    extremes_[each.tensor].resize(static_cast<std::size_t>(each.channels));
}

std::vector<std::string> ChannelExtremes::tensors() const {
  std::vector<std::string> names;
  for (const auto& [tensor, extremes] : extremes_) names.push_back(tensor);
  return names;
}

// Channels are axis 1.
void ChannelExtremes::observe(const TensorView& tensor) {
  const auto found = extremes_.find(tensor.name);
  if (found == extremes_.end() || tensor.dtype != DType::f32 || tensor.shape.size() < 2) return;
  if (tensor.shape[1] != std::ssize(found->second)) return;
  const auto values = elements<float>(tensor);
  const Channels channels{std::ssize(found->second), element_count(tensor.shape.subspan(2)),
                          tensor.size()};
  const std::lock_guard lock(mutex_);
  channels.for_each([&](std::int64_t channel, std::int64_t i) {
    found->second[channel] = std::max(found->second[channel], std::fabs(values[i]));
  });
}

std::optional<Model> equalize(const Model& model, const ChannelExtremes& extremes) {
  if (extremes.channels().empty()) return std::nullopt;
  Model scaled = model.clone();
  std::map<std::string, TensorProto*> weights;
  for (TensorProto& proto : *scaled.graph().mutable_initializer())
    weights.emplace(proto.name(), &proto);
  for (const ScalableChannels& channels : extremes.channels())
    scale_channels(scaled, weights, channels, factors_of(channels, extremes.of(channels.tensor)));
  return scaled;
}

}  // namespace vernier
