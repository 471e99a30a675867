#include "vernier/analysis/pairing/by_topology.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/analysis/pairing/by_name.h"

namespace vernier {
namespace {

// All of them, also those whose type the graph does not declare.
std::vector<std::string> outputs_of(const Model& model) {
  std::vector<std::string> names;
  for (const auto& output : model.graph().output()) names.push_back(output.name());
  return names;
}

bool is_computed(const GraphIndex& graph, const std::string& name) {
  return !name.empty() && !graph.constant(name);
}

bool same_operator(const NodeProto& reference, const NodeProto& candidate) {
  return candidate.op_type() == reference.op_type() && candidate.domain() == reference.domain() &&
         candidate.input_size() == reference.input_size() &&
         candidate.output_size() == reference.output_size();
}

bool same_attributes(const NodeProto& reference, const NodeProto& candidate) {
  return std::ranges::all_of(reference.attribute(), [&](const auto& set) {
    const auto* other = attribute(candidate, set.name());
    return other && other->SerializeAsString() == set.SerializeAsString();
  });
}

class Matcher {
 public:
  Matcher(const ModelIndex& reference, const ModelIndex& candidate)
      : reference_model_(reference.model()),
        candidate_model_(candidate.model()),
        reference_(reference.main()),
        candidate_(candidate.main()) {
    const auto reference_inputs = names_of(reference_model_.inputs());
    const auto candidate_inputs = names_of(candidate_model_.inputs());
    for (const OutputPair& pair : pair_outputs(reference_inputs, candidate_inputs).pairs)
      match(reference_inputs[pair.reference], candidate_inputs[pair.candidate]);
    const auto reference_outputs = outputs_of(reference_model_);
    const auto candidate_outputs = outputs_of(candidate_model_);
    for (const OutputPair& pair : pair_outputs(reference_outputs, candidate_outputs).pairs)
      ends_.emplace_back(reference_outputs[pair.reference], candidate_outputs[pair.candidate]);
  }

  std::unordered_map<std::string, std::string> run() && {
    for (std::size_t before = counterparts_.size() + 1; before != counterparts_.size();) {
      before = counterparts_.size();
      for (const NodeProto& node : reference_.graph().node()) match_forward(node);
      for (const auto& [reference, candidate] : ends_) match_backward(reference, candidate);
    }
    return std::move(counterparts_);
  }

 private:
  bool match(const std::string& reference, const std::string& candidate) {
    if (reference.empty() || candidate.empty() || counterparts_.contains(reference) ||
        !taken_.insert(candidate).second)
      return false;
    counterparts_[reference] = candidate;
    return true;
  }

  void match_nodes(const NodeProto& reference, const NodeProto& candidate) {
    matched_.insert(&reference);
    matched_.insert(&candidate);
    if (const NodeProto* norm = norm_behind(candidate_, candidate);
        norm && !norm_behind(reference_, reference)) {
      matched_.insert(norm);  // folded into the reference's layer, so their outputs are a pair
      match(reference.output(0), norm->output(0));
      return;
    }
    for (int i = 0; i < reference.output_size(); ++i)
      match(reference.output(i), candidate.output(i));
  }

  // The batch norm that is the only reader of a layer with weights; null if there is none.
  static const NodeProto* norm_behind(const GraphIndex& graph, const NodeProto& node) {
    if (node.output_size() != 1 || !graph.has_one_reader(node.output(0))) return nullptr;
    const NodeProto* reader = graph.consumers(node.output(0))[0];
    const bool is_norm = is_op(*reader, "BatchNormalization") && node.input_size() > 1 &&
                         graph.constant(node.input(1)) && reader->input(0) == node.output(0);
    return is_norm ? reader : nullptr;
  }

  const std::string* counterpart(const std::string& name) const {
    const auto found = counterparts_.find(name);
    return found == counterparts_.end() ? nullptr : &found->second;
  }

  // The counterparts of the node's computed inputs, in its order; nullopt if one has none.
  std::optional<std::vector<std::string>> operands(const NodeProto& reference) const {
    std::vector<std::string> found;
    for (const std::string& input : reference.input()) {
      if (!is_computed(reference_, input)) continue;
      const std::string* name = counterpart(input);
      if (!name) return std::nullopt;
      found.push_back(*name);
    }
    return found.empty() ? std::nullopt : std::optional(found);
  }

  std::vector<std::string> computed_inputs(const NodeProto& candidate) const {
    std::vector<std::string> found;
    std::ranges::copy_if(candidate.input(), std::back_inserter(found),
                         [&](const std::string& name) { return is_computed(candidate_, name); });
    return found;
  }

  void match_forward(const NodeProto& reference) {
    if (matched_.contains(&reference)) return;
    const auto expected = operands(reference);
    if (!expected) return;
    std::vector<const NodeProto*> in_order, reordered;
    for (const NodeProto* candidate : candidate_.consumers(expected->front())) {
      if (matched_.contains(candidate) || !same_operator(reference, *candidate)) continue;
      const std::vector<std::string> found = computed_inputs(*candidate);
      if (found == *expected)
        in_order.push_back(candidate);
      else if (std::ranges::is_permutation(found, *expected))
        reordered.push_back(candidate);
    }
    const auto& found = in_order.empty() ? reordered : in_order;
    if (found.size() == 1) match_nodes(reference, *found.front());
    if (found.size() > 1)
      match_nodes(reference, **std::ranges::max_element(found, {}, [&](const NodeProto* candidate) {
                    return likeness(reference, *candidate);
                  }));
  }

  // Tells apart nodes that read the same tensors: by attributes and constants.
  int likeness(const NodeProto& reference, const NodeProto& candidate) const {
    int score = same_attributes(reference, candidate) ? 1 : 0;
    for (int i = 0; i < reference.input_size(); ++i) {
      const TensorProto* left = reference_.constant(reference.input(i));
      const TensorProto* right = candidate_.constant(candidate.input(i));
      if (!left || !right) continue;
      if (!std::ranges::equal(left->dims(), right->dims()))
        score -= 1;
      else if (left->data_type() == right->data_type() &&
               reference_model_.tensor(*left).bytes == candidate_model_.tensor(*right).bytes)
        score += 1;
    }
    return score;
  }

  // Walks back as long as both tensors are computed by the same operator.
  void match_backward(const std::string& reference, const std::string& candidate) {
    std::vector<std::pair<std::string, std::string>> open = {{reference, candidate}};
    while (!open.empty()) {
      const auto [left_name, right_name] = std::move(open.back());
      open.pop_back();
      const NodeProto* left = reference_.producer(left_name);
      const NodeProto* right = candidate_.producer(right_name);
      if (!left || !right || !same_operator(*left, *right)) continue;
      if (const std::string* known = counterpart(left_name); known && *known != right_name)
        continue;
      if (matched_.contains(left) != matched_.contains(right)) continue;
      if (!matched_.contains(left)) match_nodes(*left, *right);
      if (!visited_.insert(left).second) continue;
      for (int i = 0; i < left->input_size(); ++i)
        if (is_computed(reference_, left->input(i)) && is_computed(candidate_, right->input(i)) &&
            !counterparts_.contains(left->input(i)) && !taken_.contains(right->input(i)))
          open.emplace_back(left->input(i), right->input(i));
    }
  }

  const Model& reference_model_;
  const Model& candidate_model_;
  const GraphIndex &reference_, &candidate_;
  std::unordered_map<std::string, std::string> counterparts_;
  std::unordered_set<std::string> taken_;  // tensors of the candidate
  std::unordered_set<const NodeProto*> matched_, visited_;
  std::vector<std::pair<std::string, std::string>> ends_;
};

}  // namespace

std::unordered_map<std::string, std::string> match_by_topology(const ModelIndex& reference,
                                                               const ModelIndex& candidate) {
  return Matcher(reference, candidate).run();
}

}  // namespace vernier
