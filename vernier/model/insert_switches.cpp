#include "vernier/model/insert_switches.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <map>

#include "vernier/error.h"
#include "vernier/model/switch_nodes.h"

namespace vernier {
namespace {

// Redirects all readers of a name, in the graph and in its subgraphs.
void rename_reads(GraphProto& graph, const std::string& from, const std::string& to) {
  for (NodeProto& node : *graph.mutable_node()) {
    std::ranges::replace(*node.mutable_input(), from, to);
    for_each_subgraph(node, [&](GraphProto& inner, const auto&) { rename_reads(inner, from, to); });
  }
}

// Inserts switches into a float model.
class FloatSwitches {
 public:
  explicit FloatSwitches(const ModelIndex& index) : model_(index.model().clone()), index_(index) {}

  SwitchedModel insert(std::span<const SwitchPoint> points) && {
    for (const SwitchPoint& point : points) insert(point);
    place();
    import_switch_domain(model_.proto());
    return {std::move(model_), std::move(switches_), {}};
  }

 private:
  void insert(const SwitchPoint& point) {
    const GraphIndex& main = index_.main();
    if (!main.defines(point.tensor))
      throw Error(fmt::format("[model] {}: has no tensor '{}'", model_.name(), point.tensor));
    const bool weight = main.initializer(point.tensor) != nullptr;
    const NodeProto* writer = main.producer(point.tensor);
    Switch added{.kind = weight ? Switch::Kind::weight : Switch::Kind::activation,
                 .name = point.tensor,
                 .node = writer ? node_label(*writer) : "",
                 .op = writer ? writer->op_type() : ""};
    if (weight) describe_reader(added, point);
    const std::size_t index = switches_.size();
    if (writer && point.readers.empty()) {
      const std::string real = fmt::format("vernier.float:{}", point.tensor);
      if (!renamed_.emplace(point.tensor, real).second)
        throw Error(fmt::format("[model] {}: '{}' has two switches for all its readers",
                                model_.name(), point.tensor));
      place_after(writer, switch_node({index, role_of(added.kind)}, real, point.tensor));
    } else {
      const std::string output = fmt::format("vernier.switched:{}:{}", index, point.tensor);
      rewire(point, output);
      place_after(writer, switch_node({index, role_of(added.kind)}, point.tensor, output));
    }
    switches_.push_back(std::move(added));
  }

  void describe_reader(Switch& added, const SwitchPoint& point) const {
    const auto readers = index_.main().consumers(point.tensor);
    const NodeProto* reader = nullptr;
    for (const NodeProto* each : readers)
      if (point.readers.empty() || node_label(*each) == point.readers[0].node) {
        reader = each;
        break;
      }
    if (!reader) return;
    const auto at = std::ranges::find(reader->input(), point.tensor);
    added.node = added.reader = node_label(*reader);
    added.op = reader->op_type();
    added.reader_input = static_cast<int>(at - reader->input().begin());
    added.channel_axis = output_channel_axis(*reader, added.reader_input);
  }

  void rewire(const SwitchPoint& point, const std::string& to) {
    if (point.readers.empty()) return rename_reads(model_.graph(), point.tensor, to);
    const auto readers = index_.main().consumers(point.tensor);
    for (const NodeInput& reader : point.readers) {
      const auto known = std::ranges::find_if(
          readers, [&](const NodeProto* node) { return node_label(*node) == reader.node; });
      NodeProto* found = known == readers.end() ? nullptr : own_copy(**known);
      if (!found || reader.input >= found->input_size() ||
          found->input(reader.input) != point.tensor)
        throw Error(fmt::format("[model] {}: input {} of node '{}' is not '{}'", model_.name(),
                                reader.input, reader.node, point.tensor));
      found->set_input(reader.input, to);
    }
  }

  // Until place(), nodes are where they are in the original model.
  NodeProto* own_copy(const NodeProto& node) {
    return model_.graph().mutable_node(index_.main().position(node));
  }

  // Schedules a node to follow `writer`; nullptr for the beginning of the graph.
  void place_after(const NodeProto* writer, NodeProto node) {
    placed_[writer ? writer->output(0) : ""].push_back(std::move(node));
  }

  void place() {
    GraphProto& graph = model_.graph();
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    const auto add_placed = [&](const std::string& key) {
      for (NodeProto& node : placed_[key]) *graph.add_node() = std::move(node);
    };
    add_placed("");
    for (NodeProto& node : nodes) {
      const std::string key = node.output_size() > 0 ? node.output(0) : "";
      for (std::string& output : *node.mutable_output())
        if (const auto found = renamed_.find(output); found != renamed_.end())
          output = found->second;
      *graph.add_node() = std::move(node);
      if (!key.empty()) add_placed(key);
    }
    // If a tensor has both a switch for some readers and one for all others, the first one reads
    // the tensor before the second.
    for (NodeProto& node : *graph.mutable_node())
      if (node.op_type() == switch_op && node.output(0).starts_with("vernier.switched:"))
        if (const auto found = renamed_.find(node.input(0)); found != renamed_.end())
          node.set_input(0, found->second);
  }

  Model model_;
  const ModelIndex& index_;  // of the original model
  std::vector<Switch> switches_;
  std::map<std::string, std::string> renamed_;            // tensor -> what its producer writes now
  std::map<std::string, std::vector<NodeProto>> placed_;  // by first output of the node they follow
};

}  // namespace

SwitchedModel insert_switches(const ModelIndex& float_model, std::span<const SwitchPoint> points) {
  return FloatSwitches(float_model).insert(points);
}

}  // namespace vernier
