#include "vernier/analysis/pairing/weight_counterpart.h"

#include <algorithm>
#include <cmath>

#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/blocks.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

// Elements that are compared to tell a square matrix from its transpose.
constexpr std::int64_t sampled_elements = 1 << 16;

// Whether the transpose of a square matrix is nearer to the quantized one than the matrix is.
bool is_transposed(const TensorView& counterpart, const Tensor& real) {
  const auto expected = elements<float>(counterpart);
  const auto found = elements<float>(real.view());
  const std::int64_t width = real.shape[0];
  const std::int64_t stride = std::max<std::int64_t>(1, real.size() / sampled_elements) | 1;
  double as_stored = 0, transposed = 0;
  for (std::int64_t i = 0; i < real.size(); i += stride) {
    as_stored += std::pow(double{expected[i]} - found[i], 2);
    transposed += std::pow(double{expected[i % width * width + i / width]} - found[i], 2);
  }
  return transposed < as_stored;
}

double likeness_db(const ModelIndex& model, const Weight& weight, const Tensor& real) {
  const auto reference = shaped_like(model, weight, real);
  return reference ? sqnr_db(measure_noise(reference->view, real)) : -INFINITY;
}

// The float weight that is most like `real`; empty if none reaches value_match_db.
Counterpart counterpart_by_value(const Tensor& real, const ModelIndex& float_model) {
  Counterpart best;
  double best_db = value_match_db;
  if (real.size() < 2) return best;
  for (const Weight* weight : float_model.weights_of_size(real.size())) {
    const double found_db = likeness_db(float_model, *weight, real);
    if (!(found_db > best_db)) continue;
    best_db = found_db;
    best = {weight->name, Match::value};
  }
  return best;
}

}  // namespace

std::optional<ReferenceWeight> shaped_like(const ModelIndex& model, const Weight& weight,
                                           const Tensor& real) {
  ReferenceWeight reference{.stored = model.model().view(*weight.proto)};
  TensorView values = reference.stored;
  if (!is_aligned_f32(values)) {
    reference.changed = convert(values, DType::f32);
    values = reference.changed;
  }
  if (values.size() != real.size()) return std::nullopt;
  const bool may_be_transposed =
      values.shape.size() == 2 && Shape{values.shape[1], values.shape[0]} == real.shape;
  if (may_be_transposed &&
      (!std::ranges::equal(values.shape, real.shape) || is_transposed(values, real))) {
    reference.changed = permute_axes(values, std::vector{1, 0});
    values = reference.changed;
  }
  // Not the name of `changed`, which moves with the result.
  reference.view = {reference.stored.name, DType::f32, real.shape, values.bytes};
  return reference;
}

Counterpart find_counterpart(const ModelIndex& float_model, const QuantizedWeight& weight,
                             const Tensor& real) {
  Counterpart found = find_counterpart(float_model, weight);
  const Weight* read = found ? float_model.weight(found.tensor) : nullptr;
  if (read &&
      (found.match != Match::topology || likeness_db(float_model, *read, real) >= value_match_db))
    return found;
  // Exporters number nodes: in another export, this name may be another node's.
  Counterpart alike = counterpart_by_value(real, float_model);
  return alike ? alike : found;
}

}  // namespace vernier
