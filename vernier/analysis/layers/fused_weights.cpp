#include "vernier/analysis/layers/fused_weights.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "vernier/analysis/layers/absent.h"
#include "vernier/analysis/layers/evidence.h"
#include "vernier/analysis/layers/folding.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using Fact = LayerEvidence::Fact;

// Whether the weight is the parameter as the candidate needs it.
bool is_parameter(const ComparedWeight& weight) {
  return weight.match == WeightMatch::exact || weight.match == WeightMatch::transposed ||
         weight.match == WeightMatch::folded || weight.match == WeightMatch::rounded;
}

bool differs(const ComparedWeight& weight) {
  return weight.match == WeightMatch::differs && !(weight.sqnr_db >= rounding_db);
}

// The initializer of that name, or the tensor of a Constant node that has or writes it, also in a
// subgraph; null if there is none.
TensorProto* mutable_constant(GraphProto& graph, const std::string& name) {
  for (TensorProto& each : *graph.mutable_initializer())
    if (each.name() == name) return &each;
  for (NodeProto& node : *graph.mutable_node()) {
    if (is_op(node, "Constant") && node.attribute_size() > 0 && node.attribute(0).has_t() &&
        (node.output(0) == name || node.attribute(0).t().name() == name))
      return node.mutable_attribute(0)->mutable_t();
    TensorProto* found = nullptr;
    for_each_subgraph(node, [&](GraphProto& inner, const auto&) {
      if (!found) found = mutable_constant(inner, name);
    });
    if (found) return found;
  }
  return nullptr;
}

// Changes each value much, also of a constant that holds one number, or zeros.
void change_values(TensorProto& stored, const WeightView& view) {
  constexpr double factor = 1.5;
  Tensor values = convert(view, DType::f64);
  const auto numbers = elements<double>(values);
  std::ranges::reverse(numbers);
  const bool are_zero = std::ranges::count(numbers, 0.0) == std::ssize(numbers);
  for (double& number : numbers) number = are_zero ? 1 : factor * number;
  Tensor changed = convert(values, view.dtype);
  changed.shape = shape_of(stored);
  TensorProto proto = make_tensor_proto(changed);
  proto.set_name(stored.name());
  stored = std::move(proto);
}

// A weight of the candidate that no comparison proves, and the row that is computed from it.
struct Unproven {
  std::size_t reader = 0;
  std::string initializer;
};

class FusedWeights {
 public:
  FusedWeights(LayersResult& result, std::span<const ComparedWeight> weights, CandidateGraph graph,
               const FusedWeightsOptions& options)
      : result_(result),
        weights_(weights),
        graph_(std::move(graph)),
        candidate_(options.candidate),
        reference_(options.reference),
        read_(options.read) {
    for (const ComparedWeight& weight : weights_)
      if (is_parameter(weight)) taken_.insert(weight.initializer);
  }

  // Factors that are known to be folded into weights explain layers that differ by just these: such
  // a layer was fused.
  void release_folded() {
    bool is_any = false;
    for (std::size_t i = result_.rows.size(); i-- > 0;) {
      LayerRow& row = result_.rows[i];
      if (!row.exceeds || !row.compared || row.tensor.empty() || !reader_of(i)) continue;
      if (!has_folded_factors(row) && !is_halved_by_readers(row)) continue;
      row = {.layer = row.layer,
             .type = row.type,
             .source = row.source,
             .match = Match::fused,
             .reference_shape = row.reference_shape,
             .reference_dtype = row.reference_dtype};
      is_any = true;
    }
    if (is_any) count_exceeding(result_);
  }

  // The weights that have to be proven by a run. Layers with a wrong weight exceed.
  std::vector<Unproven> unproven() {
    std::vector<Unproven> found;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      LayerRow& row = result_.rows[i];
      if (row.match != Match::fused || row.exceeds) continue;
      const auto reader = reader_of(i);
      if (!reader) continue;
      for (const ComparedWeight& weight : weights_)
        if (is_read_by(row, weight) && weight.elements > 1) judge(i, *reader, weight, found);
    }
    return found;
  }

  // A parameter that is where the reference has another: a layer that the reference calls earlier
  // cannot depend on one that it calls later. Empty if there is none.
  std::string misplaced() const {
    const std::vector<Placed> placed = placed_weights();
    for (const Placed& early : placed) {
      std::set<const NodeProto*> sources;
      for (const Placed& late : placed) {
        if (late.row <= early.row || late.weight->elements != early.weight->elements ||
            !(is_fused(early) || is_fused(late)))
          continue;
        if (sources.empty()) sources = sources_of(*early.node);
        if (sources.contains(late.node) && is_the_only_one(*early.weight) &&
            is_the_only_one(*late.weight))
          return is_fused(early) ? early.weight->parameter : late.weight->parameter;
      }
    }
    return "";
  }

 private:
  // A parameter of one row that one node of the candidate reads.
  struct Placed {
    const ComparedWeight* weight = nullptr;
    std::size_t row = 0;
    const NodeProto* node = nullptr;
  };

  bool is_fused(const Placed& placed) const {
    return result_.rows[placed.row].match == Match::fused;
  }

  // Whether it has the parameter's bits. Those of vectors, such as biases, may be there by chance.
  bool is_proven_matrix(const ComparedWeight& weight) const {
    if (weight.match != WeightMatch::exact && weight.match != WeightMatch::transposed) return false;
    const TensorProto* stored = stored_weight(candidate_, weight.initializer);
    return stored && stored->dims_size() > 1;
  }

  std::vector<Placed> placed_weights() const {
    std::map<std::string, std::set<const NodeProto*>> readers;
    for (const NodeProto& node : candidate_.model().graph().node())
      for (const std::string& input : node.input())
        if (const TensorProto* stored = stored_weight(candidate_, input))
          readers[stored->name()].insert(&node);
    std::vector<Placed> placed;
    for (const ComparedWeight& weight : weights_) {
      const auto nodes = readers.find(weight.initializer);
      if (!is_proven_matrix(weight) || nodes == readers.end() || nodes->second.size() != 1)
        continue;
      std::vector<std::size_t> rows;
      for (std::size_t i = 0; i < result_.rows.size(); ++i)
        if (is_read_by(result_.rows[i], weight)) rows.push_back(i);
      if (rows.size() == 1) placed.push_back({&weight, rows[0], *nodes->second.begin()});
    }
    return placed;
  }

  // The nodes that the node is computed from.
  std::set<const NodeProto*> sources_of(const NodeProto& node) const {
    std::set<const NodeProto*> sources;
    std::vector<const NodeProto*> waiting = {&node};
    while (!waiting.empty()) {
      const NodeProto* next = waiting.back();
      waiting.pop_back();
      for (const std::string& input : next->input())
        if (const NodeProto* writer = candidate_.main().producer(input);
            writer && sources.insert(writer).second)
          waiting.push_back(writer);
    }
    return sources;
  }

  // Whether no other weight of the candidate has the same values: any of these may be the
  // parameter's.
  bool is_the_only_one(const ComparedWeight& weight) const {
    std::set<std::string> others;
    for (const TensorProto& each : candidate_.model().graph().initializer())
      if (each.name() != weight.initializer) others.insert(each.name());
    return !holds_copy(others, weight);
  }

  bool is_read_by(const LayerRow& row, const ComparedWeight& weight) const {
    if (!reference_) return weight.module == row.layer;
    const FoundTensor* found = reference_->tensor(row.layer);
    return found && std::ranges::count(found->node->input(), weight.parameter) > 0;
  }

  // The factors of a vector that the candidate lacks, as a share of that vector: 1, or 1/2 with the
  // factor of a GELU. 0 if the weight has no such factors.
  double share_of_lost_vector(const ComparedWeight& weight) const {
    const auto parameter =
        weight.match == WeightMatch::folded ? read_(weight.parameter) : std::nullopt;
    const TensorProto* stored = parameter ? stored_weight(candidate_, weight.initializer) : nullptr;
    if (!stored) return 0;
    for (const auto& factors : folded_factors(*parameter, candidate_.model().view(*stored)))
      for (const ComparedWeight& lost : weights_) {
        if (lost.match != WeightMatch::not_found || lost.elements != std::ssize(factors)) continue;
        const auto vector = read_(lost.parameter);
        const std::vector<double> values = vector ? to_f64(*vector) : std::vector<double>();
        if (!values.empty() && are_factors_of(factors, values))
          return std::abs(factors[0]) < 0.75 * std::abs(values[0]) ? 0.5 : 1;
      }
    return 0;
  }

  // Whether the layer's own weights are those of the reference times a vector.
  bool has_folded_factors(const LayerRow& row) const {
    bool is_any = false;
    for (const ComparedWeight& weight : weights_) {
      if (weight.elements < 2 || !is_read_by(row, weight)) continue;
      if (share_of_lost_vector(weight) == 0) return false;
      is_any = true;
    }
    return is_any;
  }

  // Whether the tensor is twice the layer's, and all that read it multiply it by halved weights.
  bool is_halved_by_readers(const LayerRow& row) const {
    constexpr double same_direction = 1 - 1e-9, equal_noise_db = 1e-3;
    if (!(row.cosine_similarity > same_direction) || !(std::abs(row.sqnr_db) < equal_noise_db))
      return false;
    const auto readers = candidate_.main().consumers(row.tensor);
    return !readers.empty() && std::ranges::all_of(readers, [&](const auto* node) {
      return is_product(*node) && node->input(0) == row.tensor && node->input_size() > 1 &&
             std::ranges::any_of(weights_, [&](const ComparedWeight& weight) {
               const TensorProto* stored = stored_weight(candidate_, node->input(1));
               return stored && weight.initializer == stored->name() &&
                      share_of_lost_vector(weight) == 0.5;
             });
    });
  }

  // The next layer that is compared, with a tensor that no earlier layer has; nullopt if there is
  // none, or if it is wrong.
  std::optional<std::size_t> reader_of(std::size_t first) const {
    std::size_t index = first;
    while (++index < result_.rows.size()) {
      const LayerRow& row = result_.rows[index];
      if (row.tensor.empty() || !row.compared || graph_.rows_of(row.tensor).front() < first)
        continue;
      return row.exceeds ? std::nullopt : std::optional(index);
    }
    return std::nullopt;
  }

  void judge(std::size_t index, std::size_t reader, const ComparedWeight& weight,
             std::vector<Unproven>& found) {
    const std::set<std::string> names = names_read(graph_.region(result_.rows[reader].tensor));
    if (is_parameter(weight) && (names.contains(weight.initializer) || holds_copy(names, weight)))
      return;
    if (differs(weight) && !may_be_folded(weight)) {
      LayerRow& row = result_.rows[index];
      row.exceeds = true;
      row.cause = Cause::weight_bit_mismatch;
      ++result_.layers_exceeding;
      result_.drift_origin = std::min(result_.drift_origin.value_or(index), index);
      return;
    }
    for (std::string& name : candidates_of(weight, names))
      if (tested_.emplace(reader, name).second) found.push_back({reader, std::move(name)});
  }

  // Whether one of these weights has the values of the one that was found: a model may store a
  // weight several times.
  bool holds_copy(const std::set<std::string>& names, const ComparedWeight& weight) const {
    const TensorProto* expected = stored_weight(candidate_, weight.initializer);
    if (!expected) return false;
    const WeightView values = candidate_.model().view(*expected);
    return std::ranges::any_of(names, [&](const std::string& name) {
      const TensorProto* stored = stored_weight(candidate_, name);
      if (!stored || stored->data_type() != expected->data_type()) return false;
      const WeightView view = candidate_.model().view(*stored);
      return std::ranges::equal(view.shape, values.shape) &&
             std::ranges::equal(view.bytes, values.bytes);
    });
  }

  // Whether factors may have been multiplied into the weight. Those that a parameter of the
  // reference holds are known: such a weight is WeightMatch::folded.
  bool may_be_folded(const ComparedWeight& weight) const {
    const auto parameter = read_ ? read_(weight.parameter) : std::nullopt;
    const TensorProto* stored = stored_weight(candidate_, weight.initializer);
    if (!parameter || !stored) return true;
    const WeightView found = candidate_.model().view(*stored);
    return std::ranges::any_of(folded_factors(*parameter, found), [&](const auto& factors) {
      return parameter->shape.size() > 1 || is_uniform(factors);
    });
  }

  // The weights that may stand for the parameter: the one that was found, else those of its size
  // that stand for no other, else all of these.
  std::vector<std::string> candidates_of(const ComparedWeight& weight,
                                         const std::set<std::string>& names) const {
    if (names.contains(weight.initializer)) return {weight.initializer};
    std::vector<std::string> same_size, others;
    for (const std::string& name : names) {
      const TensorProto* stored = stored_weight(candidate_, name);
      if (!stored || taken_.contains(name) || taken_.contains(stored->name()) ||
          !is_float(dtype_of(*stored)))
        continue;
      const std::int64_t elements = element_count(shape_of(*stored));
      const std::string& own_name = stored->name().empty() ? name : stored->name();
      if (elements == weight.elements) same_size.push_back(own_name);
      if (elements > 1) others.push_back(own_name);
    }
    return same_size.empty() ? others : same_size;
  }

  LayersResult& result_;
  std::span<const ComparedWeight> weights_;
  CandidateGraph graph_;
  const ModelIndex& candidate_;
  const ModelIndex* reference_;
  const ReadParameter& read_;
  std::set<std::string> taken_;  // initializers that are a parameter
  std::set<std::pair<std::size_t, std::string>> tested_;
};

// Changes one weight for each reader in a run. Returns the first on which its reader does not
// depend; empty if there is none.
std::string independent_of(const std::vector<Unproven>& unproven, const LayersResult& result,
                           const ModelIndex& candidate, const RunChanged& run_changed) {
  std::map<std::size_t, std::vector<std::string>> by_reader;
  for (const Unproven& each : unproven) by_reader[each.reader].push_back(each.initializer);
  std::size_t rounds = 0;
  for (const auto& [reader, names] : by_reader) rounds = std::max(rounds, names.size());
  for (std::size_t round = 0; round < rounds; ++round) {
    Model changed = candidate.model().clone();
    std::map<std::size_t, std::string> tried;
    for (const auto& [reader, names] : by_reader) {
      if (round >= names.size()) continue;
      TensorProto* place = mutable_constant(changed.graph(), names[round]);
      if (!place) return names[round];  // what cannot be changed is not proven
      change_values(*place, changed.view(*place));
      tried.emplace(reader, names[round]);
    }
    if (tried.empty()) continue;
    const auto errors = run_changed(result.rows, changed);
    for (const auto& [reader, name] : tried)
      if (reader >= errors.size() || !errors[reader] ||
          errors[reader]->max_abs_diff <= result.rows[reader].allowed)
        return name;
  }
  return "";
}

}  // namespace

std::string check_fused_weights(LayersResult& result, std::span<const ComparedWeight> weights,
                                const FusedWeightsOptions& options) {
  const auto places = [&] { return CandidateGraph(options.candidate, result.rows); };
  FusedWeights(result, weights, places(), options).release_folded();
  FusedWeights fused(result, weights, places(), options);
  const std::vector<Unproven> unproven = fused.unproven();
  if (std::string name = fused.misplaced(); !name.empty()) return name;
  return unproven.empty() || !options.run_changed
             ? ""
             : independent_of(unproven, result, options.candidate, options.run_changed);
}

}  // namespace vernier
