#pragma once

#include <memory>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Runs an ONNX model with ONNX Runtime and shows the watched tensors to the observer as they are
// produced: in execution order, one at a time, without keeping any. Several threads may run samples
// at the same time, each with its own observer.
//
// The observer is shown what ONNX Runtime computes: without float16 kernels on the CPU, a float16
// tensor that is computed in float32 and never rounded is shown as that float32 tensor.
class OrtRunner : public Runner {
 public:
  explicit OrtRunner(Model model, const OrtOptions& options = {});
  ~OrtRunner() override;
  OrtRunner(OrtRunner&&) noexcept;

  const std::vector<TensorSpec>& inputs() const override;
  const std::vector<TensorSpec>& outputs() const override;
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer = {}) override;

  std::vector<WatchedTensor> watched() const override;
  // Includes the outputs that are not numeric tensors (sequences, strings, ...): run() omits them.
  std::vector<UnwatchedTensor> unwatched() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A message that ONNX Runtime logged, and how often.
struct RuntimeMessage {
  std::string text;
  std::int64_t count = 0;
  bool operator==(const RuntimeMessage&) const = default;
};

// The warnings and errors that ONNX Runtime has logged in this process, in order of first
// occurrence. None are printed; an error that ends a call is also thrown as Error.
std::vector<RuntimeMessage> runtime_messages();

// The graph that ONNX Runtime's optimiser makes of the model for the CPU provider.
Model optimize(const Model& model, Optimization level);

}  // namespace vernier
