#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

namespace vernier {

class ModelIndex;

// How a parameter was found in the candidate.
enum class WeightMatch {
  exact,       // an initializer with the same bits
  transposed,  // the same bits with two axes swapped, as its reader needs them
  folded,      // a batch norm was folded in, correctly within float32 rounding
  rounded,     // rounded to the initializer's narrower type
  differs,     // its initializer has other bits
  unlike,      // the layer reads other values in its place, perhaps for a reason
  not_found    // its initializer is unknown: it was folded, tied or unused
};

// How an initializer differs from the expected values.
struct WeightDifference {
  std::int64_t differing = 0;          // elements
  std::int64_t first = -1;             // index of the first of them
  double max_abs_diff = 0;             // NaN if a side holds NaN
  std::optional<double> max_ulp_diff;  // nullopt if not defined
  bool operator==(const WeightDifference&) const = default;
};

// One parameter or buffer of the reference.
struct ComparedWeight {
  std::string parameter;    // "layer1.0.conv1.weight"
  std::string module;       // "layer1.0.conv1"
  std::string initializer;  // of the candidate; empty if there is none
  WeightMatch match = WeightMatch::not_found;
  std::int64_t elements = 0;
  WeightDifference difference;  // only of `differs` and `unlike`
  double sqnr_db = NAN;         // only of `differs` and `unlike`
  bool axes_swapped = false;    // the same bits with two axes swapped, against its reader's need
  Shape shape, found_shape;     // only if the initializer has another shape
  std::string folded_norm;      // the batch norm that is folded in
  bool operator==(const ComparedWeight&) const = default;
};

using VisitTensors = std::function<void(const TensorVisitor&)>;

// Finds the initializer of each parameter, by the node of its module that reads it, by name, then
// by content, and compares the two bit by bit. `visit` shows the parameters and is called twice;
// `leaves` are in execution order. Only one-dimensional parameters are copied.
std::vector<ComparedWeight> compare_weights(const VisitTensors& visit,
                                            std::span<const WatchedTensor> leaves,
                                            const ModelIndex& candidate);
std::vector<ComparedWeight> compare_weights(const Runner& reference, const ModelIndex& candidate);
// Takes the initializers of an ONNX model as parameters.
std::vector<ComparedWeight> compare_weights(const ModelIndex& reference,
                                            const ModelIndex& candidate);

// Whether the weights are those of another checkpoint: at least two, and at least half of those
// that were found, are unlike the reference's.
bool are_other_weights(std::span<const ComparedWeight> weights);

// Those with WeightMatch::differs.
std::vector<ComparedWeight> weight_mismatches(std::span<const ComparedWeight> weights);

}  // namespace vernier
