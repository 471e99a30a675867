#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/analysis/layers/side_by_side.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

// Gathers the rows of a layer-by-layer validation, sample by sample. Layers that names alone do not
// place are searched for on the first sample.
class Validation {
 public:
  // `tensors` are the candidate's. With `has_graph` they are all it has, so that a layer without
  // one may still have been computed; a recording may just lack it.
  Validation(LayersReference& reference, Runner& candidate, std::vector<CandidateTensor> tensors,
             bool has_graph, const LayersOptions& options);

  // Runs all samples, from nothing. False when that was interrupted.
  bool measure(Samples& samples);

  // Runs a sample once more with the reference's tensors in the place of the candidate's, so that
  // each layer works on the reference's inputs: what it adds by itself. Layers that an earlier
  // difference hid may be found there: true when there are such, and measure() is to be repeated.
  bool measure_introduced(OrtRunner& candidate, std::int64_t number,
                          const std::vector<Tensor>& sample);

  bool any_exceeds() const;
  LayersResult result() const;

 private:
  // What a layer adds by itself.
  struct Introduced {
    double max_abs_diff = 0;
    double sqnr_db = 0;
  };

  using PairRows = std::map<LayerPair, LayerRow>;

  void add_first(std::int64_t number, const std::vector<Tensor>& sample);
  void add(std::int64_t number, const std::vector<Tensor>& sample);
  void run_truth(const std::vector<Tensor>& sample);
  bool adopt(const std::vector<SeenLayer>& seen);
  std::vector<LayerPair> candidate_pairs();
  bool is_worth_comparing(const LayerPair& pair, const Tensor& reference,
                          const TensorView& candidate) const;
  void resolve(const PairRows& found);
  LayerRow blank_row(const LayerPair& pair) const;
  LayerRow compared(LayerRow row, const Tensor& reference, const TensorView& candidate) const;
  std::vector<std::byte> replacement(std::size_t layer, const Tensor& reference,
                                     const TensorView& candidate) const;
  void settle_parts();
  bool is_part(std::size_t layer) const;
  bool is_sound(std::size_t layer) const;
  bool is_fused(std::size_t layer) const;

  LayersReference& reference_;
  std::vector<CandidateTensor> tensors_;
  bool has_graph_;
  const LayersOptions& options_;
  SideBySide side_by_side_;
  std::vector<Layer> layers_;
  std::vector<Placement> placements_;
  bool resolved_ = false;  // the layers that names do not place were searched for
  std::vector<LayerRow> rows_;
  std::map<std::size_t, Introduced> introduced_;
  std::map<std::string, Tensor> truth_;  // of the sample under way
  std::vector<std::string> warnings_;
  std::int64_t samples_ = 0;
};

}  // namespace vernier
