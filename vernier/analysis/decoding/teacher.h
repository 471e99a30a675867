#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/model/decoder.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

// The model whose tokens and caches another one is fed: the reference, or the model itself.
struct Teacher {
  Decoder decoder;
  OrtRunner runner;

  // Runs tokens behind `past` others, whose caches are named by its inputs.
  std::vector<Tensor> run(std::span<const std::int64_t> tokens, std::int64_t past,
                          std::span<const Tensor> caches);
};
Teacher open_teacher(const InputTarget& target, const Decoder& own);

// The teacher's caches under the names, and in the types, of a model's inputs: both have them in
// one order where names differ.
std::vector<Tensor> caches_for(const Decoder& decoder, std::span<const TensorSpec> inputs,
                               std::span<const Tensor> caches);

}  // namespace vernier
