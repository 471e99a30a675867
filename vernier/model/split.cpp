#include "vernier/model/split.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "vernier/model/edit.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/value_kind.h"

namespace vernier {
namespace {

constexpr int most_crossing = 16;              // tensors at a cut
constexpr std::int64_t most_copied = 1 << 28;  // bytes of weights inside the proto

std::int64_t weight_bytes_of_proto(const Model& model) {
  std::int64_t bytes = 0;
  for (const auto& weight : model.graph().initializer())
    bytes += static_cast<std::int64_t>(weight.ByteSizeLong());
  return bytes;
}

std::vector<std::string> names_read(const NodeProto& node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  std::ranges::move(captured_names(node), std::back_inserter(names));
  return names;
}

class Splitter {
 public:
  explicit Splitter(const Model& model)
      : model_(model), index_(model), constants_(constant_tensors(model.graph())) {
    for (const TensorSpec& input : model.inputs()) inputs_.emplace(input.name, input);
    for (const NodeProto& node : model.graph().node())
      if (!std::ranges::all_of(node.output(), [&](const auto& name) { return is_constant(name); }))
        nodes_.push_back(&node);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (const std::string& name : nodes_[i]->output())
        if (!name.empty()) tensors_[name] = {.written = i, .last_read = i};
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (const std::string& name : names_read(*nodes_[i]))
        if (const auto found = tensors_.find(name); found != tensors_.end()) {
          is_sorted_ = is_sorted_ && found->second.written < i;
          found->second.last_read = std::max(found->second.last_read, i);
        }
  }

  bool can_be_cut() const {
    const auto is_computed = [&](const auto& output) { return tensors_.contains(output.name()); };
    const auto is_random = [](const NodeProto& node) {
      return node.op_type().starts_with("Random");  // each part would draw its own values
    };
    return is_sorted_ && model_.other_inputs().empty() &&
           std::ranges::all_of(model_.graph().output(), is_computed) &&
           std::ranges::none_of(model_.graph().node(), is_random) &&
           weight_bytes_of_proto(model_) <= most_copied;
  }

  std::vector<Model> split(int parts) const {
    std::vector<Model> models;
    std::size_t begin = 0;
    for (const std::size_t end : find_cuts(parts)) {
      if (auto part = make_part(begin, end)) models.push_back(std::move(*part));
      begin = end;
    }
    return models;
  }

 private:
  struct Life {
    std::size_t written = 0, last_read = 0;  // indices into nodes_
  };

  bool is_constant(const std::string& name) const { return constants_.contains(name); }

  // The number of tensors that cross each cut; cut i is before node i. Above most_crossing if a
  // value that crosses is not a tensor or has an unknown type.
  std::vector<int> crossing() const {
    const ValueKinds kinds = value_kinds(model_.proto(), model_.graph());
    std::vector<int> changes(nodes_.size() + 1);
    for (const auto& [name, life] : tensors_) {
      const bool is_tensor = kind_of(kinds, name) == ValueKind::tensor;
      const int count = is_tensor && index_.main().dtype(name) ? 1 : most_crossing + 1;
      changes[life.written + 1] += count;
      changes[life.last_read + 1] -= count;
    }
    for (std::size_t i = 1; i < changes.size(); ++i) changes[i] += changes[i - 1];
    return changes;
  }

  // The end of each part: of the cuts near an equal share, the one that the fewest tensors cross.
  std::vector<std::size_t> find_cuts(int parts) const {
    const std::vector<int> counts = crossing();
    const auto share = static_cast<std::ptrdiff_t>(nodes_.size()) / std::max(1, parts);
    std::vector<std::size_t> cuts;
    for (std::ptrdiff_t part = 1; part < parts && share > 1; ++part) {
      std::optional<std::ptrdiff_t> best;
      const auto cost = [&](std::ptrdiff_t cut) {
        return std::pair(counts[static_cast<std::size_t>(cut)], std::abs(cut - part * share));
      };
      for (std::ptrdiff_t cut = part * share - share / 2; cut < part * share + share / 2; ++cut)
        if (cost(cut).first <= most_crossing && (!best || cost(cut) < cost(*best))) best = cut;
      if (best) cuts.push_back(static_cast<std::size_t>(*best));
    }
    cuts.push_back(nodes_.size());
    return cuts;
  }

  // nullopt if nothing reads what the part computes.
  std::optional<Model> make_part(std::size_t begin, std::size_t end) const {
    std::vector<TensorSpec> inputs;
    std::vector<std::string> outputs;
    std::unordered_set<std::string> seen;
    for (std::size_t i = begin; i < end; ++i) {
      for (const std::string& name : names_read(*nodes_[i]))
        if (seen.insert(name).second)
          if (const auto spec = spec_of_input(name, begin)) inputs.push_back(*spec);
      for (const std::string& name : nodes_[i]->output())
        if (!name.empty() && (tensors_.at(name).last_read >= end || index_.main().is_output(name)))
          outputs.push_back(name);
    }
    if (outputs.empty()) return std::nullopt;
    return extract_subgraph(model_, inputs, outputs);
  }

  // The spec of a tensor that the part starting at `begin` reads from outside; nullopt if it is
  // computed inside or constant.
  std::optional<TensorSpec> spec_of_input(const std::string& name, std::size_t begin) const {
    if (const auto input = inputs_.find(name); input != inputs_.end()) return input->second;
    const auto tensor = tensors_.find(name);
    if (tensor == tensors_.end() || tensor->second.written >= begin) return std::nullopt;
    return TensorSpec{
        .name = name, .dtype = *index_.main().dtype(name), .shape = {}, .ranked = false};
  }

  const Model& model_;
  ModelIndex index_;
  std::unordered_set<std::string> constants_;
  std::unordered_map<std::string, TensorSpec> inputs_;
  std::vector<const NodeProto*> nodes_;  // without those that compute from weights alone
  std::unordered_map<std::string, Life> tensors_;
  bool is_sorted_ = true;
};

}  // namespace

std::vector<Model> split_model(Model model, int parts) {
  std::vector<Model> models;
  if (const Splitter splitter(model); parts > 1 && splitter.can_be_cut())
    models = splitter.split(parts);
  if (models.size() > 1) return models;
  models.clear();
  models.push_back(std::move(model));
  return models;
}

}  // namespace vernier
