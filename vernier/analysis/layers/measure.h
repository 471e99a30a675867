#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vernier/analysis/layers/fused.h"
#include "vernier/analysis/layers/layers_sample.h"
#include "vernier/analysis/layers/side_by_side.h"
#include "vernier/model/decoder.h"
#include "vernier/model/index.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/warning.h"

namespace vernier {

// Measures the rows of a layer-by-layer validation, sample by sample. Layers that names do not
// place are searched for by value on the first sample.
class Validation {
 public:
  // `tensors` are the candidate's. With a `graph` they are complete, so a layer without a tensor
  // may have been fused; without one (null), the recording may just lack it.
  Validation(LayersReference& reference, Runner& candidate, std::vector<CandidateTensor> tensors,
             const ModelIndex* graph, const LayersOptions& options);

  // Runs all samples from the beginning, except those recorded in `section`. False if it was
  // interrupted, or if the records leave out samples.
  bool measure(Samples& samples, const std::string& section = layers_section);

  // Runs a sample again with the candidate's tensors replaced by the reference's, which gives the
  // introduced error of each layer. May find layers that an earlier difference hid: returns true if
  // so, and measure() has to be repeated.
  bool measure_introduced(OrtRunner& candidate, std::int64_t number,
                          const std::vector<Tensor>& sample);

  // Layers whose tensor lacks a factor that was folded into later weights are not compared: a layer
  // behind is right, and wrong in a run in which only that tensor is the reference's.
  void settle_compensated(OrtRunner& candidate, std::int64_t number,
                          const std::vector<Tensor>& sample);

  bool any_exceeds() const;
  // The first sample on which a layer exceeds; 0 if none does.
  std::int64_t first_exceeding() const { return first_exceeding_; }
  LayersResult result() const;

 private:
  using PairRows = std::map<LayerPair, LayerRow>;

  void add_first(std::int64_t number, const std::vector<Tensor>& sample);
  LayersSample measure_sample(std::int64_t number, const std::vector<Tensor>& sample);
  void add(const LayersSample& measured);
  void run_truth(const std::vector<Tensor>& sample);
  bool adopt(const std::vector<SeenLayer>& seen);
  std::vector<Placement> place() const;
  std::vector<OutputFigures> measure_outputs(const LockstepOutputs& outputs) const;
  LayerRow output_row(const std::string& name) const;
  void add_outputs(const std::vector<OutputFigures>& measured);
  KlSum kl_of_next_token(const LockstepOutputs& outputs) const;
  std::vector<LayerPair> candidate_pairs();
  bool is_worth_comparing(const LayerPair& pair, const Tensor& reference,
                          const TensorView& candidate) const;
  void resolve(const PairRows& found);
  void prove_names(PairRows& found, std::int64_t number, const std::vector<Tensor>& sample);
  bool is_doubtful(std::size_t layer, const PairRows& found) const;
  bool has_same_operator(std::size_t layer) const;
  LayerRow blank_row(const LayerPair& pair) const;
  LayerFigures figures(const LayerRow& row, const Tensor& reference,
                       const TensorView& candidate) const;
  LayerRow compared(LayerRow row, const Tensor& reference, const TensorView& candidate) const;
  bool is_compensated(std::size_t layer, OrtRunner& candidate, std::int64_t number,
                      const std::vector<Tensor>& sample);
  void settle_parts();
  void settle_coincidences();
  void release(std::size_t layer);
  bool is_part(std::size_t layer) const;
  MeasuredLayers measured_layers() const;

  LayersReference& reference_;
  std::vector<CandidateTensor> tensors_;
  const ModelIndex* graph_;
  bool is_quantized_ = false;
  const LayersOptions& options_;
  SideBySide side_by_side_;
  std::vector<Layer> layers_;
  const GraphIndex* reference_graph_;                         // of an ONNX model, or null
  std::map<std::string, std::size_t, std::less<>> layer_of_;  // by name
  std::vector<Placement> placements_;
  bool resolved_ = false;  // the layers that names do not place were searched for
  bool proven_ = false;    // the layers that names place were checked by value
  std::vector<LayerRow> rows_, outputs_;
  std::vector<std::size_t> equal_at_first_;  // layers placed by value, and equal on the first
  std::set<std::size_t> merged_;             // layers that are a part of their tensor on the first
  std::optional<Decoder> decoder_;           // if the candidate scores tokens
  KlSum kl_;
  std::map<std::size_t, IntroducedError> introduced_;
  std::map<std::string, Tensor> truth_;  // float64 tensors of the current sample
  std::vector<Warning> warnings_;
  std::int64_t samples_ = 0, first_exceeding_ = 0;
};

}  // namespace vernier
