#pragma once

#include "vernier/runtime/runner.h"

namespace vernier {

// Shows the inputs to the observer, too, before anything is computed from them.
class InputShowingRunner : public Runner {
 public:
  explicit InputShowingRunner(Runner& runner) : runner_(runner) {}
  const std::vector<TensorSpec>& inputs() const override { return runner_.inputs(); }
  const std::vector<TensorSpec>& outputs() const override { return runner_.outputs(); }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    for (std::size_t i = 0; i < inputs.size() && i < runner_.inputs().size(); ++i) {
      TensorView input = inputs[i];
      input.name = runner_.inputs()[i].name;
      observer(input);
    }
    return runner_.run(inputs, observer);
  }

 private:
  Runner& runner_;
};

}  // namespace vernier
