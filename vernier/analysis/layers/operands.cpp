#include "vernier/analysis/layers/operands.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <map>

#include "vernier/analysis/layers/folding.h"
#include "vernier/analysis/layers/graph.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/onnx_type.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

bool is_float_tensor(const TensorProto* stored) {
  const auto dtype = stored ? dtype_of_onnx(stored->data_type()) : std::nullopt;
  return dtype && is_float(*dtype);
}

// Compares the operands of nodes at the same place in two graphs.
class OperandComparison {
 public:
  OperandComparison(std::vector<ComparedWeight> weights, const ModelIndex& reference,
                    const ModelIndex& candidate)
      : weights_(std::move(weights)),
        reference_model_(reference.model()),
        candidate_model_(candidate.model()),
        reference_(reference.main()),
        candidate_(candidate.main()) {
    for (std::size_t i = 0; i < weights_.size(); ++i) places_.emplace(weights_[i].parameter, i);
  }

  void compare(const std::string& reference, const std::string& candidate) {
    const auto* left = reference_.producer(reference);
    const auto* right = candidate_.producer(candidate);
    if (!left || !right) return;
    if (left->op_type() == right->op_type()) return compare_nodes(*left, *right);
    const auto* folded = is_op(*left, "BatchNormalization") && left->input_size() >= 5
                             ? reference_.producer(left->input(0))
                             : nullptr;
    if (folded && folded->op_type() == right->op_type() &&
        (is_op(*right, "Conv") || is_op(*right, "ConvTranspose")))
      compare_folded(*folded, *left, *right);
  }

  std::vector<ComparedWeight> result() && { return std::move(weights_); }

 private:
  // The row of a weight whose initializer is not certain; null otherwise.
  ComparedWeight* open_row(const std::string& parameter) {
    const auto place = places_.find(parameter);
    if (place == places_.end()) return nullptr;
    ComparedWeight& row = weights_[place->second];
    const bool open = row.match == WeightMatch::not_found || row.match == WeightMatch::unlike;
    return open ? &row : nullptr;
  }

  void compare_nodes(const NodeProto& left, const NodeProto& right) {
    for (int i = 0; i < std::min(left.input_size(), right.input_size()); ++i) {
      const TensorProto* expected = reference_.constant(left.input(i));
      const TensorProto* found = candidate_.constant(right.input(i));
      if (!is_float_tensor(expected) || !is_float_tensor(found) ||
          shape_of(*expected) != shape_of(*found))
        continue;
      ComparedWeight* row = open_row(left.input(i));
      if (!row) continue;
      judge(*row, right.input(i), reference_model_.view(*expected), candidate_model_.view(*found));
    }
  }

  static void judge(ComparedWeight& row, const std::string& initializer, const TensorView& expected,
                    const TensorView& found) {
    row.initializer = initializer;
    row.difference = difference(expected, found);
    row.match = row.difference.differing == 0 ? WeightMatch::exact : WeightMatch::differs;
    if (row.difference.differing > 0) row.sqnr_db = similarity(expected, found).sqnr_db;
  }

  std::vector<double> values(const std::string& name) const {
    const TensorProto* stored = reference_.constant(name);
    return is_float_tensor(stored) ? to_f64(reference_model_.view(*stored)) : std::vector<double>();
  }

  void compare_folded(const NodeProto& layer, const NodeProto& norm, const NodeProto& right) {
    const BatchNorm parameters{.mean = values(norm.input(3)),
                               .variance = values(norm.input(4)),
                               .weight = values(norm.input(1)),
                               .bias = values(norm.input(2)),
                               .epsilon = attribute_float(norm, "epsilon", 1e-5F)};
    const std::size_t channels = parameters.channels();
    const TensorProto* weight = reference_.constant(layer.input(1));
    if (channels == 0 || parameters.variance.size() != channels ||
        parameters.weight.size() != channels || parameters.bias.size() != channels ||
        !is_float_tensor(weight))
      return;
    const int axis = is_op(layer, "ConvTranspose") ? 1 : 0;
    judge_folded(layer.input(1), right.input(1),
                 fold_weight(reference_model_.view(*weight), axis, parameters), norm);
    if (right.input_size() < 3) return;
    const std::vector<double> bias =
        layer.input_size() > 2 ? values(layer.input(2)) : std::vector<double>();
    judge_folded(norm.input(2), right.input(2), fold_bias(bias, parameters), norm);
    for (const std::string& parameter : {layer.input_size() > 2 ? layer.input(2) : std::string(),
                                         norm.input(1), norm.input(3), norm.input(4)})
      if (const auto place = places_.find(parameter); place != places_.end())
        weights_[place->second].match = WeightMatch::folded;
  }

  // Replaces a match by name, which did not take the batch norm into account.
  void judge_folded(const std::string& parameter, const std::string& initializer,
                    const std::optional<Expected>& expected, const NodeProto& norm) {
    const auto place = places_.find(parameter);
    const TensorProto* stored = candidate_.constant(initializer);
    if (place == places_.end() || !expected || !is_float_tensor(stored)) return;
    const WeightView found = candidate_model_.view(*stored);
    if (found.size() != static_cast<std::int64_t>(expected->values.size())) return;
    ComparedWeight& row = weights_[place->second];
    row = {.parameter = row.parameter, .module = row.module, .elements = row.elements};
    row.initializer = initializer;
    row.difference = difference(*expected, found);
    row.match = row.difference.differing == 0 ? WeightMatch::folded : WeightMatch::differs;
    if (row.match == WeightMatch::folded) return;
    row.sqnr_db = similarity(as_tensor(*expected), found).sqnr_db;
    row.folded_norm = node_label(norm);
  }

  std::vector<ComparedWeight> weights_;
  const Model& reference_model_;
  const Model& candidate_model_;
  const GraphIndex& reference_;
  const GraphIndex& candidate_;
  std::map<std::string, std::size_t> places_;  // by parameter
};

}  // namespace

std::vector<ComparedWeight> compare_operands(std::vector<ComparedWeight> weights,
                                             const ModelIndex& reference,
                                             const ModelIndex& candidate,
                                             const TensorPairs& tensors) {
  OperandComparison comparison(std::move(weights), reference, candidate);
  for (const auto& [left, right] : tensors) comparison.compare(left, right);
  return std::move(comparison).result();
}

}  // namespace vernier
