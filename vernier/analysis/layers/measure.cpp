#include "vernier/analysis/layers/measure.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/analysis/layers/changed_run.h"
#include "vernier/analysis/layers/closing_operator.h"
#include "vernier/analysis/layers/coincidences.h"
#include "vernier/analysis/layers/evidence.h"
#include "vernier/analysis/layers/placing.h"
#include "vernier/analysis/layers/side_by_side.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/analysis/parts/record.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

// A recorded sample may lack its batch axis of size 1, because the samples are stacked.
TensorView with_batch_axis(TensorView reference, const TensorView& candidate) {
  if (candidate.shape.size() == reference.shape.size() + 1 && candidate.shape[0] == 1 &&
      std::ranges::equal(reference.shape, candidate.shape.subspan(1)))
    reference.shape = candidate.shape;
  return reference;
}

LayerRow absent_row(const Layer& layer, const std::vector<SeenLayer>& seen) {
  const auto ran = std::ranges::find(seen, layer.name, &SeenLayer::name);
  return {.layer = layer.name,
          .type = layer.type,
          .source = layer.source,
          .reference_shape = ran->shape,
          .reference_dtype = ran->dtype};
}

}  // namespace

Validation::Validation(LayersReference& reference, Runner& candidate,
                       std::vector<CandidateTensor> tensors, const ModelIndex* graph,
                       const LayersOptions& options)
    : reference_(reference),
      tensors_(std::move(tensors)),
      graph_(graph),
      is_quantized_(graph && precision_of(graph->model()) == Precision::int8),
      options_(options),
      side_by_side_(*reference.runner, candidate, tensors_, options.io),
      layers_(reference.layers),
      reference_graph_(reference.index ? &reference.index->main() : nullptr),
      warnings_(reference.warnings) {
  const auto& more = side_by_side_.warnings();
  warnings_.insert(warnings_.end(), more.begin(), more.end());
  if (graph_) decoder_ = find_decoder(graph_->model(), options.io.roles);
  placements_ = place();
  for (std::size_t i = 0; i < layers_.size(); ++i) layer_of_[layers_[i].name] = i;
}

std::vector<Placement> Validation::place() const {
  if (!graph_ || !reference_graph_) return place_layers(layers_, tensors_, std::nullopt);
  return place_layers(layers_, tensors_, GraphPair{*reference_.index, *graph_});
}

bool Validation::measure(Samples& samples, const std::string& section) {
  samples_ = first_exceeding_ = 0;
  bool exceeds = false;
  SampleRecords* records = options_.records;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    // The first sample is always run: layers are placed on it.
    const auto record = records && i > 0 ? records->find(section, i) : std::nullopt;
    const bool is_run = !records || section != layers_section || records->runs(i, samples.size());
    if (!record && !is_run && i > 0) continue;
    LayersSample measured;
    if (record) {
      measured = from_record<LayersSample>(*record);
    } else {
      const std::vector<Tensor> sample = samples.sample(i);
      run_truth(sample);
      if (i == 0)
        add_first(samples.number(i), sample);
      else
        measured = measure_sample(samples.number(i), sample);
      if (records && is_run && !records->find(section, i))
        records->keep(section, i, to_record(measured));
    }
    if (i > 0) add(measured);
    if (!exceeds && any_exceeds()) exceeds = true, first_exceeding_ = i;
    ++samples_;
    const bool go_on = !options_.progress || options_.progress(samples_, samples.size());
    if (!go_on && samples_ < samples.size()) return false;
  }
  settle_parts();
  settle_coincidences();
  return samples_ == samples.size();
}

// Compares the layer with nothing: it was fused with others.
void Validation::release(std::size_t layer) {
  placements_[layer] = {Match::fused, std::nullopt};
  rows_[layer] = {.layer = rows_[layer].layer,
                  .type = rows_[layer].type,
                  .source = rows_[layer].source,
                  .match = Match::fused,
                  .reference_shape = rows_[layer].reference_shape,
                  .reference_dtype = rows_[layer].reference_dtype};
}

void Validation::settle_coincidences() {
  if (!reference_graph_ || samples_ < 2) return;
  for (const std::size_t layer : find_coincidences(rows_, equal_at_first_, *reference_graph_))
    release(layer);
}

// A fusion may leave a tensor in a layer's scope that is only a part of the layer's result, for
// instance a product whose bias is added elsewhere. Or the tensor holds the results of several
// layers, for instance the product with the weights of q, k and v.
void Validation::settle_parts() {
  for (std::size_t layer = 0; layer < rows_.size(); ++layer) {
    if (is_part(layer)) release(layer);
  }
}

MeasuredLayers Validation::measured_layers() const {
  return {.layers = layers_,
          .layer_of = layer_of_,
          .tensors = tensors_,
          .placements = placements_,
          .rows = rows_,
          .introduced = introduced_,
          .reference = reference_graph_,
          .candidate = graph_ ? &graph_->model() : nullptr,
          .is_quantized = is_quantized_};
}

bool Validation::is_part(std::size_t layer) const {
  if (!merged_.contains(layer)) return holds_only_part(measured_layers(), layer);
  const LayerRow& row = rows_[layer];
  return !row.compared && row.match != Match::fused && is_computed(measured_layers(), layer);
}

// libtorch's default dtype is global to the process, so float32 and float64 cannot run at once: the
// truth is kept for the sample.
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
  merged_.clear();
  const auto visit = [&](const LayerPair& pair, const Tensor& reference,
                         const TensorView& candidate) {
    if (!is_worth_comparing(pair, reference, candidate)) return;
    LayerRow& row = found.emplace(pair, blank_row(pair)).first->second;
    row = compared(std::move(row), reference, candidate);
    if (graph_ && reference_.index && !row.compared &&
        placements_[pair.layer].tensor == pair.tensor && is_part_along_axis(reference, candidate))
      merged_.insert(pair.layer);
    if (options_.show_pair)
      options_.show_pair("layer", layer_and_tensor(row), reference, candidate);
  };
  const std::vector<SeenLayer> seen =
      side_by_side_.run(number, sample, layers_,
                        {.pairs = pairs, .visit = visit, .outputs = [&](const auto& outputs) {
                           outputs_.clear();
                           add_outputs(measure_outputs(outputs));
                           kl_ = kl_of_next_token(outputs);
                         }});
  if (adopt(seen)) return add_first(number, sample);
  std::erase_if(merged_, [&](std::size_t layer) { return !has_same_operator(layer); });
  prove_names(found, number, sample);
  resolve(found);
  rows_.clear();
  equal_at_first_.clear();
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const Placement& place = placements_[layer];
    rows_.push_back(place.tensor ? found.at({layer, *place.tensor})
                                 : absent_row(layers_[layer], seen));
    rows_.back().match = place.match;
    if ((place.match == Match::value || place.match == Match::elided) &&
        rows_.back().max_abs_diff == 0)
      equal_at_first_.push_back(layer);
  }
}

// Whether the same operator computes the layer and its tensor. A merged product is a product; a
// Concat or Pad would be an operator that was added.
bool Validation::has_same_operator(std::size_t layer) const {
  const auto* expected = reference_graph_->producer(layers_[layer].name);
  const auto* found = graph_->main().producer(tensors_[*placements_[layer].tensor].name);
  return expected && found && expected->op_type() == found->op_type();
}

std::vector<LayerPair> Validation::candidate_pairs() {
  std::vector<LayerPair> pairs = placed_pairs(placements_);
  if (resolved_) return pairs;
  const auto contended = contended_pairs(placements_, tensors_);
  if (contended) pairs.insert(pairs.end(), contended->begin(), contended->end());
  if (!contended) warnings_.push_back({WarningKind::too_many_tensors});
  return pairs;
}

// A layer may be folded into the one before it even if its values look different.
bool Validation::is_worth_comparing(const LayerPair& pair, const Tensor& reference,
                                    const TensorView& candidate) const {
  const auto is_placed = [&](std::size_t layer) {
    return placements_[layer].tensor == pair.tensor;
  };
  return is_placed(pair.layer) || (pair.layer > 0 && is_placed(pair.layer - 1)) ||
         may_be_alike(reference, candidate);
}

// A placement is dropped if its tensor was not produced in this run.
void Validation::resolve(const PairRows& found) {
  for (std::size_t layer = 0; layer < layers_.size(); ++layer)
    if (const auto tensor = placements_[layer].tensor; tensor && !found.contains({layer, *tensor}))
      placements_[layer] = {};
  if (std::exchange(resolved_, true)) return;
  std::vector<Likeness> likenesses;
  for (const auto& [pair, row] : found)
    likenesses.push_back({pair, row.sqnr_db, row.reference_shape == row.candidate_shape});
  placements_ = resolve_by_value(layers_, tensors_, std::move(placements_), likenesses);
}

// After folding, a name recalled from an earlier graph may be wrong. So a PyTorch layer that is
// unlike its recalled tensor is searched for among the others, and only a tensor that holds its
// values within rounding takes the place. An ONNX layer is searched for if its tensor has another
// element count, but not before that tensor: there an added operator would hide.
void Validation::prove_names(PairRows& found, std::int64_t number,
                             const std::vector<Tensor>& sample) {
  if (!graph_ || is_quantized_ || std::exchange(proven_, true)) return;
  const std::vector<Placement> named = placements_;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer)
    if (is_doubtful(layer, found)) placements_[layer] = {};
  if (placements_ == named) return;
  std::vector<Likeness> likenesses;
  const std::vector<LayerPair> pairs =
      replacement_pairs(named, placements_, tensors_,
                        reference_.index ? Replacements::not_before : Replacements::all);
  const auto visit = [&](const LayerPair& pair, const Tensor& reference,
                         const TensorView& candidate) {
    if (!may_be_alike(reference, candidate)) return;
    LayerRow row = compared(blank_row(pair), reference, candidate);
    if (!(row.sqnr_db >= rounding_db)) return;
    likenesses.push_back({pair, row.sqnr_db, row.reference_shape == row.candidate_shape});
    found.insert_or_assign(pair, std::move(row));
  };
  side_by_side_.run(number, sample, layers_, {.pairs = pairs, .visit = visit, .outputs = {}});
  placements_ = resolve_by_value(layers_, tensors_, std::move(placements_), likenesses);
  std::set<std::size_t> taken;
  for (const LayerPair& pair : placed_pairs(placements_)) taken.insert(pair.tensor);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer)
    if (!placements_[layer].tensor && named[layer].tensor && !taken.contains(*named[layer].tensor))
      placements_[layer] = named[layer];
}

// Placed by its name alone, or by recalled metadata, but unlike the tensor: newer exporters name
// tensors "linear", which may be another layer's name. Or placed with a tensor of another element
// count, such as the counter of a Loop, or a product that was merged with others. An output of an
// ONNX model keeps its place.
bool Validation::is_doubtful(std::size_t layer, const PairRows& found) const {
  const Placement& place = placements_[layer];
  if (!place.tensor || (layers_[layer].type.empty() && !reference_.index)) return false;
  const auto row = found.find({layer, *place.tensor});
  if (row == found.end()) return false;
  if (reference_.index) return !layers_[layer].is_output && !row->second.compared;
  const CandidateTensor& tensor = tensors_[*place.tensor];
  const bool by_name_alone = place.match == Match::name && tensor.layer.empty();
  if (!tensor.layer_is_recalled && !by_name_alone) return !row->second.compared;
  return !(row->second.sqnr_db >= whole_layer_db);
}

LayersSample Validation::measure_sample(std::int64_t number, const std::vector<Tensor>& sample) {
  LayersSample measured;
  const std::vector<LayerPair> pairs = placed_pairs(placements_);
  const auto visit = [&](const LayerPair& pair, const Tensor& reference,
                         const TensorView& candidate) {
    measured.layers.emplace_back(pair.layer, figures(rows_[pair.layer], reference, candidate));
  };
  side_by_side_.run(
      number, sample, layers_,
      {.pairs = pairs, .visit = visit, .outputs = [&](const LockstepOutputs& outputs) {
         measured.outputs = measure_outputs(outputs);
         measured.kl = kl_of_next_token(outputs);
       }});
  return measured;
}

void Validation::add(const LayersSample& measured) {
  for (const auto& [layer, figures] : measured.layers) {
    if (layer >= rows_.size()) throw damaged_record();
    rows_[layer] = with_figures(std::move(rows_[layer]), figures, options_.tolerance);
  }
  add_outputs(measured.outputs);
  kl_ += measured.kl;
}

KlSum Validation::kl_of_next_token(const LockstepOutputs& outputs) const {
  if (!decoder_) return {};
  const Tensor* reference = find_logits(*decoder_, outputs.reference);
  const Tensor* candidate = find_logits(*decoder_, outputs.candidate);
  if (!reference || !candidate || reference->shape != candidate->shape) return {};
  return kl_of_rows(*reference, *candidate);
}

// The outputs of an ONNX reference are already rows if they are watched, and so are all arrays of a
// recording.
std::vector<OutputFigures> Validation::measure_outputs(const LockstepOutputs& outputs) const {
  if (!graph_ || reference_.is_recorded) return {};
  const std::vector<std::string> reference = names_of(outputs.reference);
  const OutputPairing pairing =
      pair_outputs(outputs.reference, outputs.candidate, options_.io.outputs,
                   reference_.runner->outputs_are_positional());
  std::vector<OutputFigures> measured;
  const auto is_layer = [&](std::size_t output) {
    return reference_.index && layer_of_.contains(reference[output]);
  };
  for (const OutputPair& pair : pairing.pairs) {
    if (is_layer(pair.reference)) continue;
    const Tensor &expected = outputs.reference[pair.reference],
                 &found = outputs.candidate[pair.candidate];
    LayerRow row = output_row(pair.name);
    row.match = pair.match;
    OutputFigures output{
        .name = pair.name, .match = pair.match, .figures = figures(row, expected, found)};
    if (options_.show_pair && samples_ == 0)
      options_.show_pair("output", pair.name, expected, found);
    const LayerRow alone = with_figures({.match = pair.match}, output.figures, options_.tolerance);
    if (!row.evidence && is_exceeding(alone)) output.evidence = closing_operator(expected, found);
    measured.push_back(std::move(output));
  }
  for (const std::size_t i : pairing.only_reference)
    if (!is_layer(i))
      measured.push_back({.name = reference[i],
                          .figures = {.reference_shape = outputs.reference[i].shape,
                                      .reference_dtype = outputs.reference[i].dtype}});
  return measured;
}

LayerRow Validation::output_row(const std::string& name) const {
  const auto known = std::ranges::find(outputs_, name, &LayerRow::layer);
  return known == outputs_.end() ? LayerRow{.layer = name} : *known;
}

void Validation::add_outputs(const std::vector<OutputFigures>& measured) {
  if (!graph_ || reference_.is_recorded) return;
  for (const OutputFigures& output : measured) {
    LayerRow row = output_row(output.name);
    if (output.match == Match::none) {
      row.reference_shape = output.figures.reference_shape;
      row.reference_dtype = output.figures.reference_dtype;
    } else {
      row.tensor = output.name;
      row.match = output.match;
      row = with_figures(std::move(row), output.figures, options_.tolerance);
      if (!row.evidence && is_exceeding(row)) row.evidence = output.evidence;
    }
    const auto known = std::ranges::find(outputs_, output.name, &LayerRow::layer);
    if (known == outputs_.end())
      outputs_.push_back(std::move(row));
    else
      *known = std::move(row);
  }
}

// Only a run shows which layers run. Replaces the layers by those; true if they were others.
bool Validation::adopt(const std::vector<SeenLayer>& seen) {
  std::set<std::string> names;
  for (const SeenLayer& layer : seen) names.insert(layer.name);
  if (names.size() == layers_.size() &&
      std::ranges::all_of(layers_, [&](const Layer& layer) { return names.contains(layer.name); }))
    return false;
  std::vector<std::string> idle = idle_layers(layers_, names);
  if (!idle.empty())
    warnings_.push_back(
        {.kind = WarningKind::not_compared, .subject = "it did not run", .more = std::move(idle)});
  layers_ = layers_that_ran(seen, layers_);
  placements_ = place();
  layer_of_.clear();
  for (std::size_t i = 0; i < layers_.size(); ++i) layer_of_[layers_[i].name] = i;
  return true;
}

LayerRow Validation::blank_row(const LayerPair& pair) const {
  const Match match = placements_[pair.layer].match;
  const std::string& called = layers_[pair.layer].source;
  return {.layer = layers_[pair.layer].name,
          .type = layers_[pair.layer].type,
          .tensor = tensors_[pair.tensor].name,
          .source = called.empty() ? tensors_[pair.tensor].source : called,
          .match = match == Match::none ? Match::value : match};
}

LayerRow Validation::compared(LayerRow row, const Tensor& reference,
                              const TensorView& candidate) const {
  const LayerFigures measured = figures(row, reference, candidate);
  return with_figures(std::move(row), measured, options_.tolerance);
}

LayerFigures Validation::figures(const LayerRow& row, const Tensor& reference,
                                 const TensorView& candidate) const {
  const auto truth = truth_.find(row.layer);
  const TensorView view =
      reference_.is_recorded ? with_batch_axis(reference, candidate) : TensorView(reference);
  return measure_layer(row, {.reference = view,
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
    const Similarity figures = similarity(measure_outside_masks(reference, tensor));
    const bool same_shape = std::ranges::equal(reference.shape, tensor.shape);
    likenesses.push_back({pair, figures.sqnr_db, same_shape});
    if (!is_placed) return;
    introduced_[pair.layer] = {figures.max_abs_diff, figures.sqnr_db};
    next = as_candidate_holds(rows_[pair.layer], reference, tensor.dtype);
  };
  // Another network's shapes may not fit here; then there is less evidence.
  try {
    side_by_side_.run_introduced(
        candidate, number, sample, layers_,
        {.pairs = pairs, .visit = visit, .replacement = [&] { return std::exchange(next, {}); }});
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    warnings_.push_back({WarningKind::unmeasured_errors, error.what()});
  }
  std::vector<Placement> places = resolve_by_value(layers_, tensors_, placements_, likenesses);
  std::swap(places, placements_);
  return places != placements_;
}

bool Validation::is_compensated(std::size_t layer, OrtRunner& candidate, std::int64_t number,
                                const std::vector<Tensor>& sample) {
  const std::vector<std::size_t> readers = right_readers(measured_layers(), layer);
  if (readers.empty()) return false;
  std::vector<LayerPair> pairs = {{layer, *placements_[layer].tensor}};
  for (const std::size_t reader : readers) pairs.push_back({reader, *placements_[reader].tensor});
  bool is_any_wrong = false;
  std::vector<std::byte> next;
  const auto visit = [&](const LayerPair& pair, const Tensor& reference, const TensorView& tensor) {
    if (reference.size() != tensor.size()) return;
    if (pair.layer == layer) {
      next = as_candidate_holds(rows_[layer], reference, tensor.dtype);
      return;
    }
    const Similarity figures = similarity(measure_outside_masks(reference, tensor));
    is_any_wrong |= !(figures.max_abs_diff <= rows_[pair.layer].allowed);
  };
  try {
    side_by_side_.run_introduced(
        candidate, number, sample, layers_,
        {.pairs = pairs, .visit = visit, .replacement = [&] { return std::exchange(next, {}); }});
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    return false;
  }
  return is_any_wrong;
}

// From the last to the first: a layer may be read by one that is not compared either.
void Validation::settle_compensated(OrtRunner& candidate, std::int64_t number,
                                    const std::vector<Tensor>& sample) {
  for (std::size_t layer = rows_.size(); layer-- > 0;)
    if (is_compensated(layer, candidate, number, sample)) release(layer);
}

bool Validation::any_exceeds() const {
  return std::ranges::any_of(rows_, [&](const LayerRow& row) { return is_exceeding(row); });
}

LayersResult Validation::result() const {
  LayersResult result{.rows = rows_,
                      .outputs = outputs_,
                      .kl_mean = kl_.mean(),
                      .warnings = warnings_,
                      .samples = samples_};
  for (LayerRow& row : result.outputs) {
    row.exceeds = is_exceeding(row);
    if (row.exceeds) row.cause = Cause::unknown;
  }
  const MeasuredLayers measured = measured_layers();
  std::unordered_set<std::string> shapes;
  if (reference_graph_) shapes = tensors_from_shapes(*reference_graph_);
  std::optional<std::size_t> origin_of_shapes;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    LayerRow& row = result.rows[i];
    const bool is_shape = shapes.contains(layers_[i].name);
    if (row.match == Match::none && (is_shape || is_computed(measured, i)))
      row.match = Match::fused;
    row.exceeds = is_exceeding(row);
    if (const auto found = introduced_.find(i); found != introduced_.end()) {
      row.introduced_max_abs_diff = found->second.max_abs_diff;
      row.introduced_sqnr_db = found->second.sqnr_db;
    }
    if (!row.exceeds) continue;
    row.cause = Cause::unknown;
    // Shapes follow from other tensors, so they are the origin only if nothing else is.
    if (is_shape && !origin_of_shapes) origin_of_shapes = i;
    if (!is_shape && !result.drift_origin) result.drift_origin = i;
    ++result.layers_exceeding;
  }
  if (!result.drift_origin) result.drift_origin = origin_of_shapes;
  return result;
}

}  // namespace vernier
