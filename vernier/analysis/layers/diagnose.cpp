#include "vernier/analysis/layers/diagnose.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "vernier/analysis/layers/attributes.h"
#include "vernier/analysis/layers/evidence.h"
#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/layers/settings.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/model/inference_mode.h"
#include "vernier/model/precision.h"
#include "vernier/model/scope.h"

namespace vernier {
namespace {

using Fact = LayerEvidence::Fact;

std::int64_t nonfinite(const LayerRow& row) { return row.candidate_nan + row.candidate_inf; }

std::int64_t reference_nonfinite(const LayerRow& row) {
  return row.reference_nan + row.reference_inf;
}

class Diagnoser {
 public:
  Diagnoser(std::span<const LayerRow> rows, const DiagnoseOptions& options)
      : rows_(rows.begin(), rows.end()), options_(options) {
    if (options.candidate) candidate_.emplace(*options.candidate, rows_);
    for (const LayerRow& row : rows) {
      layers_.insert(row.layer);
      if (!row.tensor.empty()) tensor_of_.emplace(row.layer, row.tensor);
    }
    if (!candidate_) return;
    forget_unfair_runs();
    run_in_inference();
    prove_attributes();
  }

  Diagnosis diagnose(std::size_t index) const {
    const LayerRow& row = rows_[index];
    if (!row.exceeds) return {};
    if (const auto same = earlier_row_of_its_tensor(index))
      return {Cause::inherited, {.fact = Fact::shared_tensor, .layer = *same}};
    if (row.tensor.empty() && does_nothing(row)) return diagnose_next(index);
    const Region region = region_of(index);
    for (const auto& [cause, find] : searches)
      if (LayerEvidence found = (this->*find)(index, region)) return {cause, std::move(found)};
    if (const auto found = fault_on_the_way(row)) return *found;
    return {Cause::unknown, {.fact = what_is_not_known(row)}};
  }

 private:
  // The region of the layer's tensor; without one, that of the next layer that has one.
  Region region_of(std::size_t index) const {
    return candidate_ ? candidate_->region(rows_[next_with_tensor(index)].tensor) : Region();
  }

  std::size_t next_with_tensor(std::size_t index) const {
    while (index + 1 < rows_.size() && rows_[index].tensor.empty()) ++index;
    return index;
  }

  static bool does_nothing(const LayerRow& row) {
    return is_no_op({.name = row.layer, .type = row.type});
  }

  // A no-op layer is not missing; no tensor holds its values because the values that it passes on
  // are wrong.
  Diagnosis diagnose_next(std::size_t index) const {
    while (++index < rows_.size())
      if (!rows_[index].tensor.empty()) {
        Diagnosis found = diagnose(index);
        if (found.cause == Cause::none) break;
        if (!found.evidence.at) found.evidence.at = index;
        return found;
      }
    return {Cause::unknown, {.fact = Fact::no_operation}};
  }

  // Whether the layer may be at fault: on the reference's inputs it is wrong, or was not run.
  bool may_be_at_fault(const LayerRow& row) const {
    return !(row.introduced_max_abs_diff && *row.introduced_max_abs_diff <= row.allowed);
  }

  // A tensor that holds only a part of a layer's result after a fusion is not the layer's output,
  // and its readers need that part: replacing it by the reference's tensor makes both wrong.
  void forget_unfair_runs() {
    std::set<std::string> parts;
    for (const LayerRow& row : rows_)
      if (row.exceeds && reads_part_of_its_weights(row)) parts.insert(row.tensor);
    if (parts.empty()) return;
    for (LayerRow& row : rows_) {
      const auto& sources = candidate_->region(row.tensor).sources;
      const auto is_part = [&](const std::string& name) { return parts.contains(name); };
      if (is_part(row.tensor) || std::ranges::any_of(sources, is_part))
        row.introduced_max_abs_diff.reset();
    }
  }

  bool reads_part_of_its_weights(const LayerRow& row) const {
    const auto names = names_read(candidate_->region(row.tensor));
    return !names.empty() &&
           std::ranges::any_of(options_.weights, [&](const ComparedWeight& weight) {
             return weight.module == row.layer && weight.initializer == weight.parameter &&
                    !names.contains(weight.initializer);
           });
  }

  std::optional<std::string> earlier_row_of_its_tensor(std::size_t index) const {
    if (!candidate_ || rows_[index].tensor.empty()) return std::nullopt;
    const std::size_t first = candidate_->rows_of(rows_[index].tensor).front();
    if (first >= index || !rows_[first].exceeds) return std::nullopt;
    return rows_[first].layer;
  }

  std::vector<std::optional<IntroducedError>> errors_with(const Model& changed) const {
    auto errors = options_.run_changed(rows_, changed);
    errors.resize(rows_.size());
    return errors;
  }

  void run_in_inference() {
    const auto trains = [&](std::size_t index) {
      return rows_[index].exceeds && training_operator(region_of(index));
    };
    bool any = false;
    for (std::size_t i = 0; i < rows_.size() && !any; ++i) any = trains(i);
    if (any && options_.run_changed)
      in_inference_ = errors_with(in_inference_mode(*options_.candidate));
  }

  // Whether training mode explains the layer, by a run in inference mode; nullopt if not run.
  std::optional<bool> is_proven_training(std::size_t index) const {
    index = next_with_tensor(index);
    const LayerRow& row = rows_[index];
    if (index >= in_inference_.size() || !in_inference_[index] || !row.introduced_sqnr_db)
      return std::nullopt;
    return in_inference_[index]->max_abs_diff <= row.allowed ||
           in_inference_[index]->sqnr_db >= *row.introduced_sqnr_db + most_of_error_db;
  }

  // Whether a layer without a tensor may be the training operator in the next layer's region.
  bool may_train(const LayerRow& row) const {
    if (!row.tensor.empty() || is_batch_norm(row.type) || does_nothing(row)) return true;
    const auto* writer =
        options_.reference ? options_.reference->main().producer(row.layer) : nullptr;
    return writer && (is_op(*writer, "BatchNormalization") || is_op(*writer, "Dropout"));
  }

  // The training operator of a layer that is nearly right in inference mode, whatever else differs.
  LayerEvidence training_mode(std::size_t index, const Region& region) const {
    const bool is_proven = candidate_ && may_be_at_fault(rows_[index]) && may_train(rows_[index]) &&
                           is_proven_training(index).value_or(false);
    return is_proven ? training_operator(region) : LayerEvidence();
  }

  // The training operator, if an earlier layer is blamed for it already.
  LayerEvidence shared_training(std::size_t index, const Region& region) const {
    const LayerEvidence own = training_mode(index, region);
    for (std::size_t i = 0; own && i < index; ++i)
      if (rows_[i].exceeds && training_mode(i, region_of(i)).node == own.node)
        return {.fact = Fact::shared_operator, .layer = rows_[i].layer, .node = own.node};
    return {};
  }

  // Corrects the differing attributes of each row that may be at fault: one per run, in all rows at
  // once, and then all together. The first that makes a row right is its cause.
  void prove_attributes() {
    std::vector<std::vector<OtherAttribute>> others(rows_.size());
    std::size_t most = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].exceeds) others[i] = other_attributes(i);
      most = std::max(most, others[i].size());
    }
    other_attribute_.resize(rows_.size());
    if (!options_.run_changed) {
      for (std::size_t i = 0; i < rows_.size(); ++i)
        if (!others[i].empty()) other_attribute_[i] = others[i].front().evidence;
      return;
    }
    for (std::size_t round = 0; round < most + (most > 1); ++round)
      prove_attributes(others, round < most ? std::optional(round) : std::nullopt);
  }

  // Corrects only the attributes with that index; nullopt: all of them.
  void prove_attributes(const std::vector<std::vector<OtherAttribute>>& others,
                        std::optional<std::size_t> number) {
    Model changed = options_.candidate->model().clone();
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (std::size_t j = 0; j < others[i].size(); ++j)
        if (!other_attribute_[i] && (!number || j == *number)) others[i][j].correct(changed);
    const auto errors = errors_with(changed);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::size_t named = number.value_or(0);
      if (other_attribute_[i] || named >= others[i].size() || !errors[i]) continue;
      if (errors[i]->max_abs_diff <= rows_[i].allowed)
        other_attribute_[i] = others[i][named].evidence;
    }
  }

  std::vector<OtherAttribute> other_attributes(std::size_t index) const {
    const LayerRow& row = rows_[index];
    if (!is_wrong_by_itself(row)) return {};
    const Region region = region_of(index);
    std::vector<OtherAttribute> found;
    if (const auto leaf = std::ranges::find(options_.leaves, row.layer, &WatchedTensor::name);
        leaf != options_.leaves.end()) {
      found = differing_constants(region, *leaf);
      std::ranges::move(differing_settings(region, *leaf, row.reference_shape.size()),
                        std::back_inserter(found));
    }
    if (found.empty() && options_.reference)
      found = differing_attributes(reference_region(row), region);
    return found;
  }

  LayerEvidence wrong_weight(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (!candidate_ || !may_be_at_fault(row)) return {};
    LayerEvidence found = differing_weight(region, options_.weights, row.layer);
    // Different ways of folding a batch norm leave differences that explain no more than rounding.
    const bool is_rounding = found && found.weight->sqnr_db >= rounding_db;
    return is_rounding && !(row.sqnr_db >= rounding_db) ? LayerEvidence() : found;
  }

  LayerEvidence other_layout(std::size_t index, const Region& /*region*/) const {
    return {.fact = rows_[index].layout ? Fact::other_layout : Fact::none};
  }

  LayerEvidence wrong_operator(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (is_missing(row, region) && !is_missing_before(index)) return {.fact = Fact::absent};
    if (!candidate_ || !may_be_at_fault(row)) return {};
    LayerEvidence found;
    if (is_proven_training(index).value_or(true)) found = training_operator(region);
    if (!found) found = late_source(index, region);
    if (!found && !missing_input(index, region)) found = unread_layer(index);
    if (!found) found = missing_operator(region, row.type);
    if (!found && options_.reference && !missing_input(index, region))
      found = differing_operators(reference_region(row), region);
    return found;
  }

  // The layer has no tensor, and no node of its scope helps to compute the next layer. A quantizer
  // may have absorbed it.
  static bool is_missing(const LayerRow& row, const Region& region) {
    return row.match == Match::none && row.tensor.empty() &&
           std::ranges::none_of(region.nodes, [&](const auto* node) {
             return is_quantizing(*node) || module_path(*node) == row.layer;
           });
  }

  // Whether the operator before it is missing too: the first of several stands for all.
  bool is_missing_before(std::size_t index) const {
    return options_.reference && index > 0 && is_missing(rows_[index - 1], region_of(index - 1));
  }

  LayerEvidence missing_with_others(std::size_t index, const Region& region) const {
    if (!is_missing(rows_[index], region) || !is_missing_before(index)) return {};
    while (is_missing_before(index)) --index;
    return {.fact = Fact::absent_with, .layer = rows_[index].layer};
  }

  // A layer that reads what the reference computes later is at another place in the graph.
  LayerEvidence late_source(std::size_t index, const Region& region) const {
    for (const std::string& source : region.sources) {
      const auto& sources = candidate_->rows_of(source);
      if (!sources.empty() && sources.front() > index)
        return {.fact = Fact::reads_later, .layer = rows_[sources.front()].layer};
    }
    return {};
  }

  // The layer before it, if nothing reads that layer's tensor.
  LayerEvidence unread_layer(std::size_t index) const {
    while (index-- > 0) {
      if (rows_[index].tensor.empty()) continue;
      if (!candidate_->is_unread(rows_[index].tensor)) return {};
      return {.fact = Fact::unread, .layer = rows_[index].layer};
    }
    return {};
  }

  Region reference_region(const LayerRow& row) const {
    return vernier::region_of(*options_.reference, row.layer,
                              [&](const std::string& name) { return layers_.contains(name); });
  }

  LayerEvidence lost_precision(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (is_float(row.candidate_dtype) && bits(row.candidate_dtype) < bits(row.reference_dtype))
      return {.fact = Fact::narrow_dtype,
              .name = row.tensor,
              .candidate = {std::string(dtype_name(row.candidate_dtype))}};
    return candidate_ ? low_precision(region) : LayerEvidence();
  }

  // Whether the row holds infinity that does no harm, as in a mask: all layers that read it are
  // right.
  bool is_absorbed(const LayerRow& row) const {
    if (!candidate_ || row.candidate_nan > row.reference_nan) return false;
    bool is_read = false;
    for (const LayerRow& reader : rows_) {
      if (reader.tensor.empty()) continue;
      const auto& sources = candidate_->region(reader.tensor).sources;
      if (std::ranges::count(sources, row.tensor) == 0) continue;
      if (reader.exceeds) return false;
      is_read = true;
    }
    return is_read;
  }

  // Whether NaN or infinity begins here: on the reference's inputs, if it was run on them.
  bool makes_nonfinite(const LayerRow& row, const Region& region) const {
    if (nonfinite(row) == reference_nonfinite(row) || is_absorbed(row)) return false;
    if (row.introduced_max_abs_diff) return !std::isfinite(*row.introduced_max_abs_diff);
    const auto is_finite = [&](std::size_t source) { return nonfinite(rows_[source]) == 0; };
    return std::ranges::all_of(region.sources, [&](const std::string& source) {
      return std::ranges::all_of(candidate_->rows_of(source), is_finite);
    });
  }

  LayerEvidence new_nonfinite(std::size_t index, const Region& region) const {
    if (!makes_nonfinite(rows_[index], region)) return {};
    return {.fact = Fact::nonfinite, .name = nonfinite_constant(region)};
  }

  LayerEvidence rounding(std::size_t index, const Region& /*region*/) const {
    const auto& truth = rows_[index].truth;
    const bool near = truth && truth->error_candidate <= rounding_factor * truth->error_reference;
    return {.fact = near ? Fact::near_truth : Fact::none};
  }

  // Whether it was run on the reference's inputs and is wrong.
  bool is_wrong_by_itself(const LayerRow& row) const {
    return candidate_ && row.introduced_max_abs_diff && may_be_at_fault(row);
  }

  LayerEvidence wrong_attribute(std::size_t index, const Region& /*region*/) const {
    return candidate_ ? other_attribute_[index] : LayerEvidence();
  }

  // The only node of the region, not counting constants; null if there are several.
  static const NodeProto* only_node(const Region& region) {
    const NodeProto* only = nullptr;
    for (const auto* node : region.nodes) {
      if (is_op(*node, "Constant")) continue;
      if (only) return nullptr;
      only = node;
    }
    return only;
  }

  // Both sides compute it by one operator from the same tensors, in another order.
  LayerEvidence wrong_operands(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (!options_.reference || !is_wrong_by_itself(row)) return {};
    const auto *reference = only_node(reference_region(row)), *candidate = only_node(region);
    if (!reference || !candidate) return {};
    std::vector<std::string> operands, found;  // constants are empty, but keep their position
    for (const std::string& input : reference->input()) {
      const auto source = tensor_of_.find(input);
      operands.push_back(source == tensor_of_.end() ? "" : source->second);
    }
    for (const std::string& input : candidate->input())
      found.push_back(candidate_->rows_of(input).empty() ? "" : input);
    if (operands == found || !std::ranges::is_permutation(operands, found)) return {};
    return {.fact = Fact::operand_order, .node = node_label(*candidate)};
  }

  LayerEvidence wrong_result(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (!is_wrong_by_itself(row) || row.sqnr_db >= rounding_db) return {};
    return {.fact = Fact::computed_by, .candidate = operator_names(region)};
  }

  // A missing layer that, in the reference, lies between this layer and its sources here: no run
  // can give this layer the right input.
  LayerEvidence missing_input(std::size_t index, const Region& region) const {
    if (!may_be_at_fault(rows_[index])) return {};
    if (options_.reference)
      for (const std::string& source : reference_region(rows_[index]).sources)
        if (const auto row = std::ranges::find(rows_, source, &LayerRow::layer);
            row != rows_.end() && row->exceeds && row->tensor.empty() && !does_nothing(*row))
          return {.fact = Fact::follows_absent, .layer = row->layer};
    std::size_t first = index;
    for (const std::string& source : region.sources)
      for (const std::size_t row : candidate_->rows_of(source)) first = std::min(first, row);
    for (std::size_t i = index; i-- > first + 1;)
      if (rows_[i].exceeds && rows_[i].tensor.empty() && !does_nothing(rows_[i]))
        return {.fact = Fact::follows_absent, .layer = rows_[i].layer};
    return {};
  }

  // An operator between layers that also computes an earlier layer at fault, as on the residual
  // path of a transformer: it has no row of its own.
  LayerEvidence shared_operator(std::size_t index, const Region& region) const {
    if (!candidate_ || !may_be_at_fault(rows_[index])) return {};
    for (std::size_t i = 0; i < index; ++i) {
      const LayerRow& earlier = rows_[i];
      if (!earlier.exceeds || earlier.tensor.empty() || !may_be_at_fault(earlier)) continue;
      const auto& nodes = candidate_->region(earlier.tensor).nodes;
      const auto shared = std::ranges::find_if(region.nodes, [&](const auto* node) {
        return !is_bookkeeping(*node) && std::ranges::find(nodes, node) != nodes.end();
      });
      if (shared != region.nodes.end())
        return {
            .fact = Fact::shared_operator, .layer = earlier.layer, .node = node_label(**shared)};
    }
    return {};
  }

  LayerEvidence inheritance(std::size_t index, const Region& /*region*/) const {
    const LayerRow& row = rows_[index];
    if (may_be_at_fault(row) && row.introduced_max_abs_diff) return {};
    const auto source = candidate_ ? exceeding_before(row) : exceeding_above(index);
    if (!source) return {};
    return {.fact = !candidate_                   ? Fact::layer_above
                    : row.introduced_max_abs_diff ? Fact::sound_after
                                                  : Fact::computed_from,
            .layer = rows_[*source].layer};
  }

  // The nearest exceeding row that this one is computed from.
  std::optional<std::size_t> exceeding_before(const LayerRow& row) const {
    for (const std::string& tensor : candidate_->ancestors(row.tensor))
      for (const std::size_t ancestor : candidate_->rows_of(tensor))
        if (rows_[ancestor].exceeds) return ancestor;
    return std::nullopt;
  }

  // A fault in an ancestor that is itself within tolerance.
  std::optional<Diagnosis> fault_on_the_way(const LayerRow& row) const {
    if (!candidate_) return std::nullopt;
    for (const std::string& tensor : candidate_->ancestors(row.tensor)) {
      const auto& rows = candidate_->rows_of(tensor);
      if (rows.empty()) continue;
      const Region& region = candidate_->region(tensor);
      Cause cause = Cause::weight_bit_mismatch;
      LayerEvidence found = differing_weight(region, options_.weights, rows_[rows.front()].layer);
      if (!found) {
        cause = Cause::precision_loss;
        found = low_precision(region);
      }
      if (!found) continue;
      found.at = rows.front();
      return Diagnosis{cause, std::move(found)};
    }
    return std::nullopt;
  }

  std::optional<std::size_t> exceeding_above(std::size_t index) const {
    while (index-- > 0)
      if (rows_[index].exceeds) return index;
    return std::nullopt;
  }

  static Fact what_is_not_known(const LayerRow& row) {
    if (!row.compared) return Fact::other_shape;
    if (!row.introduced_max_abs_diff) return Fact::unexplained;
    return row.sqnr_db >= rounding_db ? Fact::rounding_adds_up : Fact::adds_up;
  }

  // The causes in search order. A layer is blamed for its computation only after its inputs are
  // found right.
  struct Search {
    Cause cause;
    LayerEvidence (Diagnoser::*find)(std::size_t index, const Region& region) const;
  };
  static constexpr std::array<Search, 15> searches = {{
      {Cause::inherited, &Diagnoser::missing_with_others},
      {Cause::inherited, &Diagnoser::shared_training},
      {Cause::missing_or_extra_op, &Diagnoser::training_mode},
      {Cause::weight_bit_mismatch, &Diagnoser::wrong_weight},
      {Cause::layout_mismatch, &Diagnoser::other_layout},
      {Cause::missing_or_extra_op, &Diagnoser::wrong_operator},
      {Cause::precision_loss, &Diagnoser::lost_precision},
      {Cause::nonfinite, &Diagnoser::new_nonfinite},
      {Cause::rounding, &Diagnoser::rounding},
      {Cause::inherited, &Diagnoser::missing_input},
      {Cause::inherited, &Diagnoser::shared_operator},
      {Cause::attribute_mismatch, &Diagnoser::wrong_attribute},
      {Cause::operand_mismatch, &Diagnoser::wrong_operands},
      {Cause::op_implementation, &Diagnoser::wrong_result},
      {Cause::inherited, &Diagnoser::inheritance},
  }};

  std::vector<LayerRow> rows_;
  const DiagnoseOptions& options_;
  std::optional<CandidateGraph> candidate_;
  std::set<std::string> layers_;
  std::map<std::string, std::string> tensor_of_;              // by layer, if it has one
  std::vector<std::optional<IntroducedError>> in_inference_;  // empty if not run
  std::vector<LayerEvidence> other_attribute_;                // by row, if proven
};

}  // namespace

std::vector<Diagnosis> diagnose(std::span<const LayerRow> rows, const DiagnoseOptions& options) {
  if (std::ranges::none_of(rows, &LayerRow::exceeds)) return std::vector<Diagnosis>(rows.size());
  const Diagnoser diagnoser(rows, options);
  std::vector<Diagnosis> diagnoses;
  for (std::size_t i = 0; i < rows.size(); ++i) diagnoses.push_back(diagnoser.diagnose(i));
  return diagnoses;
}

}  // namespace vernier
