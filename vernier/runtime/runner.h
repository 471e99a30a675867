#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Called as each watched tensor is produced, in execution order; the view is valid only during the
// call. May throw: the run stops and the exception reaches the caller of run().
using Observer = std::function<void(const TensorView&)>;

// Something that turns inputs into outputs: an ONNX session, a TorchScript module, recorded
// tensors.
class Runner {
 public:
  virtual ~Runner() = default;

  virtual const std::vector<TensorSpec>& inputs() const = 0;
  virtual const std::vector<TensorSpec>& outputs() const = 0;

  // Runs one sample. `inputs` are in the order of inputs(). Returns the model's outputs in the
  // order of outputs(), and calls the observer, if any, for each tensor that the runner was made to
  // watch.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs,
                                  const Observer& observer = {}) = 0;

  // Says which sample the next run() is of; the one after the last run otherwise. Only what replays
  // recorded samples needs to know.
  virtual void seek(std::int64_t /*sample*/) {}
};

}  // namespace vernier
