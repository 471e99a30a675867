#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// Which parts of the model stay in float32.
struct Fp16Options {
  bool fp16_io = false;                 // also convert graph inputs and outputs to float16
  std::vector<std::string> keep_ops;    // operator types, in addition to fp16_keep_ops()
  std::vector<std::string> keep_nodes;  // node names or globs
  std::vector<std::string>
      keep_tensors;  // names or globs; keeps the nodes that write them or read them as weights
  bool keep_default_ops = true;
};

// A weight with values outside float16's range. Nonzero magnitudes are clamped to [5.96e-8, 65504].
struct ClampedWeight {
  std::string name;
  std::int64_t count = 0;
  std::int64_t overflowed = 0;   // elements with a magnitude above 65504
  std::int64_t underflowed = 0;  // elements that would have been rounded to zero
  bool operator==(const ClampedWeight&) const = default;
};

struct Fp16Result {
  Model model;
  std::int64_t converted_weights = 0;
  std::int64_t converted_nodes = 0;
  std::int64_t kept_nodes = 0;  // read or write float32 and were left in float32
  std::int64_t casts = 0;       // inserted Cast nodes
  std::vector<ClampedWeight> clamped;
};

// Operators kept in float32 by default: those that ONNX does not define for float16, and those that
// lose too much precision in it (sums over many elements, powers, normalisations).
const std::vector<std::string>& fp16_keep_ops();

// Converts the model's float32 weights, constants, casts and activations to float16, in the main
// graph and in every subgraph. float64 is left as it is. Throws Error if nothing can be converted,
// or if an option matches nothing in the model.
Fp16Result convert_to_fp16(const Model& model, const Fp16Options& options = {});

}  // namespace vernier
