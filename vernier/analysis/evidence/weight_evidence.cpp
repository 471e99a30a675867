#include "vernier/analysis/evidence/weight_evidence.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "vernier/analysis/compare/layout.h"
#include "vernier/analysis/evidence/channel_factors.h"
#include "vernier/analysis/evidence/joined_weights.h"
#include "vernier/analysis/evidence/model_weights.h"
#include "vernier/analysis/evidence/other_channel.h"
#include "vernier/analysis/evidence/recurrent_weights.h"
#include "vernier/data/input_shape.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

constexpr double quantized_db = 20;  // a weight off by more than a step is the same from here on
// For 4 bits: scales by output error and error feedback leave 17 dB or more, a scale x1.5 6 dB.
constexpr double coarse_db = 12;
// Branches of one network may have weights that are 20 dB alike; from here on, it is a changed one.
constexpr double changed_db = 35;
// A weight that was rounded to half precision more than once is more like the original than this.
constexpr double rounded_twice_db = 60;
constexpr double equalised_db = 30;      // of an 8-bit weight once its channels are scaled back
constexpr double float_db = 100;         // folding a batch norm in float32 leaves about 140
constexpr double least_scaling = 0.03;   // |factor - 1|; other range ends give 0.008
constexpr double unrelated_db = 0;       // below, weights of one shape have nothing in common
constexpr std::int64_t named_only = 16;  // fewer elements may agree by accident
constexpr double enough_elements = 0.9;  // share that has to be the same for Answer::same

// The weight with its output channels multiplied by the factors; unchanged if the counts differ. In
// a grouped transposed convolution the channels lie along axis 1, group by group along axis 0.
Tensor folded(Tensor weight, const ChannelScale& scale) {
  if (scale.axis >= std::ssize(weight.shape) || weight.size() == 0) return weight;
  const auto axis = weight.shape.begin() + scale.axis;
  const auto outer = element_count({weight.shape.begin(), axis});
  const auto inner = element_count({axis + 1, weight.shape.end()});
  const std::int64_t groups = std::ssize(scale.factors) / *axis;
  if (groups * *axis != std::ssize(scale.factors) || groups == 0 || outer % groups != 0)
    return weight;
  const std::span<float> values = elements<float>(weight);
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const std::int64_t group = i / (inner * *axis) / (outer / groups);
    values[i] = static_cast<float>(values[i] * scale.factors[group * *axis + i / inner % *axis]);
  }
  return weight;
}

// The factor f, clearly not 1, if candidate = f * reference within rounding; nullopt otherwise.
std::optional<double> common_scale(const TensorView& reference, const TensorView& candidate,
                                   const Quantizer& quantizer) {
  const std::span<const float> expected = elements<float>(reference);
  const std::span<const float> found = elements<float>(candidate);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    products += double{expected[i]} * found[i];
    squares += double{expected[i]} * expected[i];
  }
  const double factor = products / squares;
  if (!(std::abs(factor - 1) > least_scaling)) return std::nullopt;
  if (largest_steps(reference, candidate, quantizer, factor) > rounded_steps) return std::nullopt;
  return factor;
}

// Max |difference| in units in the last place of a half type; infinity if it is NaN. Tiny values
// have a unit of twice the smallest subnormal, since converters raise nonzero values to 1e-7.
double largest_half_steps(const TensorView& reference, const TensorView& candidate, DType dtype) {
  const int bits = dtype == DType::f16 ? 10 : 7;
  const double subnormal = dtype == DType::f16 ? 0x1p-24 : 0x1p-133;
  const std::span<const float> expected = elements<float>(reference);
  const std::span<const float> found = elements<float>(candidate);
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    int exponent = 0;
    std::frexp(expected[i], &exponent);
    const double least = std::abs(expected[i]) < 2 * subnormal ? 2 * subnormal : subnormal;
    const double unit = std::max(least, std::ldexp(1.0, exponent - 1 - bits));
    const double steps = std::abs(double{expected[i]} - found[i]) / unit;
    if (std::isnan(steps)) return INFINITY;
    largest = std::max(largest, steps);
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

// Whether the dimensions other than 1 are the same, in any order.
bool shapes_fit(const Shape& first, const Shape& second) {
  Shape a = squeezed(first), b = squeezed(second);
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

// A quantized weight that is similar, but off by more than rounding, has to be similar in each
// channel: a wrong or lost channel hardly shows in the SQNR of a large weight.
PairedWeight compare_values(PairedWeight row, const TensorView& reference,
                            const TensorView& candidate, const ModelWeight& weight,
                            bool rounded_reference) {
  row.sqnr_db = sqnr_db(measure_noise(reference, candidate));
  row.other_channel.reset();
  row.factor.reset();
  const bool is_coded = weight.quantizer && is_integer(weight.quantizer->dtype);
  if (is_coded) {
    row.steps = largest_steps(reference, candidate, *weight.quantizer);
    row.same = *row.steps <= rounded_steps;
  } else if (weight.stored == DType::f16 || weight.stored == DType::bf16) {
    row.same = largest_half_steps(reference, candidate, weight.stored) <= 1;
    return row;
  } else {
    row.same = row.sqnr_db >= float_db;
  }
  const double least_db = is_coded && bits(weight.quantizer->dtype) <= 4 ? coarse_db : quantized_db;
  const bool is_rounded = weight.quantizer || rounded_reference;
  if (row.same || !is_rounded || !(row.sqnr_db >= least_db)) return row;
  row.other_channel = find_other_channel(reference, candidate, weight.quantizer, least_db);
  row.same = !row.other_channel;
  if (row.same && is_coded && bits(weight.quantizer->dtype) > 4)
    row.factor = common_scale(reference, candidate, *weight.quantizer);
  return row;
}

bool is_better(const PairedWeight& row, const PairedWeight& than) {
  if (row.same != than.same) return row.same;
  return row.sqnr_db > than.sqnr_db;
}

// Whether no other form can be nearer. A weight that is only similar may be nearer with a fold.
bool is_certain(const PairedWeight& row) {
  return row.same && (!row.steps || *row.steps <= rounded_steps);
}

// Calls visit with the weight's axes in every order that gives the wanted shape, or only in the
// `known` order, until visit returns true. Returns whether it did.
template <typename Visit>
bool visit_orders(const Tensor& weight, const Shape& wanted,
                  const std::optional<std::vector<int>>& known, const Visit& visit) {
  const Shape shape = squeezed(weight.shape);
  for (const auto& order : axis_orders(shape, squeezed(wanted))) {
    if (known && order != *known) continue;
    TensorView ordered{weight.name, weight.dtype, shape, weight.bytes};
    Tensor permuted;
    if (!std::ranges::is_sorted(order)) {
      permuted = permute_axes(ordered, order);
      ordered = permuted;
    }
    ordered.shape = wanted;
    if (visit(ordered)) return true;
  }
  return false;
}

bool is_square(const Shape& shape) { return shape.size() == 2 && shape[0] == shape[1]; }

// The axis order in which both models multiply alike by a square matrix; nullopt if not known.
std::optional<std::vector<int>> known_order(const ModelWeight& reference,
                                            const ModelWeight& candidate, const Tensor& real) {
  if (!is_square(reference.shape) || !is_square(real.shape) || !reference.output_axis ||
      !candidate.output_axis)
    return std::nullopt;
  const bool swapped = *reference.output_axis != *candidate.output_axis;
  return swapped ? std::vector{1, 0} : std::vector{0, 1};
}

// Calls visit(reference, candidate, fold) with every form in which the two may be the same, until
// it returns true: as stored, with the operators behind either layer folded in, and with the kernel
// flipped.
template <typename Visit>
void visit_forms(const ModelWeight& reference, const ModelWeight& candidate, const Tensor& real,
                 const std::optional<std::vector<int>>& order, const Visit& visit) {
  const Tensor stored = reference.read();
  const auto visit_against = [&](const Tensor& weight, const Tensor& found,
                                 const ChannelScale* fold = nullptr) {
    return visit_orders(weight, found.shape, order,
                        [&](const TensorView& ordered) { return visit(ordered, found, fold); });
  };
  if (visit_against(stored, real)) return;
  for (const ChannelScale& fold : reference.folds)
    if (visit_against(folded(copy(stored.view()), fold), real, &fold)) return;
  if (!candidate.quantizer)
    for (const ChannelScale& fold : candidate.folds)
      if (visit_against(stored, folded(copy(real.view()), fold))) return;
  if (reference.transposes != candidate.transposes && stored.shape.size() > 2)
    visit_against(flip_kernel(stored), real);
}

PairedWeight compare_pair(const ModelWeight& reference, const ModelWeight& candidate,
                          const Tensor& real, const std::optional<std::vector<int>>& order) {
  const PairedWeight row{.candidate = candidate.name,
                         .reference = reference.name,
                         .elements = real.size(),
                         .sqnr_db = -INFINITY};
  PairedWeight best = row;
  visit_forms(reference, candidate, real, order,
              [&](const TensorView& expected, const Tensor& found, const ChannelScale*) {
                const PairedWeight compared = compare_values(row, expected, found, candidate,
                                                             reference.quantizer.has_value());
                if (is_better(compared, best)) best = compared;
                return is_certain(best);
              });
  return best;
}

// In the axis order that the readers need, if known; if the weights differ in it, in any order.
PairedWeight compare_pair(const ModelWeight& reference, const ModelWeight& candidate,
                          const Tensor& real) {
  const auto order = known_order(reference, candidate, real);
  const PairedWeight best = compare_pair(reference, candidate, real, order);
  if (best.same || !order) return best;
  PairedWeight transposed = compare_pair(reference, candidate, real, std::nullopt);
  transposed.transposed = transposed.same;
  return transposed;
}

// The layer's bias with `fold` applied; nullopt if it has none or it is unknown.
std::optional<Tensor> float_bias(const ModelWeight& reference, const ChannelScale* fold) {
  std::vector<double> values = reference.bias;
  if (fold) {
    if (fold->shifts.empty()) return std::nullopt;
    values.resize(fold->shifts.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = values[i] * fold->factors[i] + fold->shifts[i];
  }
  if (values.empty()) return std::nullopt;
  Tensor bias = make_tensor("", DType::f32, {std::ssize(values)});
  std::ranges::transform(values, elements<float>(bias).begin(),
                         [](double value) { return static_cast<float>(value); });
  return bias;
}

bool leaves_weights(const ChannelScale& fold) {
  return std::ranges::all_of(fold.factors, [](double factor) { return factor == 1; });
}

bool is_uniform(const ChannelScale& fold) {
  return std::ranges::adjacent_find(fold.factors, std::not_equal_to{}) == fold.factors.end();
}

// The biases that may go with a weight after `fold`. A later Add does not change the weight, so it
// may be folded into the bias as well.
std::vector<Tensor> float_biases(const ModelWeight& reference, const ChannelScale* fold) {
  std::vector<Tensor> biases;
  if (auto bias = float_bias(reference, fold)) biases.push_back(*std::move(bias));
  const std::size_t behind = fold ? fold - reference.folds.data() + 1 : 0;
  for (const ChannelScale& next : std::span(reference.folds).subspan(behind)) {
    if (!(fold ? next.factors == fold->factors : leaves_weights(next))) break;
    if (auto bias = float_bias(reference, &next)) biases.push_back(*std::move(bias));
  }
  return biases;
}

// The form of the reference's weight that is nearest; nullopt if none is the same.
std::optional<FloatWeight> same_form(const ModelWeight& reference, const ModelWeight& candidate) {
  std::optional<FloatWeight> same;
  PairedWeight best{.sqnr_db = -INFINITY};
  visit_forms(reference, candidate, candidate.read(), std::nullopt,
              [&](const TensorView& expected, const Tensor& found, const ChannelScale* fold) {
                const PairedWeight compared =
                    compare_values({}, expected, found, candidate, reference.quantizer.has_value());
                if (!compared.same || !is_better(compared, best)) return false;
                best = compared;
                same = FloatWeight{copy(expected), float_biases(reference, fold)};
                return is_certain(best);
              });
  return same;
}

// The SQNR below which a similar weight without a name was changed; -infinity if it cannot be told.
double most_changed_db(DType stored) {
  if (stored == DType::f32) return INFINITY;
  return stored == DType::f16 ? rounded_twice_db : -INFINITY;
}

double norm(const Tensor& weight) {
  return std::sqrt(measure_noise(weight, weight).reference_squares);
}

class Pairing {
 public:
  // `shapes_tell`: a weight without a name that is unlike all of its shape proves a difference.
  Pairing(const std::vector<ModelWeight>& reference, bool shapes_tell)
      : reference_(reference),
        shapes_tell_(shapes_tell),
        joined_(reference),
        norms_(reference.size()) {
    for (std::size_t i = 0; i < reference.size(); ++i)
      for (const std::string& name : reference[i].aliases) by_name_.emplace(name, i);
  }

  // By name first, for all weights; then by shape, among those that are left.
  std::vector<PairedWeight> pair(const std::vector<ModelWeight>& candidate) {
    std::vector<PairedWeight> rows;
    std::vector<const ModelWeight*> weights;
    for (const ModelWeight& weight : candidate) {
      const Tensor real = weight.read();
      if (real.shape.size() < 2 || real.size() == 0) continue;
      rows.push_back(weight.is_blocked ? unpaired(weight, real) : by_name(weight, real));
      weights.push_back(&weight);
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!rows[i].same && !weights[i]->is_blocked && rows[i].elements >= named_only)
        by_shape(*weights[i], rows[i]);
    return rows;
  }

 private:
  static PairedWeight unpaired(const ModelWeight& weight, const Tensor& real) {
    return {.candidate = weight.name, .elements = real.size(), .sqnr_db = -INFINITY};
  }

  PairedWeight by_name(const ModelWeight& weight, const Tensor& real) {
    PairedWeight row = unpaired(weight, real);
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

  // Takes an unpaired weight that is the same, or several that an optimiser joined. If there is
  // none, and none of its name, the nearest one decides: if unrelated, the models differ; if very
  // similar, the weight was changed; anything in between proves nothing.
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
    if (!row.reference.empty()) return;
    if (auto joined = joined_pair(weight, real)) {
      row = *std::move(joined);
      return;
    }
    if (!unlike) row = second_copy(weight, real).value_or(row);
    if (shapes_tell_ && unlike && unlike->sqnr_db < unrelated_db) row = *unlike;
    // Only the weight that it was changed from is so much like it.
    const bool is_changed =
        unlike && unlike->sqnr_db >= changed_db && unlike->sqnr_db < most_changed_db(weight.stored);
    if (is_changed || (unlike && unlike->other_channel)) row = *unlike;
  }

  std::optional<PairedWeight> joined_pair(const ModelWeight& weight, const Tensor& real) {
    const auto found = joined_.find(weight, real, taken_);
    if (!found) return std::nullopt;
    PairedWeight row = unpaired(weight, real);
    bool is_rounded = false;
    for (const std::size_t part : found->parts) {
      row.reference += (row.reference.empty() ? "" : ", ") + reference_[part].name;
      is_rounded |= reference_[part].quantizer.has_value();
    }
    row = compare_values(std::move(row), found->weight, real, weight, is_rounded);
    if (!row.same) return std::nullopt;
    taken_.insert(found->parts.begin(), found->parts.end());
    return row;
  }

  // Pairs the weight with a reference weight that is already paired: a model may store tied weights
  // twice.
  std::optional<PairedWeight> second_copy(const ModelWeight& weight, const Tensor& real) {
    for (std::size_t i = 0; i < reference_.size(); ++i) {
      if (!taken_.contains(i) || !shapes_fit(reference_[i].shape, real.shape) ||
          !may_be_same(i, real))
        continue;
      if (PairedWeight found = compare_pair(reference_[i], weight, real); found.same) return found;
    }
    return std::nullopt;
  }

  // Rounding hardly changes the norm, and an axis order does not change it at all; a fold with one
  // factor for all channels multiplies it.
  bool may_be_same(std::size_t reference, const Tensor& real) {
    const std::vector<ChannelScale>& folds = reference_[reference].folds;
    if (!std::ranges::all_of(folds, is_uniform)) return true;
    std::optional<double>& expected = norms_[reference];
    if (!expected) expected = norm(reference_[reference].read());
    const double ratio = norm(real) / *expected;
    const auto fits = [&](double factor) { return ratio > 0.7 * factor && ratio < 1.4 * factor; };
    return fits(1) || std::ranges::any_of(folds, [&](const ChannelScale& fold) {
             return !fold.factors.empty() && fits(std::abs(fold.factors[0]));
           });
  }

  const std::vector<ModelWeight>& reference_;
  bool shapes_tell_;
  JoinedWeights joined_;
  std::vector<std::optional<double>> norms_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_set<std::size_t> taken_;
};

std::size_t largest(const std::vector<PairedWeight>& weights) {
  return std::ranges::max_element(weights, {}, &PairedWeight::elements) - weights.begin();
}

// A pair that is the same once the reference's channels are multiplied by the factors.
struct ScaledPair {
  PairedWeight row;
  ChannelFactors factors;
};

// With factors(reference, candidate); nullopt if these do not make the pair the same.
template <typename Factors>
std::optional<ScaledPair> scaled_pair(const PairedWeight& row, const ModelWeight& reference,
                                      const ModelWeight& candidate, const Factors& factors) {
  std::optional<ScaledPair> scaled;
  visit_forms(reference, candidate, candidate.read(), std::nullopt,
              [&](const TensorView& expected, const Tensor& real, const ChannelScale*) {
                auto found = factors(expected, TensorView(real));
                if (!found) return false;
                PairedWeight compared =
                    compare_values(row, times(expected, *found), real, candidate, false);
                if (compared.other_channel || !(compared.sqnr_db >= equalised_db)) return false;
                compared.same = compared.equalised = true;
                scaled = {compared, *std::move(found)};
                return true;
              });
  return scaled;
}

bool differs(const PairedWeight& row) { return !row.same && !row.reference.empty(); }

// Weights that differ are the same after all if factors for their channels explain each of them and
// these factors cancel between the weights. With `much_alike`, weights that are the same only by
// their SQNR are explained too, if the factors leave no more than rounding.
void settle_equalised(std::vector<PairedWeight>& rows, const std::vector<ModelWeight>& references,
                      const std::vector<ModelWeight>& candidates, bool much_alike) {
  std::vector<PairedWeight> settled = rows;
  std::vector<ChannelFactors> factors;
  const auto settle = [&](const auto& factors_of) {
    bool all = true;
    for (PairedWeight& row : settled) {
      if (is_certain(row) || row.equalised || row.reference.empty()) continue;
      if (row.same && !much_alike) continue;
      const auto from = std::ranges::find(references, row.reference, &ModelWeight::name);
      const auto to = std::ranges::find(candidates, row.candidate, &ModelWeight::name);
      if (from == references.end()) continue;  // several that are one in the candidate
      auto scaled = scaled_pair(row, *from, *to, factors_of);
      if (row.same && scaled && !(*scaled->row.steps <= rounded_steps)) continue;
      all = all && (scaled || row.same);
      if (!scaled) continue;
      row = std::move(scaled->row);
      factors.push_back(std::move(scaled->factors));
    }
    return all;
  };
  bool all = settle(channel_factors);
  for (const std::size_t axis : {1, 0})  // small weights take the factors that cancel the others'
    all = all || settle([&](const TensorView& reference, const TensorView& candidate) {
            return cancelling_factors(factors, reference, candidate, axis);
          });
  if (all && are_equalised(factors)) rows = std::move(settled);
}

// A weight that was multiplied as a whole differs, unless another changed weight may cancel the
// factor.
void settle_scaled(std::vector<PairedWeight>& rows) {
  double product = 1;
  for (const PairedWeight& row : rows)
    if (row.factor) product *= *row.factor;
  const bool may_be_undone = std::ranges::any_of(rows, [](const PairedWeight& row) {
    return row.same && !row.factor && (row.equalised || !is_certain(row));
  });
  if (may_be_undone || std::abs(product - 1) <= least_scaling) return;
  for (PairedWeight& row : rows) row.same = row.same && !row.factor;
}

std::map<std::string, FloatWeight> same_forms(const std::vector<ModelWeight>& references,
                                              const std::vector<ModelWeight>& candidates,
                                              const WeightEvidence& evidence) {
  std::map<std::string, FloatWeight> found;
  for (const PairedWeight& row : evidence.weights) {
    const auto from = std::ranges::find(references, row.reference, &ModelWeight::name);
    const auto to = std::ranges::find(candidates, row.candidate, &ModelWeight::name);
    if (!row.same || row.equalised || from == references.end() || to == candidates.end()) continue;
    if (auto weight = same_form(*from, *to)) found.emplace(row.candidate, *std::move(weight));
  }
  return found;
}

// How many nodes compute with each stored weight.
std::map<std::string, int> readers_of_weights(const ModelIndex& model) {
  std::map<std::string, int> readers;
  for (const GraphIndex& graph : model.graphs())
    for (const vernier_onnx::NodeProto& node : graph.graph().node()) {
      if (is_op(node, "DequantizeLinear") || is_op(node, "Transpose") || is_op(node, "Cast"))
        continue;
      for (const std::string& input : node.input())
        if (const WeightSource source = graph.weight_source(input))
          ++readers[source.stored->name()];
    }
  return readers;
}

// Removes the biases of weights that several nodes read or that are equal: it is unknown which call
// of a module each node is, and each call may add another bias.
void forget_shared_biases(std::map<std::string, FloatWeight>& weights,
                          const ModelIndex& candidate) {
  const std::map<std::string, int> readers = readers_of_weights(candidate);
  std::map<std::string_view, std::string> seen;  // by content
  for (auto& [name, weight] : weights) {
    const auto found = readers.find(name);
    if (found != readers.end() && found->second > 1) weight.biases.clear();
    const std::vector<std::byte>& bytes = weight.weight.bytes;
    const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto [first, is_new] = seen.emplace(content, name);
    if (is_new) continue;
    weight.biases.clear();
    weights.at(first->second).biases.clear();
  }
}

WeightEvidence compare(const std::vector<ModelWeight>& references,
                       const std::vector<ModelWeight>& candidates, bool shapes_tell) {
  WeightEvidence evidence{.weights = Pairing(references, shapes_tell).pair(candidates),
                          .worst_db = INFINITY};
  for (const bool much_alike : {false, true})
    if (std::ranges::any_of(evidence.weights, differs))
      settle_equalised(evidence.weights, references, candidates, much_alike);
  settle_scaled(evidence.weights);
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
  if (same == 0 && evidence.weights.size() > 1 && references.size() > 1 &&
      std::ranges::none_of(candidates, &ModelWeight::is_blocked))
    evidence.most_different = largest(evidence.weights);
  if (evidence.most_different)
    evidence.answer = Answer::different;
  else if (same > 0 && same >= enough_elements * all)
    evidence.answer = Answer::same;
  return evidence;
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
  const ModelIndex reference_index(reference), candidate_index(candidate);
  std::vector<ModelWeight> references = weights_of(reference_index, true);
  for (ModelWeight& weight : references)  // the stored codes of a quantized one may have another
    if (weight.shape.empty()) weight.shape = weight.read().shape;
  return compare(references, weights_of(candidate_index, false), true);
}

std::optional<WeightEvidence> compare_weights_of(const Runner& reference, const Model& candidate) {
  const std::vector<ModelWeight> references = parameters_of(reference);
  if (references.empty()) return std::nullopt;
  const ModelIndex index(candidate);
  std::vector<ModelWeight> candidates = weights_of(index, false);
  const auto names = recurrent_names(index);
  for (ModelWeight& weight : candidates)
    if (const auto name = names.find(weight.name); name != names.end())
      weight.aliases.push_back(name->second);
  return compare(references, candidates, false);
}

std::map<std::string, FloatWeight> float_weights_of(const FloatReference& reference,
                                                    const ModelIndex& candidate,
                                                    const WeightEvidence& evidence) {
  const std::vector<ModelWeight> candidates = weights_of(candidate, false);
  if (reference.model) return same_forms(weights_of(*reference.model, true), candidates, evidence);
  if (!reference.runner) return {};
  auto found = same_forms(parameters_of(*reference.runner), candidates, evidence);
  forget_shared_biases(found, candidate);
  return found;
}

}  // namespace vernier
