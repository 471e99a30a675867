#include "vernier/analysis/layers/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "vernier/analysis/layers/ran_layers.h"
#include "vernier/analysis/layers/row.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// A recorded sample may have lost its batch of one to the axis of samples.
TensorView with_batch_axis(TensorView reference, const TensorView& candidate) {
  if (candidate.shape.size() == reference.shape.size() + 1 && candidate.shape[0] == 1 &&
      std::ranges::equal(reference.shape, candidate.shape.subspan(1)))
    reference.shape = candidate.shape;
  return reference;
}

// The first layers that are computed from the tensor, on each way from it. None if a way ends
// without passing one.
std::vector<std::size_t> layers_reading(const std::vector<CandidateTensor>& tensors,
                                        std::size_t tensor,
                                        const std::vector<Placement>& placements) {
  std::vector<std::size_t> found;
  std::set<std::size_t> open = {tensor};
  for (std::size_t next = tensor + 1; next < tensors.size(); ++next) {
    if (std::ranges::none_of(tensors[next].inputs,
                             [&](auto input) { return open.contains(input); }))
      continue;
    const auto layer = std::ranges::find(placements, std::optional(next), &Placement::tensor);
    if (layer != placements.end())
      found.push_back(layer - placements.begin());
    else if (tensors[next].is_output)
      return {};
    else
      open.insert(next);
  }
  return found;
}

LayerRow absent_row(const Layer& layer, const std::vector<SeenLayer>& seen) {
  const auto ran = std::ranges::find(seen, layer.name, &SeenLayer::name);
  return {.layer = layer.name,
          .type = layer.type,
          .reference_shape = ran->shape,
          .reference_dtype = ran->dtype};
}

}  // namespace

Validation::Validation(LayersReference& reference, Runner& candidate,
                       std::vector<CandidateTensor> tensors, bool has_graph,
                       const LayersOptions& options)
    : reference_(reference),
      tensors_(std::move(tensors)),
      has_graph_(has_graph),
      options_(options),
      side_by_side_(*reference.runner, candidate, tensors_),
      layers_(reference.layers),
      placements_(align(layers_, tensors_)),
      warnings_(reference.warnings) {
  const auto& more = side_by_side_.warnings();
  warnings_.insert(warnings_.end(), more.begin(), more.end());
}

bool Validation::measure(Samples& samples) {
  samples_ = 0;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const std::vector<Tensor> sample = samples.sample(i);
    run_truth(sample);
    if (i == 0)
      add_first(samples.number(i), sample);
    else
      add(samples.number(i), sample);
    ++samples_;
    if (options_.progress && !options_.progress(i + 1, samples.size())) return false;
  }
  settle_parts();
  return true;
}

// A fusion may leave a tensor in a layer's scope that is only a part of what the layer computes, as
// a product whose bias is added elsewhere.
void Validation::settle_parts() {
  for (std::size_t layer = 0; layer < rows_.size(); ++layer) {
    if (!is_part(layer)) continue;
    placements_[layer] = {Match::fused, std::nullopt};
    rows_[layer] = {.layer = rows_[layer].layer,
                    .type = rows_[layer].type,
                    .match = Match::fused,
                    .reference_shape = rows_[layer].reference_shape,
                    .reference_dtype = rows_[layer].reference_dtype};
  }
}

// Whether the tensor is not the layer's, and yet all that is computed from it is right.
bool Validation::is_part(std::size_t layer) const {
  const Match match = rows_[layer].match;
  if (!has_graph_ || (match != Match::scope && match != Match::metadata) ||
      !rows_[layer].compared || !is_exceeding(rows_[layer], options_.tolerance) ||
      !(rows_[layer].sqnr_db < whole_layer_db))
    return false;
  const std::vector<std::size_t> readers =
      layers_reading(tensors_, *placements_[layer].tensor, placements_);
  return !readers.empty() && std::ranges::none_of(readers, [&](std::size_t reader) {
    return is_exceeding(rows_[reader], options_.tolerance);
  });
}

// libtorch's default dtype is one for the whole process: float32 and float64 cannot run at once, so
// the truth is kept for the sample.
void Validation::run_truth(const std::vector<Tensor>& sample) {
  truth_.clear();
  if (!reference_.truth) return;
  reference_.truth->run(side_by_side_.reference_inputs(sample), [&](const TensorView& tensor) {
    truth_.emplace(tensor.name, copy(tensor));
  });
}

void Validation::add_first(std::int64_t number, const std::vector<Tensor>& sample) {
  const std::vector<LayerPair> pairs = candidate_pairs();
  PairRows found;
  const auto visit = [&](const LayerPair& pair, const Tensor& reference,
                         const TensorView& candidate) {
    if (!is_worth_comparing(pair, reference, candidate)) return;
    LayerRow& row = found.emplace(pair, blank_row(pair)).first->second;
    row = compared(std::move(row), reference, candidate);
  };
  const std::vector<SeenLayer> seen =
      side_by_side_.run(number, sample, layers_, {.pairs = pairs, .visit = visit});
  if (adopt(seen)) return add_first(number, sample);
  resolve(found);
  rows_.clear();
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const Placement& place = placements_[layer];
    rows_.push_back(place.tensor ? found.at({layer, *place.tensor})
                                 : absent_row(layers_[layer], seen));
    rows_.back().match = place.match;
  }
}

std::vector<LayerPair> Validation::candidate_pairs() {
  std::vector<LayerPair> pairs = placed_pairs(placements_);
  if (resolved_) return pairs;
  const auto contended = contended_pairs(placements_, tensors_);
  if (contended) pairs.insert(pairs.end(), contended->begin(), contended->end());
  if (!contended)
    warnings_.push_back("too many tensors without known names to search them by value");
  return pairs;
}

// A layer may have been folded into the one before it even if it looks nothing like it.
bool Validation::is_worth_comparing(const LayerPair& pair, const Tensor& reference,
                                    const TensorView& candidate) const {
  const auto is_placed = [&](std::size_t layer) {
    return placements_[layer].tensor == pair.tensor;
  };
  return is_placed(pair.layer) || (pair.layer > 0 && is_placed(pair.layer - 1)) ||
         may_be_alike(reference, candidate);
}

// A place whose tensor was not made in this run is none.
void Validation::resolve(const PairRows& found) {
  for (std::size_t layer = 0; layer < layers_.size(); ++layer)
    if (const auto tensor = placements_[layer].tensor; tensor && !found.contains({layer, *tensor}))
      placements_[layer] = {};
  if (std::exchange(resolved_, true)) return;
  std::vector<Likeness> likenesses;
  for (const auto& [pair, row] : found)
    likenesses.push_back({pair, row.sqnr_db, row.reference_shape == row.candidate_shape});
  placements_ = resolve_by_value(layers_, std::move(placements_), likenesses);
}

void Validation::add(std::int64_t number, const std::vector<Tensor>& sample) {
  const std::vector<LayerPair> pairs = placed_pairs(placements_);
  side_by_side_.run(
      number, sample, layers_,
      {.pairs = pairs,
       .visit = [&](const LayerPair& pair, const Tensor& reference, const TensorView& candidate) {
         rows_[pair.layer] = compared(std::move(rows_[pair.layer]), reference, candidate);
       }});
}

// What runs is known for sure only once it ran. True if the layers are others than was thought.
bool Validation::adopt(const std::vector<SeenLayer>& seen) {
  std::set<std::string> names;
  for (const SeenLayer& layer : seen) names.insert(layer.name);
  if (names.size() == layers_.size() &&
      std::ranges::all_of(layers_, [&](const Layer& layer) { return names.contains(layer.name); }))
    return false;
  const std::vector<std::string> idle = idle_layers(layers_, names);
  if (!idle.empty()) warnings_.push_back(not_compared("it did not run", idle));
  layers_ = layers_that_ran(seen, layers_);
  placements_ = align(layers_, tensors_);
  return true;
}

LayerRow Validation::blank_row(const LayerPair& pair) const {
  const Match match = placements_[pair.layer].match;
  return {.layer = layers_[pair.layer].name,
          .type = layers_[pair.layer].type,
          .tensor = tensors_[pair.tensor].name,
          .match = match == Match::none ? Match::value : match};
}

LayerRow Validation::compared(LayerRow row, const Tensor& reference,
                              const TensorView& candidate) const {
  const auto truth = truth_.find(row.layer);
  const TensorView view =
      reference_.is_recorded ? with_batch_axis(reference, candidate) : TensorView(reference);
  return with_sample(std::move(row), {.reference = view,
                                      .candidate = candidate,
                                      .truth = truth == truth_.end() ? nullptr : &truth->second,
                                      .tolerance = options_.tolerance});
}

bool Validation::measure_introduced(OrtRunner& candidate, std::int64_t number,
                                    const std::vector<Tensor>& sample) {
  std::vector<LayerPair> pairs =
      contended_pairs(placements_, tensors_).value_or(std::vector<LayerPair>());
  const std::vector<LayerPair> placed = placed_pairs(placements_);
  pairs.insert(pairs.end(), placed.begin(), placed.end());
  std::vector<Likeness> likenesses;
  std::vector<std::byte> next;
  const auto visit = [&](const LayerPair& pair, const Tensor& reference, const TensorView& tensor) {
    const bool is_placed = placements_[pair.layer].tensor.has_value();
    if (reference.size() != tensor.size() || (!is_placed && !may_be_alike(reference, tensor)))
      return;
    const Similarity figures = similarity(vernier::measure(reference, tensor));
    const bool same_shape = std::ranges::equal(reference.shape, tensor.shape);
    likenesses.push_back({pair, figures.sqnr_db, same_shape});
    if (!is_placed) return;
    introduced_[pair.layer] = {figures.max_abs_diff, figures.sqnr_db};
    next = replacement(pair.layer, reference, tensor);
  };
  side_by_side_.run_introduced(
      candidate, number, sample, layers_,
      {.pairs = pairs, .visit = visit, .replacement = [&] { return std::exchange(next, {}); }});
  std::vector<Placement> places = resolve_by_value(layers_, placements_, likenesses);
  std::swap(places, placements_);
  return places != placements_;
}

// The reference's tensor as the candidate would hold it.
std::vector<std::byte> Validation::replacement(std::size_t layer, const Tensor& reference,
                                               const TensorView& candidate) const {
  const auto& layout = rows_[layer].layout;
  const Tensor converted = convert(reference, candidate.dtype);
  return layout && !layout->layout.permutation.empty()
             ? permute_axes(converted, layout->layout.permutation).bytes
             : converted.bytes;
}

bool Validation::any_exceeds() const {
  return std::ranges::any_of(
      rows_, [&](const LayerRow& row) { return is_exceeding(row, options_.tolerance); });
}

// Whether the layer comes out right on the reference's inputs.
bool Validation::is_sound(std::size_t layer) const {
  if (!is_exceeding(rows_[layer], options_.tolerance)) return true;
  const auto found = introduced_.find(layer);
  return found != introduced_.end() && (found->second.max_abs_diff <= options_.tolerance ||
                                        found->second.sqnr_db >= sound_layer_db);
}

// A layer without a tensor of its own was computed somewhere if what comes after it is right.
bool Validation::is_fused(std::size_t layer) const {
  if (!has_graph_ || rows_[layer].match != Match::none) return false;
  for (std::size_t next = layer + 1; next < rows_.size(); ++next)
    if (rows_[next].compared && rows_[next].match != Match::elided) return is_sound(next);
  return false;
}

LayersResult Validation::result() const {
  LayersResult result{.rows = rows_, .warnings = warnings_, .samples = samples_};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    LayerRow& row = result.rows[i];
    if (is_fused(i)) row.match = Match::fused;
    row.exceeds = is_exceeding(row, options_.tolerance);
    if (const auto found = introduced_.find(i); found != introduced_.end())
      row.introduced_max_abs_diff = found->second.max_abs_diff;
    if (!row.exceeds) continue;
    row.cause = Cause::unknown;
    if (!result.drift_origin) result.drift_origin = i;
    ++result.layers_exceeding;
  }
  return result;
}

}  // namespace vernier
