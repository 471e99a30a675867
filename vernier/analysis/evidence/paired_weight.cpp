#include "vernier/analysis/evidence/paired_weight.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "vernier/analysis/compare/layout.h"
#include "vernier/analysis/evidence/model_weights.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/data/input_shape.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

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

// Whether both models store a kernel of one shape, which they can only read in the same axis order.
bool is_same_kernel(const ModelWeight& reference, const ModelWeight& candidate,
                    const Tensor& real) {
  return candidate.convolves && !reference.transposes && real.shape.size() > 2 &&
         reference.shape == real.shape;
}

// The axis order in which both models multiply alike by a square matrix; nullopt if not known.
std::optional<std::vector<int>> known_order(const ModelWeight& reference,
                                            const ModelWeight& candidate, const Tensor& real) {
  if (!is_square(reference.shape) || !is_square(real.shape) || !reference.output_axis ||
      !candidate.output_axis)
    return std::nullopt;
  const bool swapped = *reference.output_axis != *candidate.output_axis;
  return swapped ? std::vector{1, 0} : std::vector{0, 1};
}

PairedWeight nearest_form(const ModelWeight& reference, const ModelWeight& candidate,
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

}  // namespace

bool shapes_fit(const Shape& first, const Shape& second) {
  Shape a = squeezed(first), b = squeezed(second);
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

bool is_better(const PairedWeight& row, const PairedWeight& than) {
  if (row.same != than.same) return row.same;
  return row.sqnr_db > than.sqnr_db;
}

bool is_certain(const PairedWeight& row) { return row.same && row.is_rounded(); }

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
    row.same = row.sqnr_db >= rounding_db;
  }
  const double least_db =
      is_coded && bits(weight.quantizer->dtype) <= 4 ? same_coarse_weight_db : same_weight_db;
  const bool is_rounded = weight.quantizer || rounded_reference;
  if (row.same || !is_rounded || !(row.sqnr_db >= least_db)) return row;
  row.other_channel = find_other_channel(reference, candidate, weight.quantizer, least_db);
  row.same = !row.other_channel;
  if (row.same && is_coded && bits(weight.quantizer->dtype) > 4)
    row.factor = common_scale(reference, candidate, *weight.quantizer);
  return row;
}

void visit_forms(const ModelWeight& reference, const ModelWeight& candidate, const Tensor& real,
                 const std::optional<std::vector<int>>& order, const VisitForm& visit) {
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
                          const Tensor& real) {
  if (is_same_kernel(reference, candidate, real)) {
    std::vector<int> as_stored(squeezed(real.shape).size());
    std::iota(as_stored.begin(), as_stored.end(), 0);
    return nearest_form(reference, candidate, real, as_stored);
  }
  const auto order = known_order(reference, candidate, real);
  const PairedWeight best = nearest_form(reference, candidate, real, order);
  if (best.same || !order) return best;
  PairedWeight transposed = nearest_form(reference, candidate, real, std::nullopt);
  transposed.transposed = transposed.same;
  return transposed;
}

}  // namespace vernier
