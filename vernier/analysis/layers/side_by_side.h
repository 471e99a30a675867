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
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Called with a layer's tensor and the candidate's tensor once both exist.
using PairVisitor = std::function<void(const LayerPair& pair, const Tensor& reference,
                                       const TensorView& candidate)>;

// A layer as it ran.
struct SeenLayer {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
};

// One run of the reference and the candidate.
struct SideBySideRun {
  std::span<const LayerPair> pairs;
  PairVisitor visit;
  std::function<void(const LockstepOutputs&)> outputs;  // called at the end; may be empty
  // The bytes that replace a tensor after its pairs were visited; for run_introduced() only.
  std::function<std::vector<std::byte>()> replacement;
};

// Runs reference and candidate on the same sample, and shows pairs of their tensors while both run.
class SideBySide {
 public:
  // All arguments must outlive it.
  SideBySide(Runner& reference, Runner& candidate, const std::vector<CandidateTensor>& tensors,
             const IoMapping& io = {});

  // Runs sample `number`. Returns all layers that ran, in execution order.
  std::vector<SeenLayer> run(std::int64_t number, const std::vector<Tensor>& sample,
                             std::span<const Layer> layers, const SideBySideRun& run);

  // As run(), but replaces tensors of `candidate`, which is this object's, on the way.
  void run_introduced(Runner& candidate, std::int64_t number, const std::vector<Tensor>& sample,
                      std::span<const Layer> layers, const SideBySideRun& run);

  // The reference's inputs for a sample of the candidate's.
  std::vector<Tensor> reference_inputs(const std::vector<Tensor>& sample) const;
  const std::vector<Warning>& warnings() const { return bindings_.warnings; }

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
  const Tensor* truth = nullptr;                   // in float64; null if not known
  std::optional<double> tolerance = std::nullopt;  // nullopt: 1e-4, or what rounding explains
};

// The figures of one layer on one sample.
struct LayerFigures {
  Shape reference_shape, candidate_shape;
  DType reference_dtype = DType::f32, candidate_dtype = DType::f32;
  bool compared = false;  // false if the element counts differ
  Similarity similarity;
  double max_abs_reference = 0;
  std::optional<LayerTruth> truth;    // only the errors; not the ratio
  std::optional<LayerLayout> layout;  // only if this sample exceeds by itself
};

// `row` is the layer after earlier samples: if it has a layout, none is searched.
LayerFigures measure_layer(const LayerRow& row, const LayerSample& sample);

// Like measure(), but leaves out equal infinities at the same place, and masked scores: negative
// infinity, or the lowest number of a type, on both sides. Throws Error if the element counts
// differ.
PairSums measure_outside_masks(const TensorView& reference, const TensorView& candidate);

// The row with one more sample added. A shape that differs on any sample stays, and after another
// element count the row is not compared.
LayerRow with_figures(LayerRow row, const LayerFigures& figures, std::optional<double> tolerance);

// Whether the row is out of tolerance: a difference strictly larger than allowed, NaN, another
// shape than the layer's (ignoring axes of size 1), or no counterpart. A tensor that was found by
// value may have another shape.
bool is_exceeding(const LayerRow& row);

// The layers that ran, each once, with the type and source known before. A layer with several
// outputs is seen as "lstm.0", "lstm.1", each of which becomes a layer.
std::vector<Layer> layers_that_ran(const std::vector<SeenLayer>& seen,
                                   const std::vector<Layer>& layers);

// The names of the layers that did not run at all.
std::vector<std::string> idle_layers(const std::vector<Layer>& layers,
                                     const std::set<std::string>& ran);

}  // namespace vernier
