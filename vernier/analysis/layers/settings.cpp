#include "vernier/analysis/layers/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

// An attribute as the module wants it: the first value is its own, the others do the same.
struct WantedAttribute {
  std::string name;
  std::vector<AttributeProto> right;
  AttributeProto otherwise;  // the value of a node without the attribute
};

AttributeProto make_attribute(const std::string& name, const std::string& text) {
  AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(text);
  return attribute;
}

AttributeProto make_attribute(const std::string& name, float number) {
  AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(AttributeProto::FLOAT);
  attribute.set_f(number);
  return attribute;
}

AttributeProto make_attribute(const std::string& name, std::int64_t number) {
  AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(number);
  return attribute;
}

AttributeProto make_attribute(const std::string& name, const std::vector<std::int64_t>& numbers) {
  AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INTS);
  for (const std::int64_t number : numbers) attribute.add_ints(number);
  return attribute;
}

// The module's settings, by the name of a module's attribute or of an operator's argument.
class Settings {
 public:
  explicit Settings(const WatchedTensor& leaf) : leaf_(leaf) {}

  std::optional<std::string> text(const std::string& name) const {
    const auto found = leaf_.settings.find(name);
    return found == leaf_.settings.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<bool> flag(const std::string& name) const {
    const auto found = text(name);
    return found ? std::optional(*found == "1") : std::nullopt;
  }

  // "2" or "[2,1]" as one number for each axis; nullopt if it is something else.
  std::optional<std::vector<std::int64_t>> axes(const std::string& name, std::size_t count) const {
    std::vector<std::int64_t> numbers;
    const std::string found = text(name).value_or("");
    const char *at = found.data(), *end = at + found.size();
    while (at < end) {
      std::int64_t number = 0;
      const auto read = std::from_chars(at, end, number);
      if (read.ec == std::errc()) numbers.push_back(number);
      at = std::max(at + 1, read.ptr);
    }
    if (numbers.size() == 1) numbers.resize(count, numbers[0]);
    return numbers.empty() || numbers.size() != count ? std::nullopt : std::optional(numbers);
  }

  // A number that counts from 0; nullopt if it is something else.
  std::optional<std::size_t> index(const std::string& name) const {
    const auto number = axes(name, 1);
    return number && (*number)[0] >= 0 ? std::optional<std::size_t>((*number)[0]) : std::nullopt;
  }

  // Whether the module or an operator that it calls is named so.
  bool is(std::string_view part) const {
    return leaf_.type.find(part) != std::string::npos ||
           text("operators").value_or("").find(part) != std::string::npos;
  }

 private:
  const WatchedTensor& leaf_;
};

std::size_t spatial_axes(const NodeProto& node) {
  for (const char* name : {"kernel_shape", "strides", "dilations"})
    if (const auto* set = attribute(node, name)) return static_cast<std::size_t>(set->ints_size());
  return 0;
}

using Wanted = std::vector<WantedAttribute>;

void want_axes(Wanted& wanted, const Settings& settings, const NodeProto& node,
               const std::string& setting, const std::string& name) {
  const std::size_t count = spatial_axes(node);
  if (const auto numbers = settings.axes(setting, count))
    wanted.push_back({name,
                      {make_attribute(name, *numbers)},
                      make_attribute(name, std::vector<std::int64_t>(count, 1))});
}

void want_flag(Wanted& wanted, const Settings& settings, const std::string& name) {
  if (const auto flag = settings.flag(name))
    wanted.push_back(
        {name, {make_attribute(name, std::int64_t{*flag})}, make_attribute(name, std::int64_t{0})});
}

// What a convolution is padded with; empty if a node of its own may pad.
void want_pads(Wanted& wanted, const Settings& settings, const NodeProto& node) {
  const std::size_t count = spatial_axes(node);
  auto numbers = settings.axes("padding", count);
  const std::string mode =
      settings.text("padding_mode").value_or(settings.is("convolution") ? "zeros" : "");
  if (!numbers || !attribute(node, "pads") || mode != "zeros") return;
  numbers->insert(numbers->end(), numbers->begin(), numbers->end());
  wanted.push_back({"pads",
                    {make_attribute("pads", *numbers)},
                    make_attribute("pads", std::vector<std::int64_t>(2 * count, 0))});
}

Wanted wanted_of_window(const Settings& settings, const NodeProto& node) {
  Wanted wanted;
  const bool averages = is_op(node, "AveragePool");
  if (!averages) want_axes(wanted, settings, node, "dilation", "dilations");
  want_axes(wanted, settings, node, "stride", "strides");
  if (averages) want_flag(wanted, settings, "count_include_pad");
  if (is_op(node, "Conv") || is_op(node, "ConvTranspose")) want_pads(wanted, settings, node);
  return wanted;
}

// What ONNX calls the interpolation of upsample_bilinear2d, or of mode "bilinear".
std::string interpolation_of(const Settings& settings) {
  const std::string mode = settings.text("mode").value_or("");
  const auto is = [&](std::string_view name) {
    return mode.find(name) != std::string::npos ||
           (settings.is("upsample") && settings.is(name) && mode.empty());
  };
  if (is("nearest")) return "nearest";
  if (is("cubic")) return "cubic";
  return is("linear") ? "linear" : "";
}

Wanted wanted_of_resize(const Settings& settings) {
  const std::string mode = interpolation_of(settings);
  const bool exact = settings.text("mode") == "nearest-exact" || settings.is("nearest_exact");
  const std::string coordinates = "coordinate_transformation_mode";
  if (mode.empty()) return {};
  Wanted wanted = {{"mode", {make_attribute("mode", mode)}, make_attribute("mode", "nearest")}};
  std::vector<AttributeProto> right;
  if (mode == "nearest" && !exact)
    right = {make_attribute(coordinates, "asymmetric")};
  else if (settings.flag("align_corners").value_or(false))
    right = {make_attribute(coordinates, "align_corners")};
  else
    right = {make_attribute(coordinates, "pytorch_half_pixel"),
             make_attribute(coordinates, "half_pixel")};
  wanted.push_back({coordinates, right, make_attribute(coordinates, "half_pixel")});
  if (mode == "nearest" && !exact)
    wanted.push_back({"nearest_mode",
                      {make_attribute("nearest_mode", "floor")},
                      make_attribute("nearest_mode", "round_prefer_floor")});
  if (mode == "cubic" && !settings.is("_aa"))
    wanted.push_back({"cubic_coeff_a",
                      {make_attribute("cubic_coeff_a", -0.75F)},
                      make_attribute("cubic_coeff_a", -0.75F)});
  return wanted;
}

// The operator's numbers for the modes stand for these. ONNX has renamed them.
Wanted wanted_of_grid_sample(const Settings& settings, std::int64_t opset) {
  constexpr std::array<std::array<const char*, 2>, 3> modes = {
      {{"bilinear", "linear"}, {"nearest", "nearest"}, {"bicubic", "cubic"}}};
  constexpr std::int64_t renamed = 20;
  constexpr std::array<const char*, 3> paddings = {"zeros", "border", "reflection"};
  Wanted wanted;
  if (const auto mode = settings.index("interpolation_mode"); mode && *mode < modes.size()) {
    const auto& names = modes.at(*mode);
    const std::size_t naming = opset < renamed ? 0 : 1;
    wanted.push_back({"mode",
                      {make_attribute("mode", names.at(naming))},
                      make_attribute("mode", modes[0].at(naming))});
  }
  if (const auto padding = settings.index("padding_mode"); padding && *padding < paddings.size())
    wanted.push_back({"padding_mode",
                      {make_attribute("padding_mode", paddings.at(*padding))},
                      make_attribute("padding_mode", "zeros")});
  want_flag(wanted, settings, "align_corners");
  return wanted;
}

// What ONNX calls the padding of a module or operator; empty if that is unknown.
std::string padding_of(const Settings& settings) {
  const std::string mode =
      settings.text("padding_mode").value_or(settings.text("mode").value_or(""));
  const auto is = [&](std::string_view name, std::string_view module, std::string_view op) {
    return mode == name || settings.is(module) || settings.is(op);
  };
  if (is("reflect", "ReflectionPad", "reflection_pad")) return "reflect";
  if (is("replicate", "ReplicationPad", "replication_pad")) return "edge";
  if (is("circular", "CircularPad", "circular_pad")) return "wrap";
  return is("constant", "ConstantPad", "constant_pad") || settings.is("ZeroPad") ? "constant" : "";
}

Wanted wanted_of_padding(const Settings& settings) {
  const std::string mode = padding_of(settings);
  if (mode.empty()) return {};
  return {{"mode", {make_attribute("mode", mode)}, make_attribute("mode", "constant")}};
}

Wanted wanted_of_softmax(const Settings& settings, std::size_t rank) {
  const auto dim = settings.axes("dim", 1);
  if (!dim || !settings.is("oftmax") || rank == 0) return {};
  const auto size = static_cast<std::int64_t>(rank);
  const std::int64_t axis = (*dim)[0] < 0 ? (*dim)[0] + size : (*dim)[0];
  return {{"axis",
           {make_attribute("axis", axis), make_attribute("axis", axis - size)},
           make_attribute("axis", std::int64_t{-1})}};
}

Wanted wanted_attributes(const NodeProto& node, const WatchedTensor& leaf, std::size_t rank,
                         std::int64_t opset) {
  const Settings settings(leaf);
  if (is_op(node, "Conv") || is_op(node, "ConvTranspose") || is_op(node, "MaxPool") ||
      is_op(node, "AveragePool") || is_op(node, "LpPool"))
    return wanted_of_window(settings, node);
  if (is_op(node, "Resize")) return wanted_of_resize(settings);
  if (is_op(node, "GridSample")) return wanted_of_grid_sample(settings, opset);
  if (is_op(node, "Pad")) return wanted_of_padding(settings);
  if (is_op(node, "Softmax") || is_op(node, "LogSoftmax")) return wanted_of_softmax(settings, rank);
  if (is_op(node, "DepthToSpace") && (settings.is("PixelShuffle") || settings.is("pixel_shuffle")))
    return {{"mode", {make_attribute("mode", "CRD")}, make_attribute("mode", "DCR")}};
  if (is_op(node, "GRU") && leaf.type == "GRU")
    return {{"linear_before_reset",
             {make_attribute("linear_before_reset", std::int64_t{1})},
             make_attribute("linear_before_reset", std::int64_t{0})}};
  return {};
}

void add_wanted(std::vector<OtherAttribute>& found, const NodeProto& node,
                const WantedAttribute& wanted) {
  const AttributeProto* set = attribute(node, wanted.name);
  const std::string given = attribute_text(set ? *set : wanted.otherwise);
  const auto is_given = [&](const AttributeProto& each) { return attribute_text(each) == given; };
  if (std::ranges::any_of(wanted.right, is_given)) return;
  found.push_back(
      {.evidence = {.fact = LayerEvidence::Fact::other_attribute,
                    .node = node_label(node),
                    .name = wanted.name,
                    .reference = {attribute_text(wanted.right.front())},
                    .candidate = {given}},
       .correct = [tensor = node.output(0), value = wanted.right.front()](Model& model) {
         set_attribute(model, tensor, value.name(), value);
       }});
}

// Makes a node of its own pad what the node that writes the tensor pads with zeros.
void pad_before(Model& model, const std::string& tensor, const std::string& mode) {
  NodeProto* node = find_writer(model.graph(), tensor);
  const AttributeProto* set = node ? attribute(*node, "pads") : nullptr;
  if (!set) return;
  const std::int64_t count = set->ints_size();
  Tensor pads = make_tensor("vernier.pads:" + tensor, DType::i64, {count + 4});
  for (int i = 0; i < count; ++i)
    elements<std::int64_t>(pads)[i < count / 2 ? i + 2 : i + 4] = set->ints(i);
  TensorProto stored = make_tensor_proto(pads);
  stored.set_name("vernier.pads:" + tensor);
  NodeProto padding;
  padding.set_op_type("Pad");
  padding.add_input(node->input(0));
  padding.add_input(stored.name());
  padding.add_output("vernier.padded:" + tensor);
  *padding.add_attribute() = make_attribute("mode", mode);
  node->set_input(0, padding.output(0));
  set_attribute(model, tensor, "pads", make_attribute("pads", std::vector<std::int64_t>(count, 0)));
  GraphProto& graph = model.graph();
  *graph.add_initializer() = std::move(stored);
  auto& nodes = *graph.mutable_node();
  nodes.Add(std::move(padding));
  for (int i = nodes.size() - 1; i > 0; --i) {
    nodes.SwapElements(i, i - 1);
    if (&nodes[i] == node) break;
  }
}

// A convolution that pads with zeros, where the module pads with something else first.
void add_padding_mode(std::vector<OtherAttribute>& found, const Region& region,
                      const WatchedTensor& leaf) {
  const std::string mode = padding_of(Settings(leaf));
  const auto is_padding = [](const NodeProto* node) { return is_op(*node, "Pad"); };
  if (mode.empty() || mode == "constant" || std::ranges::any_of(region.nodes, is_padding)) return;
  for (const NodeProto* node : region.nodes) {
    const AttributeProto* pads = is_op(*node, "Conv") ? attribute(*node, "pads") : nullptr;
    if (!pads || std::ranges::count(pads->ints(), 0) == pads->ints_size()) continue;
    found.push_back({.evidence = {.fact = LayerEvidence::Fact::other_attribute,
                                  .node = node_label(*node),
                                  .name = "the padding mode",
                                  .reference = {mode},
                                  .candidate = {"constant"}},
                     .correct = [tensor = node->output(0), mode](Model& model) {
                       pad_before(model, tensor, mode);
                     }});
  }
}

}  // namespace

std::vector<OtherAttribute> differing_settings(const Region& region, const WatchedTensor& leaf,
                                               std::size_t rank) {
  std::vector<OtherAttribute> found;
  const std::int64_t opset = region.graph ? region.graph->index().model().opset() : 0;
  for (const NodeProto* node : region.nodes)
    for (const WantedAttribute& wanted : wanted_attributes(*node, leaf, rank, opset))
      add_wanted(found, *node, wanted);
  add_padding_mode(found, region, leaf);
  return found;
}

}  // namespace vernier
