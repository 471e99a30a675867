#include "vernier/analysis/layers/diagnose.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "vernier/analysis/layers/evidence.h"
#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/model/scope.h"

namespace vernier {
namespace {

std::int64_t nonfinite(const LayerRow& row) { return row.candidate_nan + row.candidate_inf; }

std::int64_t reference_nonfinite(const LayerRow& row) {
  return row.reference_nan + row.reference_inf;
}

class Diagnoser {
 public:
  Diagnoser(std::span<const LayerRow> rows, const DiagnoseOptions& options)
      : rows_(rows.begin(), rows.end()), options_(options) {
    if (options.candidate) candidate_.emplace(*options.candidate, rows_);
    if (options.reference) reference_.emplace(*options.reference);
    for (const LayerRow& row : rows) {
      layers_.insert(row.layer);
      if (!row.tensor.empty()) tensor_of_.emplace(row.layer, row.tensor);
    }
    if (candidate_) forget_unfair_runs();
  }

  Diagnosis diagnose(std::size_t index) const {
    const LayerRow& row = rows_[index];
    if (!row.exceeds) return {};
    if (const auto same = earlier_row_of_its_tensor(index))
      return {Cause::inherited,
              fmt::format("its tensor is that of {}, which is out of tolerance", *same)};
    if (row.tensor.empty() && does_nothing(row)) return diagnose_next(index);
    const Region region = region_of(index);
    for (const auto& [cause, evidence] : evidences)
      if (std::string found = (this->*evidence)(index, region); !found.empty())
        return {cause, std::move(found)};
    if (const auto found = fault_on_the_way(row)) return *found;
    return {Cause::unknown, what_is_not_known(row)};
  }

 private:
  // What computes the layer; where no tensor stands for it, what computes the next one that has
  // one.
  Region region_of(std::size_t index) const {
    if (!candidate_) return {};
    while (index + 1 < rows_.size() && rows_[index].tensor.empty()) ++index;
    return candidate_->region(rows_[index].tensor);
  }

  static bool does_nothing(const LayerRow& row) {
    return is_no_op({.name = row.layer, .type = row.type});
  }

  // A layer that does nothing is not missed; no tensor holds its values because those that it
  // should hand on are wrong.
  Diagnosis diagnose_next(std::size_t index) const {
    while (++index < rows_.size())
      if (!rows_[index].tensor.empty()) {
        const auto [cause, detail] = diagnose(index);
        if (cause == Cause::none) break;
        return {cause, fmt::format("at {}: {}", rows_[index].layer, detail)};
      }
    return {Cause::unknown, "it does nothing, and no tensor holds its values"};
  }

  // Whether the layer may be at fault: on the reference's inputs it is not right, or was not run.
  bool may_be_at_fault(const LayerRow& row) const {
    return !(row.introduced_max_abs_diff && *row.introduced_max_abs_diff <= row.allowed);
  }

  // A tensor that a fusion left with only a part of a layer's work is not the layer's output, and
  // what reads it wants that part: with the reference's tensor in its place both come out wrong.
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
    const auto names = names_read(candidate_->region(row.tensor), candidate_->weights());
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

  std::string wrong_weight(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (!candidate_ || !may_be_at_fault(row)) return "";
    return differing_weight(region, candidate_->weights(), options_.weights, row.layer);
  }

  std::string other_layout(std::size_t index, const Region& /*region*/) const {
    const auto& layout = rows_[index].layout;
    return layout ? "the values agree once the axes are reordered: " + layout->description : "";
  }

  std::string wrong_operator(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (is_missing(row, region) && !is_missing_before(index))
      return "nothing in the candidate stands for it: no tensor has its name, and none its values";
    if (!candidate_ || !may_be_at_fault(row)) return "";
    std::string found = training_operator(region, candidate_->weights());
    if (found.empty()) found = late_source(index, region);
    if (found.empty() && missing_input(index, region).empty()) found = unread_layer(index);
    if (found.empty()) found = missing_operator(region, row.type);
    if (found.empty() && reference_ && missing_input(index, region).empty())
      found = differing_operators(reference_region(row), region);
    return found;
  }

  // Neither has it a tensor, nor does a node of its scope help to compute the next layer. A
  // quantizer may have taken it in.
  static bool is_missing(const LayerRow& row, const Region& region) {
    return row.match == Match::none && row.tensor.empty() &&
           std::ranges::none_of(region.nodes, [&](const auto* node) {
             return is_quantized(*node) || module_path(*node) == row.layer;
           });
  }

  // Whether the operator before it is missing, too: the first stands for all that are in a row.
  bool is_missing_before(std::size_t index) const {
    return reference_ && index > 0 && is_missing(rows_[index - 1], region_of(index - 1));
  }

  std::string missing_with_others(std::size_t index, const Region& region) const {
    if (!is_missing(rows_[index], region) || !is_missing_before(index)) return "";
    while (is_missing_before(index)) --index;
    return fmt::format("it is missing with {} and what follows that", rows_[index].layer);
  }

  // A layer that reads what the reference computes only after it stands in another place.
  std::string late_source(std::size_t index, const Region& region) const {
    for (const std::string& source : region.sources) {
      const auto& sources = candidate_->rows_of(source);
      if (!sources.empty() && sources.front() > index)
        return fmt::format("it reads {}, which the reference computes after it",
                           rows_[sources.front()].layer);
    }
    return "";
  }

  // The layer before it, if what that computes is not used.
  std::string unread_layer(std::size_t index) const {
    while (index-- > 0) {
      if (rows_[index].tensor.empty()) continue;
      if (!candidate_->is_unread(rows_[index].tensor)) return "";
      return fmt::format("nothing reads {}, which the reference computes before it",
                         rows_[index].layer);
    }
    return "";
  }

  Region reference_region(const LayerRow& row) const {
    return vernier::region_of(*reference_, row.layer,
                              [&](const std::string& name) { return layers_.contains(name); });
  }

  std::string lost_precision(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (is_float(row.candidate_dtype) && bits(row.candidate_dtype) < bits(row.reference_dtype))
      return fmt::format("{} is {}", row.tensor, dtype_name(row.candidate_dtype));
    return candidate_ ? low_precision(region, candidate_->dtypes()) : "";
  }

  // Whether NaN or infinity appears here, also on the reference's inputs if it was run on them.
  bool makes_nonfinite(const LayerRow& row, const Region& region) const {
    if (nonfinite(row) == reference_nonfinite(row)) return false;
    if (row.introduced_max_abs_diff) return !std::isfinite(*row.introduced_max_abs_diff);
    const auto is_finite = [&](std::size_t source) { return nonfinite(rows_[source]) == 0; };
    return std::ranges::all_of(region.sources, [&](const std::string& source) {
      return std::ranges::all_of(candidate_->rows_of(source), is_finite);
    });
  }

  std::string new_nonfinite(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (!makes_nonfinite(row, region)) return "";
    std::string text = fmt::format(
        "{} elements of the candidate are not finite, {} of the reference; its inputs are",
        nonfinite(row), reference_nonfinite(row));
    const std::string constant =
        candidate_ ? nonfinite_constant(region, candidate_->weights()) : std::string();
    return constant.empty() ? text : text + ", but " + constant;
  }

  std::string rounding(std::size_t index, const Region& /*region*/) const {
    const LayerRow& row = rows_[index];
    if (!row.truth || !(row.truth->error_candidate <= rounding_factor * row.truth->error_reference))
      return "";
    return fmt::format("against float64 the candidate errs by {:.3g}, the reference by {:.3g}",
                       row.truth->error_candidate, row.truth->error_reference);
  }

  // Whether it was run on the reference's inputs and came out wrong.
  bool is_wrong_by_itself(const LayerRow& row) const {
    return candidate_ && row.introduced_max_abs_diff && may_be_at_fault(row);
  }

  // The evidence that the layer, and not its inputs, is wrong.
  static std::string recomputed(const LayerRow& row, const std::string& why) {
    if (why.empty()) return "";
    return fmt::format("on the reference's inputs it is still {:.3g} off: {}",
                       *row.introduced_max_abs_diff, why);
  }

  std::string wrong_attribute(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (!is_wrong_by_itself(row)) return "";
    std::string why;
    if (const auto leaf = std::ranges::find(options_.leaves, row.layer, &WatchedTensor::name);
        leaf != options_.leaves.end())
      why = differing_constant(region, candidate_->weights(), *leaf);
    if (why.empty() && reference_) why = differing_attribute(reference_region(row), region);
    return recomputed(row, why);
  }

  // The node that computes the region, beside constants; null where there are several.
  static const vernier_onnx::NodeProto* only_node(const Region& region) {
    const vernier_onnx::NodeProto* only = nullptr;
    for (const auto* node : region.nodes) {
      if (is_op(*node, "Constant")) continue;
      if (only) return nullptr;
      only = node;
    }
    return only;
  }

  // Both sides compute it by one operator, from the same tensors in another order.
  std::string wrong_operands(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (!reference_ || !is_wrong_by_itself(row)) return "";
    const auto *reference = only_node(reference_region(row)), *candidate = only_node(region);
    if (!reference || !candidate) return "";
    std::vector<std::string> operands, found;  // constants are empty: they have their place, too
    for (const std::string& input : reference->input()) {
      const auto source = tensor_of_.find(input);
      operands.push_back(source == tensor_of_.end() ? "" : source->second);
    }
    for (const std::string& input : candidate->input())
      found.push_back(candidate_->rows_of(input).empty() ? "" : input);
    if (operands == found || !std::ranges::is_permutation(operands, found)) return "";
    return recomputed(
        row, fmt::format("the operands of {} are in another order", node_label(*candidate)));
  }

  std::string wrong_result(std::size_t index, const Region& region) const {
    const LayerRow& row = rows_[index];
    if (!is_wrong_by_itself(row) || row.sqnr_db >= rounding_db) return "";
    return recomputed(row, "computed by " + operator_names(region));
  }

  // A missing layer that the reference computes between this one and what it is computed from here:
  // no run can give it the right input.
  std::string missing_input(std::size_t index, const Region& region) const {
    if (!may_be_at_fault(rows_[index])) return "";
    if (reference_)
      for (const std::string& source : reference_region(rows_[index]).sources)
        if (const auto row = std::ranges::find(rows_, source, &LayerRow::layer);
            row != rows_.end() && row->exceeds && row->tensor.empty() && !does_nothing(*row))
          return fmt::format("it follows {}, which is missing", row->layer);
    std::size_t first = index;
    for (const std::string& source : region.sources)
      for (const std::size_t row : candidate_->rows_of(source)) first = std::min(first, row);
    for (std::size_t i = index; i-- > first + 1;)
      if (rows_[i].exceeds && rows_[i].tensor.empty() && !does_nothing(rows_[i]))
        return fmt::format("it follows {}, which is missing", rows_[i].layer);
    return "";
  }

  // An operator between layers that an earlier layer at fault is computed by as well, as on the
  // residual path of a transformer: no layer's tensor stands behind it.
  std::string shared_operator(std::size_t index, const Region& region) const {
    if (!candidate_ || !may_be_at_fault(rows_[index])) return "";
    for (std::size_t i = 0; i < index; ++i) {
      const LayerRow& earlier = rows_[i];
      if (!earlier.exceeds || earlier.tensor.empty() || !may_be_at_fault(earlier)) continue;
      const auto& nodes = candidate_->region(earlier.tensor).nodes;
      const auto shared = std::ranges::find_if(region.nodes, [&](const auto* node) {
        return !is_bookkeeping(*node) && std::ranges::find(nodes, node) != nodes.end();
      });
      if (shared != region.nodes.end())
        return fmt::format("{} is on the way to it and to {}, which is out of tolerance",
                           node_label(**shared), earlier.layer);
    }
    return "";
  }

  std::string inheritance(std::size_t index, const Region& /*region*/) const {
    const LayerRow& row = rows_[index];
    if (may_be_at_fault(row) && row.introduced_max_abs_diff) return "";
    const auto source = candidate_ ? exceeding_before(row) : exceeding_above(index);
    if (!source) return "";
    if (!candidate_)
      return fmt::format("{} before it is out of tolerance already", rows_[*source].layer);
    if (!row.introduced_max_abs_diff)
      return fmt::format("it is computed from {}, which is out of tolerance", rows_[*source].layer);
    return fmt::format("{}; it is computed from {}", own_difference(row), rows_[*source].layer);
  }

  // The nearest row out of tolerance that this one is computed from.
  std::optional<std::size_t> exceeding_before(const LayerRow& row) const {
    for (const std::string& tensor : candidate_->ancestors(row.tensor))
      for (const std::size_t ancestor : candidate_->rows_of(tensor))
        if (rows_[ancestor].exceeds) return ancestor;
    return std::nullopt;
  }

  // What is wrong with a layer on the way that is still within tolerance itself.
  std::optional<Diagnosis> fault_on_the_way(const LayerRow& row) const {
    if (!candidate_) return std::nullopt;
    for (const std::string& tensor : candidate_->ancestors(row.tensor)) {
      const auto& rows = candidate_->rows_of(tensor);
      if (rows.empty()) continue;
      const std::string& layer = rows_[rows.front()].layer;
      const Region& region = candidate_->region(tensor);
      if (const std::string found =
              differing_weight(region, candidate_->weights(), options_.weights, layer);
          !found.empty())
        return Diagnosis{Cause::weight_bit_mismatch, fmt::format("at {}: {}", layer, found)};
      if (const std::string found = low_precision(region, candidate_->dtypes()); !found.empty())
        return Diagnosis{Cause::precision_loss, fmt::format("at {}: {}", layer, found)};
    }
    return std::nullopt;
  }

  std::optional<std::size_t> exceeding_above(std::size_t index) const {
    while (index-- > 0)
      if (rows_[index].exceeds) return index;
    return std::nullopt;
  }

  // What the layer does to the reference's inputs.
  static std::string own_difference(const LayerRow& row) {
    const double difference = *row.introduced_max_abs_diff;
    return difference == 0 ? "by itself it is exact"
                           : fmt::format("by itself it is {:.3g} off", difference);
  }

  static std::string what_is_not_known(const LayerRow& row) {
    if (!row.compared) return "the shapes differ, and no operator or weight says why";
    if (!row.introduced_max_abs_diff) return "nothing of what was looked at explains it";
    if (row.sqnr_db >= rounding_db)
      return fmt::format("{}, at {:.0f} dB: rounding may have added up, which --truth fp64 tells",
                         own_difference(row), row.sqnr_db);
    return own_difference(row) + "; the difference added up over layers";
  }

  // The causes in the order in which they are looked for. Before a layer is said to compute
  // otherwise, it must have had the right inputs.
  struct Evidence {
    Cause cause;
    std::string (Diagnoser::*find)(std::size_t index, const Region& region) const;
  };
  static constexpr std::array<Evidence, 13> evidences = {{
      {Cause::inherited, &Diagnoser::missing_with_others},
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
  std::optional<ModelIndex> reference_;
  std::set<std::string> layers_;
  std::map<std::string, std::string> tensor_of_;  // of each layer that has one
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
