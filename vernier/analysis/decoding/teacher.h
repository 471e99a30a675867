#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/model/decoder.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

// The model that provides another's tokens and caches: the reference, or the model itself.
struct Teacher {
  Decoder decoder;
  OrtRunner runner;

  // Runs tokens behind `past` others, with their caches.
  std::vector<Tensor> run(std::span<const std::int64_t> tokens, std::int64_t past,
                          std::span<const Tensor> caches);
};
Teacher open_teacher(const InputTarget& target, const Decoder& own);

// The teacher's caches with the names and dtypes of a model's inputs. Caches with other names are
// paired by order.
std::vector<Tensor> caches_for(const Decoder& decoder, std::span<const TensorSpec> inputs,
                               std::span<const Tensor> caches);

}  // namespace vernier
