#include "vernier/analysis/layers/weights.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "vernier/analysis/compare/layout.h"
#include "vernier/analysis/evidence/model_weights.h"
#include "vernier/analysis/evidence/recurrent_weights.h"
#include "vernier/analysis/layers/folding.h"
#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/data/input_shape.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/quantization.h"
#include "vernier/model/scope.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

// The modules of an ONNX graph's nodes, in graph order.
std::vector<WatchedTensor> modules_of(const ModelIndex& model) {
  std::vector<WatchedTensor> leaves;
  for (const GraphIndex& graph : model.graphs())
    for (const auto& node : graph.graph().node()) {
      const std::string path = module_path(node);
      if (path.empty()) continue;
      WatchedTensor leaf{.name = path, .type = node.op_type()};
      if (is_op(node, "BatchNormalization"))
        leaf.constants["eps"] = attribute_float(node, "epsilon", 1e-5F);
      leaves.push_back(std::move(leaf));
    }
  return leaves;
}

std::string module_of(std::string_view parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string_view::npos ? "" : std::string(parameter.substr(0, dot));
}

std::string_view role_of(std::string_view parameter) {
  return parameter.substr(parameter.rfind('.') + 1);
}

// "in_proj_weight" is a weight too.
bool has_role(const std::string& role, std::string_view name) {
  return !role.empty() && (name == role || name.ends_with("_" + role));
}

// Exporters number such names: they do not identify a parameter.
bool is_numbered(std::string_view name) {
  return name.starts_with("onnx::") || name.starts_with("val_") ||
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool same_order(std::span<const std::int64_t> left, std::span<const std::int64_t> right) {
  return squeezed({left.begin(), left.end()}) == squeezed({right.begin(), right.end()});
}

bool swapped_order(std::span<const std::int64_t> left, std::span<const std::int64_t> right) {
  return left.size() == 2 && right.size() == 2 && left[0] == right[1] && left[1] == right[0];
}

Tensor transposed(const TensorView& tensor) { return permute_axes(tensor, std::vector{1, 0}); }

// A constant in a node has no name; it was found by the parameter's.
std::string name_of(const TensorProto& stored, const std::string& parameter) {
  return stored.name().empty() ? parameter : stored.name();
}

// The operator, "Conv" or "ConvTranspose", that reads the tensor as its kernel; empty if none.
std::string convolution_of(const ModelIndex& model, std::string_view kernel) {
  for (const GraphIndex& graph : model.graphs())
    for (const auto* node : graph.consumers(kernel))
      if ((is_op(*node, "Conv") || is_op(*node, "ConvTranspose")) && input_name(*node, 1) == kernel)
        return node->op_type();
  return "";
}

// An initializer that should hold a parameter.
struct Target {
  const TensorProto* stored = nullptr;
  const NodeProto* reader = nullptr;  // null if found by name alone
  bool transposed = false;            // between the initializer and the reader
};

// Whether a linear layer's weight has to be stored with its axes swapped: the layer computes x
// times the transposed weight.
bool stored_swapped(const Target& target) {
  const bool is_gemm = target.reader->op_type().ends_with("Gemm");  // or ONNX Runtime's FusedGemm
  const bool reader_swaps = is_gemm && attribute_int(*target.reader, "transB", 0) != 0;
  return reader_swaps == target.transposed;
}

class Comparison {
 public:
  // `reference` is null if the parameters are not from an ONNX model.
  Comparison(std::span<const WatchedTensor> leaves, Vectors vectors, const ModelIndex& candidate,
             const ModelIndex* reference = nullptr)
      : leaves_(leaves),
        vectors_(std::move(vectors)),
        candidate_(candidate),
        reference_(reference) {
    return_folded_weights(leaves_, candidate_);
    folds_ = find_folds(leaves_, vectors_, candidate_);
  }

  ComparedWeight compare(const TensorView& parameter) const {
    const ComparedWeight row{.parameter = std::string(parameter.name),
                             .module = module_of(parameter.name),
                             .elements = parameter.size()};
    const std::vector<Target> found = targets(parameter);
    for (const Target& target : found) {
      if (const auto match = same_as(row, parameter, target)) return *match;
      if (const auto match = flipped_in(row, parameter, target)) return *match;
    }
    if (const auto folded = judge_fold(row, parameter)) return *folded;
    if (found.empty()) return search(row, parameter);
    const ComparedWeight judged = judge(row, parameter, found.front());
    if (judged.match == WeightMatch::not_found) return search(row, parameter);
    if (holds_lost_vector(judged, parameter, found.front())) {
      ComparedWeight folded = row;
      folded.initializer = judged.initializer;
      folded.match = WeightMatch::folded;
      return folded;
    }
    return may_be_folded(judged, parameter) ? row : judged;
  }

 private:
  // The initializers that the module's nodes read as this parameter; else the one with its name.
  std::vector<Target> targets(const TensorView& parameter) const {
    const TensorProto* named = stored_weight(candidate_.index(), parameter.name);
    if (named && !same_kind(parameter, *named)) named = nullptr;
    std::vector<Target> found;
    for (const WeightUse& use : candidate_.uses_of(module_of(parameter.name))) {
      const Target target{use.stored, use.node, use.transposed};
      if (use.stored == named) return {target};
      if (has_role(use.role, role_of(parameter.name)) && fits(parameter, *use.stored))
        found.push_back(target);
    }
    if (found.empty() && named) found.push_back({named});
    return found;
  }

  WeightView read(const Target& target) const {
    return candidate_.index().model().view(*target.stored);
  }

  // Quantized codes are not the parameter, even under its name.
  static bool same_kind(const TensorView& parameter, const TensorProto& stored) {
    const auto dtype = dtype_of_onnx(stored.data_type());
    return dtype && is_float(*dtype) == is_float(parameter.dtype);
  }

  static bool fits(const TensorView& parameter, const TensorProto& stored) {
    const Shape shape = shape_of(stored);
    return same_kind(parameter, stored) &&
           (same_order(parameter.shape, shape) || swapped_order(parameter.shape, shape));
  }

  std::string type_of(const std::string& module) const {
    const auto leaf = std::ranges::find(leaves_, module, &WatchedTensor::name);
    return leaf == leaves_.end() ? "" : leaf->type;
  }

  // The axis orders in which the initializer may hold the parameter.
  std::vector<bool> swaps(const TensorView& parameter, const TensorView& found,
                          const Target& target) const {
    const bool straight = same_order(parameter.shape, found.shape);
    const bool swapped = swapped_order(parameter.shape, found.shape);
    if (straight && swapped && !target.reader) return {false};
    const std::string type = straight && swapped ? type_of(module_of(parameter.name)) : "";
    if (straight && swapped && reference_)
      if (const auto swap = swapped_in_onnx(parameter, target)) return {*swap};
    const bool is_linear = type.ends_with("Linear") || parameter.name.ends_with("_proj_weight");
    if (straight && swapped && is_linear) return {stored_swapped(target)};
    if (type == "Conv1D") return {!stored_swapped(target)};  // of transformers: x times the weight
    std::vector<bool> result;
    if (straight) result.push_back(false);
    if (swapped) result.push_back(true);
    return result;
  }

  // Whether two ONNX models use a square matrix in different axis orders; nullopt if unknown.
  std::optional<bool> swapped_in_onnx(const TensorView& parameter, const Target& target) const {
    const std::string name(parameter.name);
    const Weight* expected = reference_->weight(name);
    const Weight* found = candidate_.index().weight(target.stored->name());
    if (!expected || !found) return std::nullopt;
    const auto from = matrix_output_axis(*expected->graph, name);
    const auto to = matrix_output_axis(*found->graph, found->name);
    return from && to ? std::optional(*from != *to) : std::nullopt;
  }

  // The row of a parameter whose bits the target holds; nullopt if they differ.
  std::optional<ComparedWeight> same_as(ComparedWeight row, const TensorView& parameter,
                                        const Target& target) const {
    const WeightView found = read(target);
    for (const bool swap : swaps(parameter, found, target)) {
      if (!same_bits(parameter, found, swap)) continue;
      row.initializer = name_of(*target.stored, row.parameter);
      row.match = swap ? WeightMatch::transposed : WeightMatch::exact;
      return row;
    }
    return std::nullopt;
  }

  // The operator or module type whose kernel the parameter is: "Conv", "Conv2d", "ConvTranspose".
  std::string reference_convolution(const ComparedWeight& row) const {
    const auto leaf = std::ranges::find(leaves_, row.module, &WatchedTensor::name);
    if (leaf != leaves_.end())
      return leaf->type.starts_with("ConvTranspose") ? "ConvTranspose" : leaf->type;
    return reference_ ? convolution_of(*reference_, row.parameter) : "";
  }

  // The row of a kernel that a transposed convolution reads in one model and a convolution in the
  // other: there it is flipped.
  std::optional<ComparedWeight> flipped_in(ComparedWeight row, const TensorView& parameter,
                                           const Target& target) const {
    if (parameter.shape.size() < 3) return std::nullopt;
    const std::string from = reference_convolution(row);
    const std::string to = target.reader
                               ? target.reader->op_type()
                               : convolution_of(candidate_.index(), target.stored->name());
    const bool flips = from == "ConvTranspose" ? to != "ConvTranspose"
                                               : from.starts_with("Conv") && to == "ConvTranspose";
    if (!flips) return std::nullopt;
    std::vector<int> order(parameter.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[0], order[1]);
    if (!same_bits(permute_axes(flip_kernel(parameter), order), read(target), false))
      return std::nullopt;
    row.initializer = name_of(*target.stored, row.parameter);
    row.match = WeightMatch::transposed;
    return row;
  }

  // The row of a parameter whose bits the target does not hold.
  ComparedWeight judge(ComparedWeight row, const TensorView& parameter,
                       const Target& target) const {
    const WeightView found = read(target);
    row.initializer = name_of(*target.stored, row.parameter);
    const std::vector<bool> orders = swaps(parameter, found, target);
    if (orders.empty()) return judge_shape(std::move(row), parameter, found);
    ComparedWeight judged = judge_order(std::move(row), parameter, found, orders.front());
    if (orders.size() == 1 && swapped_order(parameter.shape, found.shape) &&
        same_bits(parameter, found, !orders.front())) {
      judged.match = WeightMatch::differs;
      judged.axes_swapped = true;
    }
    return judged;
  }

  static ComparedWeight judge_shape(ComparedWeight row, const TensorView& parameter,
                                    const TensorView& found) {
    if (is_numbered(row.parameter)) return row;
    row.match = WeightMatch::differs;
    row.difference.differing = row.elements;
    row.shape.assign(parameter.shape.begin(), parameter.shape.end());
    row.found_shape.assign(found.shape.begin(), found.shape.end());
    return row;
  }

  static ComparedWeight judge_order(ComparedWeight row, const TensorView& parameter,
                                    const TensorView& found, bool swap) {
    const Tensor expected = swap ? transposed(parameter) : copy(parameter);
    if (is_rounded(expected, found)) {
      row.match = WeightMatch::rounded;
      return row;
    }
    row.difference = difference(expected, found);
    row.match = WeightMatch::exact;  // in a wider type
    if (row.difference.differing == 0) return row;
    return as_difference(std::move(row), similarity(expected, found).sqnr_db);
  }

  // Whether the initializer has a narrower type and holds the rounded values. A converter may move
  // values that would become zero or infinity by one step.
  static bool is_rounded(const Tensor& expected, const TensorView& found) {
    if (!is_float(found.dtype) || bits(found.dtype) >= bits(expected.dtype)) return false;
    const WeightDifference rest = difference(convert(expected, found.dtype), found);
    return rest.differing == 0 || rest.max_ulp_diff.value_or(2) <= 1;
  }

  static ComparedWeight as_difference(ComparedWeight row, double sqnr_db) {
    row.sqnr_db = sqnr_db;
    const bool same_name = row.initializer == row.parameter && !is_numbered(row.parameter);
    const bool mostly_equal = row.difference.differing < row.elements / 2;
    row.match = same_name || mostly_equal || sqnr_db >= same_weight_db ? WeightMatch::differs
                : is_numbered(row.parameter)                           ? WeightMatch::not_found
                                                                       : WeightMatch::unlike;
    return row;
  }

  // Folded parameters are judged where they ended up: in the weight of the layer, and in its bias,
  // which represents the batch norm's bias (or mean).
  std::optional<ComparedWeight> judge_fold(ComparedWeight row, const TensorView& parameter) const {
    const std::string_view role = role_of(parameter.name);
    for (const Fold& fold : folds_) {
      if (row.module == fold.layer && role == "weight")
        return judge_folded_weight(std::move(row), parameter, fold);
      const bool has_bias = vectors_.contains(fold.norm + ".bias");
      if (row.module == fold.norm && role == (has_bias ? "bias" : "running_mean"))
        return judge_folded_bias(std::move(row), fold);
      if ((row.module == fold.layer && role == "bias") ||
          (row.module == fold.norm && vectors_.contains(row.parameter))) {
        row.match = WeightMatch::folded;
        return row;
      }
    }
    return std::nullopt;
  }

  ComparedWeight judge_folded_weight(ComparedWeight row, const TensorView& parameter,
                                     const Fold& fold) const {
    for (const Target& target : targets(parameter)) {
      const WeightView found = read(target);
      const bool swap = swaps(parameter, found, target) == std::vector{true};
      const Tensor expected = swap ? transposed(parameter) : copy(parameter);
      const bool second = swap || fold.layer_type.starts_with("ConvTranspose");
      if (const auto folded = fold_weight(expected, second ? 1 : 0, fold.parameters))
        return judge_expected(std::move(row), fold, *folded, found);
    }
    return row;
  }

  ComparedWeight judge_folded_bias(ComparedWeight row, const Fold& fold) const {
    const auto uses = candidate_.uses_of(fold.layer);
    const auto use = std::ranges::find(uses, "bias", &WeightUse::role);
    const auto folded = fold_bias(fold.bias, fold.parameters);
    if (use == uses.end() || !folded) return row;
    return judge_expected(std::move(row), fold, *folded, read({use->stored}));
  }

  static ComparedWeight judge_expected(ComparedWeight row, const Fold& fold,
                                       const Expected& expected, const TensorView& found) {
    if (found.size() != static_cast<std::int64_t>(expected.values.size())) return row;
    row.initializer = found.name;
    row.match = WeightMatch::folded;
    if (within_bounds(expected, found) || is_rounded(as_tensor(expected), found)) return row;
    row.difference = difference(expected, found);
    row.folded_norm = fold.norm;
    return as_difference(std::move(row), similarity(as_tensor(expected), found).sqnr_db);
  }

  // Whether the weight is the parameter times a vector of the reference that the candidate lacks,
  // such as a layer scale.
  bool holds_lost_vector(const ComparedWeight& judged, const TensorView& parameter,
                         const Target& target) const {
    if (judged.match != WeightMatch::differs && judged.match != WeightMatch::unlike) return false;
    for (const auto& factors : folded_factors(parameter, read(target)))
      for (const auto& [name, vector] : vectors_)
        if (vector.size() == factors.size() && name != parameter.name &&
            are_factors_of(factors, vector) && !stored_weight(candidate_.index(), name))
          return true;
    return false;
  }

  // An initializer with the parameter's content, whatever its name.
  ComparedWeight search(ComparedWeight row, const TensorView& parameter) const {
    if (parameter.size() < 2) return row;
    const Weight* stored = candidate_.index().weight_with(parameter);
    row.match = stored ? WeightMatch::exact : WeightMatch::not_found;
    if (!stored && parameter.shape.size() == 2) {
      stored = candidate_.index().weight_with(transposed(parameter));
      if (stored) row.match = WeightMatch::transposed;
    }
    if (stored) row.initializer = stored->name;
    return row;
  }

  // A batch norm that is not a leaf, or has no known epsilon, may have been folded in.
  bool may_be_folded(const ComparedWeight& row, const TensorView& parameter) const {
    if (row.initializer == row.parameter || parameter.shape.empty()) return false;
    const std::int64_t channels = parameter.shape[0];
    return lacks_unknown_norm(leaves_, vectors_, candidate_, static_cast<std::size_t>(channels));
  }

  std::span<const WatchedTensor> leaves_;
  Vectors vectors_;
  ModuleWeights candidate_;
  const ModelIndex* reference_;
  std::vector<Fold> folds_;
};

// Joins the parameters of recurrent modules as in ONNX, once the last of them was visited.
class JoiningVisitor {
 public:
  JoiningVisitor(std::vector<RecurrentWeight> weights, TensorVisitor visit)
      : weights_(std::move(weights)), visit_(std::move(visit)) {}

  void operator()(const TensorView& parameter) {
    const std::string name(parameter.name);
    bool is_part = false;
    for (const RecurrentWeight& weight : weights_) {
      if (std::ranges::find(weight.parameters, name) == weight.parameters.end()) continue;
      is_part = true;
      parts_.insert_or_assign(name, copy(parameter));
      const auto is_there = [&](const std::string& part) { return parts_.contains(part); };
      if (!std::ranges::all_of(weight.parameters, is_there)) continue;
      visit_(join(weight, parts_));
      for (const std::string& part : weight.parameters) parts_.erase(part);
    }
    if (!is_part) visit_(parameter);
  }

 private:
  std::vector<RecurrentWeight> weights_;
  TensorVisitor visit_;
  std::map<std::string, Tensor> parts_;
};

// Whether at most one axis is longer than 1, as of a layer scale for each channel.
bool is_vector(std::span<const std::int64_t> shape) {
  return !shape.empty() &&
         std::ranges::count_if(shape, [](std::int64_t size) { return size != 1; }) <= 1;
}

Vectors vectors_of(const VisitTensors& visit) {
  Vectors vectors;
  visit([&](const TensorView& parameter) {
    if (is_vector(parameter.shape) && is_float(parameter.dtype))
      vectors.emplace(parameter.name, to_f64(parameter));
  });
  return vectors;
}

std::vector<ComparedWeight> compare_each(const VisitTensors& visit, const Comparison& comparison) {
  std::vector<ComparedWeight> rows;
  visit([&](const TensorView& parameter) { rows.push_back(comparison.compare(parameter)); });
  return rows;
}

}  // namespace

std::vector<ComparedWeight> compare_weights(const Runner& reference, const ModelIndex& candidate) {
  const std::vector<TensorSpec> parameters = reference.parameters();
  const auto visit = [&](const TensorVisitor& visitor) {
    JoiningVisitor joining(recurrent_weights(parameters), visitor);
    reference.visit_parameters(std::ref(joining));
  };
  std::vector<std::string> vectors;
  for (const TensorSpec& parameter : parameters) {
    Shape shape;
    for (const Dim& dim : parameter.shape) shape.push_back(dim.size);
    if (is_vector(shape)) vectors.push_back(parameter.name);
  }
  const auto visit_vectors = [&](const TensorVisitor& visitor) {
    reference.visit_parameters_named(vectors, visitor);
  };
  const std::vector<WatchedTensor> leaves = leaves_of(reference);
  return compare_each(visit, Comparison(leaves, vectors_of(visit_vectors), candidate));
}

std::vector<ComparedWeight> compare_weights(const ModelIndex& reference,
                                            const ModelIndex& candidate) {
  const auto visit = [&](const TensorVisitor& visitor) {
    for (const GraphIndex& graph : reference.graphs())
      for (const auto& weight : graph.graph().initializer())
        if (dtype_of_onnx(weight.data_type())) visitor(reference.model().view(weight));
  };
  const std::vector<WatchedTensor> modules = modules_of(reference);
  return compare_each(visit, Comparison(modules, vectors_of(visit), candidate, &reference));
}

std::vector<ComparedWeight> weight_mismatches(std::span<const ComparedWeight> weights) {
  std::vector<ComparedWeight> result;
  std::ranges::copy_if(weights, std::back_inserter(result), [](const ComparedWeight& weight) {
    return weight.match == WeightMatch::differs;
  });
  return result;
}

std::vector<ComparedWeight> compare_weights(const VisitTensors& visit,
                                            std::span<const WatchedTensor> leaves,
                                            const ModelIndex& candidate) {
  return compare_each(visit, Comparison(leaves, vectors_of(visit), candidate));
}

bool are_other_weights(std::span<const ComparedWeight> weights) {
  std::size_t found = 0, foreign = 0;
  for (const ComparedWeight& weight : weights) {
    if (weight.match == WeightMatch::not_found || weight.elements < 2) continue;
    ++found;
    const bool differs =
        weight.match == WeightMatch::differs || weight.match == WeightMatch::unlike;
    if (differs && !(weight.sqnr_db >= same_weight_db)) ++foreign;
  }
  return foreign >= 2 && 2 * foreign >= found;
}

}  // namespace vernier
