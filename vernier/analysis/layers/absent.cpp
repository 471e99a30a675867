#include "vernier/analysis/layers/absent.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <optional>

#include "vernier/analysis/layers/evidence.h"
#include "vernier/analysis/pairing/by_value.h"

namespace vernier {
namespace {

bool has_tensor(const LayerRow& row) { return !row.tensor.empty(); }

bool is_absent(const LayerRow& row) {
  return row.tensor.empty() && !row.type.empty() &&
         (row.match == Match::none || row.match == Match::fused);
}

// Whether it is wrong on the reference's inputs.
bool is_wrong_by_itself(const LayerRow& row) {
  return row.exceeds && row.introduced_max_abs_diff &&
         !(*row.introduced_max_abs_diff <= row.allowed);
}

std::string plain_type(const std::string& type) {
  constexpr std::string_view suffix = "Activation";
  return type.ends_with(suffix) ? type.substr(0, type.size() - suffix.size()) : type;
}

// Values are not searched for one number, so that only what is computed from it can be compared.
bool is_single_value(const LayerRow& row) { return element_count(row.reference_shape) == 1; }

class AbsentLayers {
 public:
  AbsentLayers(const LayersResult& result, const CandidateGraph& candidate)
      : rows_(result.rows), outputs_(result.outputs), candidate_(candidate) {}

  // The corrected match of the row; nullopt if it is already right.
  std::optional<Match> settled(std::size_t index) const {
    if (!is_absent(rows_[index])) return std::nullopt;
    const auto reader = first_reader(index);
    // A no-op may stand for a computation without a layer, such as the projection of an attention.
    if (is_no_op({.name = rows_[index].layer, .type = rows_[index].type}))
      return reader && rows_[*reader].exceeds && has_another_product(*reader)
                 ? std::nullopt
                 : std::optional(Match::fused);
    if (reader && is_single_value(rows_[index]) && !rows_[*reader].exceeds) return Match::fused;
    if (!reader) return is_computed_for_outputs(index) ? std::optional(Match::fused) : std::nullopt;
    // A table that is read at fixed positions is exported as a constant.
    if (rows_[index].type == "Embedding") return Match::fused;
    const bool computed = is_computed_for(index, *reader);
    if (rows_[index].match == Match::none && computed) return Match::fused;
    if (rows_[index].match == Match::fused && lacks(index, *reader) &&
        is_wrong_by_itself(rows_[*reader]))
      return Match::none;
    return std::nullopt;
  }

  // Whether the layer counts as fused, and the layer that reads it has no operator for it.
  bool is_lost(std::size_t index) const {
    if (rows_[index].match != Match::fused || !is_activation(rows_[index])) return false;
    const auto reader = first_reader(index);
    return reader && lacks(index, *reader);
  }

  static bool is_activation(const LayerRow& row) {
    const std::string type = plain_type(row.type);
    return knows_operators(type) && !takes_batch_norm(type) && type.find("Pool") == type.npos &&
           !type.ends_with("Norm");
  }

 private:
  const Region& region(std::size_t row) const { return candidate_.region(rows_[row].tensor); }

  // The first later layer that reads the tensor before it; else the next layer.
  std::optional<std::size_t> first_reader(std::size_t index) const {
    std::size_t before = index;
    while (before > 0 && !has_tensor(rows_[before])) --before;
    std::optional<std::size_t> next;
    for (std::size_t i = index + 1; i < rows_.size(); ++i) {
      if (!has_tensor(rows_[i]) || candidate_.rows_of(rows_[i].tensor).front() < index) continue;
      if (!next) next = i;
      if (has_tensor(rows_[before]) &&
          std::ranges::count(region(i).sources, rows_[before].tensor) > 0)
        return i;
    }
    return next;
  }

  bool lacks(std::size_t index, std::size_t reader) const {
    return static_cast<bool>(missing_operator(region(reader), plain_type(rows_[index].type)));
  }

  // Products with a weight.
  static std::ptrdiff_t products_in(const Region& region) {
    return std::ranges::count_if(region.nodes, [&](const auto* node) {
      return is_product(*node) && reads_weight(*node, region);
    });
  }

  std::ptrdiff_t products_of(std::size_t row) const { return products_in(region(row)); }

  // Weighted layers in the row's region: the row's own, and those before it without a tensor.
  std::ptrdiff_t weighted_layers_of(std::size_t row) const {
    return (takes_batch_norm(plain_type(rows_[row].type)) ? 1 : 0) + weighted_layers_before(row);
  }

  std::ptrdiff_t weighted_layers_before(std::size_t end) const {
    std::ptrdiff_t layers = 0;
    for (std::size_t i = end; i-- > 0 && !has_tensor(rows_[i]);)
      layers += takes_batch_norm(plain_type(rows_[i].type)) ? 1 : 0;
    return layers;
  }

  // Whether a product in the row's region belongs to no layer.
  bool has_another_product(std::size_t row) const {
    return products_of(row) > weighted_layers_of(row);
  }

  // Whether the reader's region has an operator for the layer as well.
  bool is_computed_for(std::size_t index, std::size_t reader) const {
    const std::string type = plain_type(rows_[index].type);
    if (!takes_batch_norm(type) && !is_batch_norm(type))
      return knows_operators(type) && !lacks(index, reader);
    const auto products = products_of(reader);
    return products > 0 && products >= weighted_layers_of(reader);
  }

  // Whether no layer follows, all outputs are right, and the region of an output has an operator
  // for the layer: then it was fused with operators behind the last layer.
  bool is_computed_for_outputs(std::size_t index) const {
    const std::string type = plain_type(rows_[index].type);
    const bool all_right = std::ranges::all_of(outputs_, [](const LayerRow& output) {
      return output.compared && !output.exceeds && has_tensor(output);
    });
    if (outputs_.empty() || !all_right) return false;
    if (is_single_value(rows_[index])) return true;
    const std::ptrdiff_t layers = weighted_layers_before(rows_.size());
    return std::ranges::any_of(outputs_, [&](const LayerRow& output) {
      const Region& behind = candidate_.region(output.tensor);
      if (!takes_batch_norm(type) && !is_batch_norm(type))
        return knows_operators(type) && !behind.nodes.empty() && !missing_operator(behind, type);
      return products_in(behind) > 0 && products_in(behind) >= layers;
    });
  }

  static bool reads_weight(const NodeProto& node, const Region& region) {
    return std::ranges::any_of(node.input(), [&](const std::string& input) {
      return static_cast<bool>(region.graph->weight_source(input));
    });
  }

  const std::vector<LayerRow>& rows_;
  const std::vector<LayerRow>& outputs_;
  const CandidateGraph& candidate_;
};

std::int64_t operators_for(const std::string& type, const ModelIndex& candidate) {
  std::int64_t count = 0;
  for (const GraphIndex& graph : candidate.graphs())
    for (const NodeProto& node : graph.graph().node()) count += may_compute(node, type);
  return count;
}

}  // namespace

void count_exceeding(LayersResult& result) {
  result.drift_origin.reset();
  result.layers_exceeding = 0;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    if (!result.rows[i].exceeds) continue;
    if (!result.drift_origin) result.drift_origin = i;
    ++result.layers_exceeding;
  }
}

void classify_absent_layers(LayersResult& result, const CandidateGraph& candidate) {
  const AbsentLayers absent(result, candidate);
  std::vector<std::pair<std::size_t, Match>> changes;
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    if (const auto match = absent.settled(i)) changes.emplace_back(i, *match);
  for (const auto& [index, match] : changes) {
    LayerRow& row = result.rows[index];
    row.match = match;
    row.exceeds = match == Match::none;
    row.cause = row.exceeds ? Cause::unknown : Cause::none;
  }
  count_exceeding(result);
}

std::optional<MissingActivations> find_lost_activation(const LayersResult& result,
                                                       const CandidateGraph& graph,
                                                       const ModelIndex& candidate) {
  const AbsentLayers absent(result, graph);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    if (!absent.is_lost(i)) continue;
    const std::string type = plain_type(result.rows[i].type);
    const std::int64_t layers = std::ranges::count_if(
        result.rows, [&](const LayerRow& row) { return plain_type(row.type) == type; });
    const std::int64_t found = operators_for(type, candidate);
    if (found < layers)
      return MissingActivations{.op = type, .reference = layers, .candidate = found};
  }
  return std::nullopt;
}

}  // namespace vernier
