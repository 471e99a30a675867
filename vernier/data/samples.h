#pragma once

#include <cstdint>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// A sequence of samples: each is one set of inputs, in the order of the model's inputs. Random,
// recorded or from a dataset.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::int64_t size() const = 0;
  // The inputs of one sample. Any order is allowed; ascending order is the fast one.
  virtual std::vector<Tensor> sample(std::int64_t index) = 0;
};

}  // namespace vernier
