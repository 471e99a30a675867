#include "vernier/analysis/layers/side_by_side.h"

#include <algorithm>
#include <cmath>

#include "vernier/analysis/pairing/introduced.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/data/input_shape.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The worse of the two; NaN is worst.
double larger(double before, double value) {
  return std::isnan(before) || before > value ? before : value;
}
double smaller(double before, double value) {
  return std::isnan(before) || before < value ? before : value;
}

// A permutation keeps the sum of squares.
bool may_be_permuted(const PairSums& sums) {
  const double ratio = sums.candidate_squares / sums.reference_squares;
  return ratio > 0.7 && ratio < 1.4;
}

std::optional<LayerLayout> layout_of(const LayerSample& sample, const PairSums& sums) {
  if (similarity(sums).sqnr_db >= same_layout_db &&
      std::ranges::equal(sample.reference.shape, sample.candidate.shape))
    return std::nullopt;
  if (!may_be_permuted(sums)) return std::nullopt;
  auto layout = find_layout(sample.reference, sample.candidate);
  if (!layout) return std::nullopt;
  // Similar tokens agree somewhat in any order: another order has to be clearly better.
  if (!(layout->sqnr_db >= similarity(sums).sqnr_db + relayout_db)) return std::nullopt;
  std::string description =
      describe_layout(*layout, sample.reference.shape, sample.candidate.shape);
  return LayerLayout{std::move(*layout), std::move(description)};
}

LayerTruth with_errors(const std::optional<LayerTruth>& before, const LayerTruth& sample) {
  LayerTruth truth = before.value_or(LayerTruth{});
  truth.error_reference = larger(truth.error_reference, sample.error_reference);
  truth.error_candidate = larger(truth.error_candidate, sample.error_candidate);
  truth.ratio = truth.error_candidate == truth.error_reference
                    ? 1
                    : truth.error_candidate / truth.error_reference;
  return truth;
}

void add_figures(LayerRow& row, const Similarity& figures) {
  const bool first = !row.compared;
  row.compared = true;
  row.max_abs_diff = first ? figures.max_abs_diff : larger(row.max_abs_diff, figures.max_abs_diff);
  row.mean_abs_diff =
      first ? figures.mean_abs_diff : larger(row.mean_abs_diff, figures.mean_abs_diff);
  row.sqnr_db = first ? figures.sqnr_db : smaller(row.sqnr_db, figures.sqnr_db);
  row.cosine_similarity =
      first ? figures.cosine_similarity : smaller(row.cosine_similarity, figures.cosine_similarity);
  row.reference_nan += figures.reference_nan;
  row.reference_inf += figures.reference_inf;
  row.candidate_nan += figures.candidate_nan;
  row.candidate_inf += figures.candidate_inf;
}

// The difference that rounding explains, in this or an earlier sample. A candidate that is up to
// `rounding_factor` times as far from the truth as the reference may differ from it by both errors.
double allowed(const LayerRow& row, double max_abs_reference) {
  double most = row.allowed;
  if (std::isfinite(max_abs_reference) && is_float(row.reference_dtype))
    most = std::max(most, rounding_of_largest * max_abs_reference);
  if (row.truth && std::isfinite(row.truth->error_reference))
    most = std::max(most, (1 + rounding_factor) * row.truth->error_reference);
  return most;
}

// Whether `coarse` is `fine` with neighbouring axes merged: [10,24] for [2,5,24].
bool is_merged(const Shape& fine, const Shape& coarse) {
  std::size_t i = 0;
  for (const std::int64_t size : coarse) {
    std::int64_t product = 1;
    while (i < fine.size() && product < size) product *= fine[i++];
    if (product != size) return false;
  }
  return i == fine.size();
}

// Inside a model, a matrix product may merge all rows into one axis.
bool is_same_shape(const LayerRow& row) {
  const Shape reference = squeezed(row.reference_shape), candidate = squeezed(row.candidate_shape);
  const bool is_inside = row.match == Match::scope || row.match == Match::metadata;
  return reference == candidate ||
         (is_inside && (is_merged(reference, candidate) || is_merged(candidate, reference)));
}

// Whether the element counts of an earlier sample differ; false before the first.
bool has_other_size(const LayerRow& row) {
  return element_count(row.reference_shape) != element_count(row.candidate_shape);
}

bool shape_may_differ(Match match) { return match == Match::value || match == Match::elided; }

bool is_output_of(const std::string& name, const Layer& layer) {
  return name.starts_with(layer.name + ".");
}

// The layer of this name, or the layer of which it is an output, as the reference described it.
Layer known_layer(const std::string& name, const std::vector<Layer>& layers) {
  if (const auto known = std::ranges::find(layers, name, &Layer::name); known != layers.end())
    return *known;
  const auto whole =
      std::ranges::find_if(layers, [&](const Layer& layer) { return is_output_of(name, layer); });
  if (whole == layers.end()) return {.name = name};
  return {.name = name, .type = whole->type, .source = whole->source};
}

}  // namespace

SideBySide::SideBySide(Runner& reference, Runner& candidate,
                       const std::vector<CandidateTensor>& tensors, const IoMapping& io)
    : reference_(reference),
      candidate_(candidate),
      tensors_(tensors),
      bindings_(bind_inputs(candidate.inputs(), reference.inputs(), io)) {}

std::vector<Tensor> SideBySide::reference_inputs(const std::vector<Tensor>& sample) const {
  return apply_bindings(bindings_, reference_.inputs(), sample);
}

SideBySide::Plan SideBySide::plan(std::span<const Layer> layers,
                                  std::span<const LayerPair> pairs) const {
  Plan plan;
  for (const LayerPair& pair : pairs) {
    plan.by_tensor[tensors_[pair.tensor].name].push_back(pair);
    ++plan.requests[layers[pair.layer].name];
  }
  return plan;
}

std::vector<SeenLayer> SideBySide::run(std::int64_t number, const std::vector<Tensor>& sample,
                                       std::span<const Layer> layers, const SideBySideRun& run) {
  std::vector<SeenLayer> seen;
  const Plan planned = plan(layers, run.pairs);
  const auto note = [&](const TensorView& tensor) {
    seen.push_back(
        {std::string(tensor.name), tensor.dtype, Shape(tensor.shape.begin(), tensor.shape.end())});
  };
  const auto observe = [&](const ObservedTensor& tensor, const TakeReference& take) {
    const auto found = planned.by_tensor.find(tensor.name);
    if (found == planned.by_tensor.end()) return;
    for (const LayerPair& pair : found->second)
      if (const Tensor* reference = take(layers[pair.layer].name))
        run.visit(pair, *reference, tensor);
  };
  reference_.seek(number);
  candidate_.seek(number);
  const LockstepOutputs outputs =
      run_lockstep(reference_, reference_inputs(sample), candidate_, sample, observe,
                   {.requests = planned.requests, .observe_reference = note});
  if (run.outputs) run.outputs(outputs);
  return seen;
}

void SideBySide::run_introduced(Runner& candidate, std::int64_t number,
                                const std::vector<Tensor>& sample, std::span<const Layer> layers,
                                const SideBySideRun& run) {
  const Plan planned = plan(layers, run.pairs);
  const auto measure = [&](const TensorView& tensor, const TakeReference& take) {
    const auto found = planned.by_tensor.find(tensor.name);
    if (found == planned.by_tensor.end()) return std::vector<std::byte>();
    for (const LayerPair& pair : found->second)
      if (const Tensor* reference = take(layers[pair.layer].name))
        run.visit(pair, *reference, tensor);
    return run.replacement();
  };
  reference_.seek(number);
  run_on_reference_inputs(reference_, reference_inputs(sample), candidate, sample, measure,
                          planned.requests);
}

namespace {

// Whether scores of these two values both get no weight in a Softmax: the lowest numbers of their
// types, as masks hold them, and infinities that overflow makes of such numbers.
bool are_masked(double reference, double candidate, DType candidate_dtype) {
  constexpr double lowest_float = -1e30;  // of float32 and bfloat16, also after scores were added
  constexpr double lowest_half = -65504;
  constexpr double large = -1e8;  // no score is as low
  const bool is_half = candidate_dtype == DType::f16;
  const double lowest = is_half ? lowest_half : lowest_float;
  return (candidate <= lowest && reference <= lowest_float) ||
         (candidate <= large && std::isinf(reference) && reference < 0) ||
         (reference <= large && std::isinf(candidate) && candidate < 0);
}

}  // namespace

PairSums measure_outside_masks(const TensorView& reference, const TensorView& candidate) {
  const PairSums sums = measure(reference, candidate);
  constexpr double largest_score = 1e30;
  const bool may_be_masked =
      sums.reference_inf > 0 || sums.candidate_inf > 0 || sums.max_abs_reference >= largest_score;
  if (!may_be_masked) return sums;
  Tensor expected = convert(reference, DType::f64), found = convert(candidate, DType::f64);
  const auto first = elements<double>(expected), second = elements<double>(found);
  for (std::size_t i = 0; i < first.size(); ++i)
    if ((std::isinf(first[i]) && first[i] == second[i]) ||
        are_masked(first[i], second[i], candidate.dtype))
      first[i] = second[i] = 0;
  return measure(expected, found);
}

LayerFigures measure_layer(const LayerRow& row, const LayerSample& sample) {
  LayerFigures figures{
      .reference_shape = {sample.reference.shape.begin(), sample.reference.shape.end()},
      .candidate_shape = {sample.candidate.shape.begin(), sample.candidate.shape.end()},
      .reference_dtype = sample.reference.dtype,
      .candidate_dtype = sample.candidate.dtype,
      .compared = sample.reference.size() == sample.candidate.size()};
  if (!figures.compared) return figures;
  const PairSums sums = measure_outside_masks(sample.reference, sample.candidate);
  figures.similarity = similarity(sums);
  figures.max_abs_reference = sums.max_abs_reference;
  if (sample.truth && sample.truth->size() == sample.reference.size())
    figures.truth = {
        .error_reference = measure(*sample.truth, sample.reference).max_abs_difference,
        .error_candidate = measure(*sample.truth, sample.candidate).max_abs_difference};
  const LayerRow alone = with_figures({.match = row.match}, figures, sample.tolerance);
  if (!row.layout && is_exceeding(alone)) figures.layout = layout_of(sample, sums);
  return figures;
}

LayerRow with_figures(LayerRow row, const LayerFigures& figures, std::optional<double> tolerance) {
  if (has_other_size(row)) return row;
  if (!figures.compared || is_same_shape(row)) {
    row.reference_shape = figures.reference_shape;
    row.candidate_shape = figures.candidate_shape;
  }
  row.reference_dtype = figures.reference_dtype;
  row.candidate_dtype = figures.candidate_dtype;
  if (!figures.compared) {
    row.compared = false;
    return row;
  }
  add_figures(row, figures.similarity);
  if (figures.truth) row.truth = with_errors(row.truth, *figures.truth);
  row.allowed = tolerance.value_or(allowed(row, figures.max_abs_reference));
  if (!row.layout && is_exceeding(row)) row.layout = figures.layout;
  return row;
}

bool is_exceeding(const LayerRow& row) {
  if (row.match == Match::fused) return false;
  if (!row.compared) return true;
  if (!is_same_shape(row) && !shape_may_differ(row.match)) return true;
  return !(row.max_abs_diff <= row.allowed);
}

std::vector<Layer> layers_that_ran(const std::vector<SeenLayer>& seen,
                                   const std::vector<Layer>& layers) {
  std::vector<Layer> ran;
  std::set<std::string> names;
  for (const SeenLayer& layer : seen)
    if (names.insert(layer.name).second) ran.push_back(known_layer(layer.name, layers));
  return ran;
}

std::vector<std::string> idle_layers(const std::vector<Layer>& layers,
                                     const std::set<std::string>& ran) {
  std::vector<std::string> idle;
  for (const Layer& layer : layers) {
    const auto output = ran.lower_bound(layer.name + ".");
    if (!ran.contains(layer.name) && (output == ran.end() || !is_output_of(*output, layer)))
      idle.push_back(layer.name);
  }
  return idle;
}

}  // namespace vernier
