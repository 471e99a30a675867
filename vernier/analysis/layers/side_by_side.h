#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/layers/plan.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/analysis/pairing/lockstep.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// What is done with a layer's tensor and the candidate's as both are there.
using PairVisitor = std::function<void(const LayerPair& pair, const Tensor& reference,
                                       const TensorView& candidate)>;

// A layer as it ran.
struct SeenLayer {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
};

// One run of the reference beside the candidate.
struct SideBySideRun {
  std::span<const LayerPair> pairs;
  PairVisitor visit;
  std::function<void(const LockstepOutputs&)> outputs;  // of both models, at the end; may be empty
  // The bytes that replace a tensor once its pairs are visited; for run_introduced() only.
  std::function<std::vector<std::byte>()> replacement;
};

// Runs reference and candidate on the same sample, and shows pairs of their tensors while both run.
class SideBySide {
 public:
  // All must outlive it.
  SideBySide(Runner& reference, Runner& candidate, const std::vector<CandidateTensor>& tensors,
             const IoMapping& io = {});

  // Runs sample `number`. Gives the layers that ran, in that order, also those of no pair.
  std::vector<SeenLayer> run(std::int64_t number, const std::vector<Tensor>& sample,
                             std::span<const Layer> layers, const SideBySideRun& run);

  // The same with tensors of the candidate, which is the one of this object, replaced on the way.
  void run_introduced(Runner& candidate, std::int64_t number, const std::vector<Tensor>& sample,
                      std::span<const Layer> layers, const SideBySideRun& run);

  // What the reference is fed for a sample of the candidate's.
  std::vector<Tensor> reference_inputs(const std::vector<Tensor>& sample) const;
  const std::vector<std::string>& warnings() const { return bindings_.warnings; }

 private:
  struct Plan {
    std::map<std::string, std::vector<LayerPair>, std::less<>> by_tensor;
    RequestCounts requests;
  };
  Plan plan(std::span<const Layer> layers, std::span<const LayerPair> pairs) const;

  Runner& reference_;
  Runner& candidate_;
  const std::vector<CandidateTensor>& tensors_;
  InputBindings bindings_;
};

// The tensors of one layer on one sample.
struct LayerSample {
  const TensorView& reference;
  const TensorView& candidate;
  const Tensor* truth = nullptr;                   // in float64; null where it is not known
  std::optional<double> tolerance = std::nullopt;  // unset: 1e-4, or what rounding explains
};

// What one sample shows of a layer.
struct LayerFigures {
  Shape reference_shape, candidate_shape;
  DType reference_dtype = DType::f32, candidate_dtype = DType::f32;
  bool compared = false;  // false: the sides have other element counts
  Similarity similarity;
  double max_abs_reference = 0;
  std::optional<LayerTruth> truth;    // its errors
  std::optional<LayerLayout> layout;  // of a sample that exceeds by itself
};

// `row` is what is known of the layer from earlier samples: a layout that it has is not looked for.
LayerFigures measure_layer(const LayerRow& row, const LayerSample& sample);

// As measure() does, but an infinity that both have in the same place, as scores have behind a
// mask, is no difference. Throws Error if the element counts differ.
PairSums measure_beside_masks(const TensorView& reference, const TensorView& candidate);

// The row with one more sample in it.
LayerRow with_figures(LayerRow row, const LayerFigures& figures, std::optional<double> tolerance);

// Whether the row is out of tolerance: a difference strictly greater than what is allowed, NaN,
// another shape than the layer's (but for axes of size 1), or no counterpart at all. A tensor that
// was found by its values may have another shape.
bool is_exceeding(const LayerRow& row);

// The layers as they ran, each once, with what was known of them before. A layer with several
// outputs is seen as "lstm.0", "lstm.1": each is a layer then.
std::vector<Layer> layers_that_ran(const std::vector<SeenLayer>& seen,
                                   const std::vector<Layer>& layers);

// The names of the layers of which nothing ran.
std::vector<std::string> idle_layers(const std::vector<Layer>& layers,
                                     const std::set<std::string>& ran);

}  // namespace vernier
