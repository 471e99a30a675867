#include "vernier/analysis/weight_evidence.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "vernier/analysis/layout.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/index.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/quantization.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

constexpr double same_steps = 1.01;      // 4-bit codes that are symmetric clip by a whole step
constexpr double quantized_db = 20;      // below, a weight off by more is another weight
constexpr double float_db = 100;         // folding a batch norm in float32 leaves about 140
constexpr double unrelated_db = 0;       // below, weights of one shape have nothing in common
constexpr std::int64_t named_only = 16;  // so few elements are alike by accident
constexpr double enough_elements = 0.9;  // that have to be paired for an answer

// The axis of output channels of the weight that the node reads at `input`; -1 if it has none.
int channel_axis(const NodeProto& node, int input) {
  if (input != 1) return -1;
  if (is_op(node, "Conv")) return 0;
  if (is_op(node, "ConvTranspose")) return 1;
  if (is_op(node, "Gemm")) return attribute_int(node, "transB", 0) != 0 ? 0 : 1;
  return -1;
}

// What a batch norm multiplies each channel by.
struct ChannelScale {
  int axis = -1;
  std::vector<double> factors;
};

// One weight as a model computes with it.
struct ModelWeight {
  std::string name;
  Shape shape;  // of a float weight
  DType stored = DType::f32;
  std::optional<Quantizer> quantizer;
  std::function<Tensor()> read;      // in float32
  std::optional<ChannelScale> fold;  // of the batch norm behind its only reader
  std::vector<std::string> aliases;  // other names by which the other model may know it
};

Tensor folded(Tensor weight, const ChannelScale& scale) {
  const auto channels = static_cast<std::int64_t>(scale.factors.size());
  if (scale.axis >= std::ssize(weight.shape) || weight.shape[scale.axis] != channels) return weight;
  std::int64_t inner = 1;
  for (std::size_t i = scale.axis + 1; i < weight.shape.size(); ++i) inner *= weight.shape[i];
  const std::span<float> values = elements<float>(weight);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(values[i] *
                                   scale.factors[static_cast<std::int64_t>(i) / inner % channels]);
  return weight;
}

// Names without what quantizers append.
std::vector<std::string> stems(const std::string& name) {
  constexpr std::array<std::string_view, 5> suffixes = {
      "_DequantizeLinear_Output", "_QuantizeLinear_Output", "_quantized", "_fake_quantized", "_Q4"};
  std::vector<std::string> names = {name};
  for (const std::string_view suffix : suffixes)
    if (name.ends_with(suffix)) names.push_back(name.substr(0, name.size() - suffix.size()));
  return names;
}

// The weights of a model that have two axes or more.
class WeightList {
 public:
  // Of a candidate only what computes as a weight; any table of a reference may have become one.
  WeightList(const Model& model, bool any_table) : index_(model) {
    std::unordered_set<std::string> quantized;
    for (const QuantizedWeight& weight : find_quantization(index_).weights) {
      quantized.insert(weight.name);
      add_quantized(weight);
    }
    for (const Weight& weight : index_.weights())
      if (!quantized.contains(weight.name) && (any_table || is_read_as_weight(weight)))
        add_float(weight);
  }

  const std::vector<ModelWeight>& weights() const { return weights_; }

  // Also of quantized weights, whose shape is not always that of what is stored.
  void read_shapes() {
    for (ModelWeight& weight : weights_)
      if (weight.shape.empty()) weight.shape = weight.read().shape;
  }

 private:
  void add_quantized(const QuantizedWeight& weight) {
    ModelWeight added{.name = weight.name,
                      .stored = weight.quantizer.dtype,
                      .quantizer = weight.quantizer,
                      .read = weight.real,
                      .aliases = stems(weight.name)};
    for (std::string& alias : stems(weight.real_name)) added.aliases.push_back(std::move(alias));
    weights_.push_back(std::move(added));
  }

  void add_float(const Weight& weight) {
    const TensorProto& proto = *weight.proto;
    const auto dtype = dtype_of_onnx(proto.data_type());
    Shape shape(proto.dims().begin(), proto.dims().end());
    if (!dtype || !is_float(*dtype) || shape.size() < 2 || element_count(shape) == 0) return;
    weights_.push_back({.name = weight.name,
                        .shape = std::move(shape),
                        .stored = *dtype,
                        .read = [&model = index_.model(),
                                 &proto] { return convert(model.view(proto), DType::f32); },
                        .fold = fold_behind(*weight.graph, weight.name),
                        .aliases = {weight.name}});
  }

  // Scales, masks and tables that shapes are made of are none.
  static bool is_read_as_weight(const Weight& weight) {
    constexpr std::array<std::string_view, 13> ops = {
        "Conv", "ConvTranspose", "Gemm", "MatMul", "Gather", "LSTM", "GRU",
        "RNN",  "Transpose",     "Cast", "If",     "Loop",   "Scan"};
    return std::ranges::any_of(weight.graph->consumers(weight.name), [&](const NodeProto* reader) {
      return std::ranges::find(ops, reader->op_type()) != ops.end();
    });
  }

  // Of the batch norm that alone reads what the weight's only reader writes.
  std::optional<ChannelScale> fold_behind(const GraphIndex& index, const std::string& name) const {
    const auto readers = index.consumers(name);
    if (readers.size() != 1 || readers[0]->output_size() == 0) return std::nullopt;
    const auto at = std::ranges::find(readers[0]->input(), name);
    const int axis = channel_axis(*readers[0], static_cast<int>(at - readers[0]->input().begin()));
    const auto next = index.consumers(readers[0]->output(0));
    if (axis < 0 || next.size() != 1 || !is_op(*next[0], "BatchNormalization")) return std::nullopt;
    const NodeProto& norm = *next[0];
    const TensorProto* scale = norm.input_size() == 5 ? index.initializer(norm.input(1)) : nullptr;
    const TensorProto* variance = scale ? index.initializer(norm.input(4)) : nullptr;
    if (!variance) return std::nullopt;
    ChannelScale fold{axis, to_f64(index_.model().tensor(*scale))};
    const std::vector<double> variances = to_f64(index_.model().tensor(*variance));
    const double epsilon = attribute_float(norm, "epsilon", 1e-5F);
    if (variances.size() != fold.factors.size()) return std::nullopt;
    for (std::size_t i = 0; i < variances.size(); ++i)
      fold.factors[i] /= std::sqrt(variances[i] + epsilon);
    return fold;
  }

  ModelIndex index_;
  std::vector<ModelWeight> weights_;
};

// The largest |reference - candidate| / scale.
double largest_steps(const TensorView& reference, const TensorView& candidate,
                     const Quantizer& quantizer) {
  const std::vector<double> scales = to_f64(quantizer.scale);
  const std::span<const float> expected = elements<float>(reference);
  const std::span<const float> found = elements<float>(candidate);
  const auto largest_of = [&](const auto& scale_of) {
    double largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double steps = std::abs(double{expected[i]} - found[i]) / scale_of(i);
      if (!(steps <= largest)) largest = steps;
    }
    return largest;
  };
  if (scales.size() == 1)
    return largest_of([scale = std::abs(scales[0])](std::size_t) { return scale; });
  if (!ScaleIndex::fits(candidate.shape, quantizer)) return INFINITY;
  return largest_of([&, index = ScaleIndex(candidate.shape, quantizer)](std::size_t i) {
    return std::abs(scales[index(static_cast<std::int64_t>(i))]);
  });
}

// The largest difference in units in the last place of a half type, whose smallest is `subnormal`.
double largest_half_steps(const TensorView& reference, const TensorView& candidate, DType dtype) {
  const int bits = dtype == DType::f16 ? 10 : 7;
  const double subnormal = dtype == DType::f16 ? 0x1p-24 : 0x1p-133;
  const std::span<const float> expected = elements<float>(reference);
  const std::span<const float> found = elements<float>(candidate);
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    int exponent = 0;
    std::frexp(expected[i], &exponent);
    const double unit = std::max(subnormal, std::ldexp(1.0, exponent - 1 - bits));
    const double steps = std::abs(double{expected[i]} - found[i]) / unit;
    if (!(steps <= largest)) largest = steps;
  }
  return largest;
}

std::vector<std::vector<int>> axis_orders(const Shape& from, const Shape& to) {
  std::vector<int> order(from.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders;
  do {
    bool fits = true;
    for (std::size_t i = 0; i < order.size() && fits; ++i) fits = from[order[i]] == to[i];
    if (fits) orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

Shape squeezed(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

// The same numbers in some order.
bool shapes_fit(const Shape& first, const Shape& second) {
  Shape a = squeezed(first), b = squeezed(second);
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

PairedWeight compare_values(PairedWeight row, const TensorView& reference,
                            const TensorView& candidate, const ModelWeight& weight) {
  row.sqnr_db = sqnr_db(measure_noise(reference, candidate));
  if (weight.quantizer && is_integer(weight.quantizer->dtype)) {
    row.steps = largest_steps(reference, candidate, *weight.quantizer);
    row.same = *row.steps <= same_steps || row.sqnr_db >= quantized_db;
  } else if (weight.stored == DType::f16 || weight.stored == DType::bf16) {
    row.same = largest_half_steps(reference, candidate, weight.stored) <= 1;
  } else {
    row.same = row.sqnr_db >= (weight.quantizer ? quantized_db : float_db);
  }
  return row;
}

bool is_better(const PairedWeight& row, const PairedWeight& than) {
  if (row.same != than.same) return row.same;
  return row.sqnr_db > than.sqnr_db;
}

// With the reference's axes in every order that gives the candidate's shape.
PairedWeight best_order(const PairedWeight& row, const Tensor& reference, const Tensor& candidate,
                        const ModelWeight& weight) {
  PairedWeight best = row;
  best.sqnr_db = -INFINITY;
  const Shape shape = squeezed(reference.shape);
  for (const auto& order : axis_orders(shape, squeezed(candidate.shape))) {
    TensorView ordered{reference.name, reference.dtype, shape, reference.bytes};
    Tensor permuted;
    if (!std::ranges::is_sorted(order)) {
      permuted = permute_axes(ordered, order);
      ordered = permuted;
    }
    ordered.shape = candidate.shape;
    const PairedWeight found = compare_values(row, ordered, candidate, weight);
    if (is_better(found, best)) best = found;
    if (best.same) break;
  }
  return best;
}

// As stored, and with the batch norm of either side folded in.
PairedWeight compare_pair(const ModelWeight& reference, const ModelWeight& candidate,
                          const Tensor& real) {
  const PairedWeight row{
      .candidate = candidate.name, .reference = reference.name, .elements = real.size()};
  const Tensor stored = reference.read();
  PairedWeight best = best_order(row, stored, real, candidate);
  if (!best.same && reference.fold) {
    const PairedWeight found = best_order(row, folded(stored, *reference.fold), real, candidate);
    if (is_better(found, best)) best = found;
  }
  if (!best.same && candidate.fold && !candidate.quantizer) {
    const PairedWeight found = best_order(row, stored, folded(real, *candidate.fold), candidate);
    if (is_better(found, best)) best = found;
  }
  return best;
}

double norm(const Tensor& weight) {
  return std::sqrt(measure_noise(weight, weight).reference_squares);
}

class Pairing {
 public:
  explicit Pairing(const std::vector<ModelWeight>& reference)
      : reference_(reference), norms_(reference.size()) {
    for (std::size_t i = 0; i < reference.size(); ++i)
      for (const std::string& name : reference[i].aliases) by_name_.emplace(name, i);
  }

  // Names first, for all weights: what remains free is searched by shape.
  std::vector<PairedWeight> pair(const std::vector<ModelWeight>& candidate) {
    std::vector<PairedWeight> rows;
    std::vector<const ModelWeight*> weights;
    for (const ModelWeight& weight : candidate) {
      const Tensor real = weight.read();
      if (real.shape.size() < 2 || real.size() == 0) continue;
      rows.push_back(by_name(weight, real));
      weights.push_back(&weight);
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!rows[i].same && rows[i].elements >= named_only) by_shape(*weights[i], rows[i]);
    return rows;
  }

 private:
  PairedWeight by_name(const ModelWeight& weight, const Tensor& real) {
    PairedWeight row{.candidate = weight.name, .elements = real.size(), .sqnr_db = -INFINITY};
    for (const std::string& name : weight.aliases) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) continue;
      const ModelWeight& reference = reference_[found->second];
      if (!shapes_fit(reference.shape, real.shape)) continue;
      row = compare_pair(reference, weight, real);
      if (row.same) taken_.insert(found->second);
      break;
    }
    return row;
  }

  // Takes the free weight that is the same; where there is none and no name says otherwise, one
  // that is nothing like it shows that the two are different, and one that is something like it
  // nothing at all.
  void by_shape(const ModelWeight& weight, PairedWeight& row) {
    const Tensor real = weight.read();
    std::optional<PairedWeight> unlike;
    for (std::size_t i = 0; i < reference_.size(); ++i) {
      if (taken_.contains(i) || !shapes_fit(reference_[i].shape, real.shape)) continue;
      if (unlike && !may_be_same(i, real)) continue;
      const PairedWeight found = compare_pair(reference_[i], weight, real);
      if (found.same) {
        taken_.insert(i);
        row = found;
        return;
      }
      if (!unlike || is_better(found, *unlike)) unlike = found;
    }
    if (row.reference.empty() && unlike && unlike->sqnr_db < unrelated_db) row = *unlike;
  }

  // Rounding hardly changes the norm, and no order of the axes does.
  bool may_be_same(std::size_t reference, const Tensor& real) {
    if (reference_[reference].fold) return true;
    std::optional<double>& expected = norms_[reference];
    if (!expected) expected = norm(reference_[reference].read());
    const double ratio = norm(real) / *expected;
    return ratio > 0.7 && ratio < 1.4;
  }

  const std::vector<ModelWeight>& reference_;
  std::vector<std::optional<double>> norms_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_set<std::size_t> taken_;
};

std::size_t largest(const std::vector<PairedWeight>& weights) {
  return std::ranges::max_element(weights, {}, &PairedWeight::elements) - weights.begin();
}

}  // namespace

std::string_view answer_name(WeightEvidence::Answer answer) {
  switch (answer) {
    case WeightEvidence::Answer::same: return "same";
    case WeightEvidence::Answer::different: return "different";
    case WeightEvidence::Answer::unknown: return "unknown";
  }
  return "";
}

WeightEvidence compare_weights_of(const Model& reference, const Model& candidate) {
  const WeightList candidates(candidate, false);
  WeightList references(reference, true);
  references.read_shapes();
  WeightEvidence evidence{.weights = Pairing(references.weights()).pair(candidates.weights()),
                          .worst_db = INFINITY};
  double all = 0, same = 0;
  for (std::size_t i = 0; i < evidence.weights.size(); ++i) {
    const PairedWeight& row = evidence.weights[i];
    all += static_cast<double>(row.elements);
    if (row.reference.empty()) continue;
    ++evidence.paired;
    if (row.same) {
      same += static_cast<double>(row.elements);
      evidence.worst_db = std::min(evidence.worst_db, row.sqnr_db);
      if (row.steps) evidence.worst_steps = std::max(evidence.worst_steps.value_or(0), *row.steps);
    } else if (!evidence.most_different ||
               row.sqnr_db < evidence.weights[*evidence.most_different].sqnr_db) {
      evidence.most_different = i;
    }
  }
  using Answer = WeightEvidence::Answer;
  // Two models that are the same network have some weight in common.
  if (same == 0 && evidence.weights.size() > 1 && references.weights().size() > 1)
    evidence.most_different = largest(evidence.weights);
  if (evidence.most_different)
    evidence.answer = Answer::different;
  else if (same > 0 && same >= enough_elements * all)
    evidence.answer = Answer::same;
  return evidence;
}

}  // namespace vernier
