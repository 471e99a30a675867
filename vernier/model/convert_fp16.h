#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// What stays in float32.
struct Fp16Options {
  bool fp16_io = false;                 // graph inputs and outputs too; else they stay float32
  std::vector<std::string> keep_ops;    // operator types, beside the default list
  std::vector<std::string> keep_nodes;  // node names or globs
  std::vector<std::string>
      keep_tensors;  // names or globs: the nodes that write or read them as weight
  bool keep_default_ops = true;
};

// A weight whose values did not all fit float16: they are clamped into [5.96e-8, 65504] by size.
struct ClampedWeight {
  std::string name;
  std::int64_t count = 0;
  std::int64_t overflowed = 0;   // larger than 65504
  std::int64_t underflowed = 0;  // would have become zero
  bool operator==(const ClampedWeight&) const = default;
};

struct Fp16Result {
  Model model;
  std::int64_t converted_weights = 0;
  std::int64_t converted_nodes = 0;
  std::int64_t kept_nodes = 0;  // compute in float32 though float16 was possible
  std::int64_t casts = 0;       // inserted
  std::vector<ClampedWeight> clamped;
};

// Operators that have no float16 form in ONNX, or lose too much in it: sums over many elements,
// powers, and normalisations.
const std::vector<std::string>& fp16_keep_ops();

// The model with its float32 weights, constants, casts and values in float16, in the main graph and
// in every subgraph; float64 stays. Throws Error when the model has no float32 tensor, or an option
// names nothing in it.
Fp16Result convert_to_fp16(const Model& model, const Fp16Options& options = {});

}  // namespace vernier
