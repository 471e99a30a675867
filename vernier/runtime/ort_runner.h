#pragma once

#include <memory>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Runs an ONNX model with ONNX Runtime, showing the watched tensors to the observer as they are
// produced: in execution order, never two at once, without keeping any of them. Several threads may
// run samples at the same time, each with an observer of its own.
//
// What is shown is what ONNX Runtime computes: on a cpu without float16 kernels a float16 tensor
// that was computed in float32 and not rounded is shown as that float32 tensor.
class OrtRunner : public Runner {
 public:
  explicit OrtRunner(Model model, const OrtOptions& options = {});
  ~OrtRunner() override;
  OrtRunner(OrtRunner&&) noexcept;

  const std::vector<TensorSpec>& inputs() const override;
  const std::vector<TensorSpec>& outputs() const override;
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer = {}) override;

  std::vector<WatchedTensor> watched() const override;
  // Also the outputs that are no numeric tensors (sequences, strings...): run() leaves them out.
  std::vector<UnwatchedTensor> unwatched() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What ONNX Runtime logged, and how often.
struct RuntimeMessage {
  std::string text;
  std::int64_t count = 0;
  bool operator==(const RuntimeMessage&) const = default;
};

// The warnings and errors that ONNX Runtime has logged in this process, in the order of their first
// time. Nothing of it is printed; errors that end a call come as an Error too.
std::vector<RuntimeMessage> runtime_messages();

// The model as ONNX Runtime's optimiser leaves it for the cpu provider.
Model optimize(const Model& model, Optimization level);

}  // namespace vernier
