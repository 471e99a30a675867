#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vernier/runtime/ort_runner.h"

namespace vernier {

// Lets lockstep run a model while tensors are changed on the way.
class RewritingRunner : public Runner {
 public:
  explicit RewritingRunner(OrtRunner& runner) : runner_(runner) {}
  const std::vector<TensorSpec>& inputs() const override { return runner_.inputs(); }
  const std::vector<TensorSpec>& outputs() const override { return runner_.outputs(); }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    return runner_.run_rewriting(inputs, [&](const TensorView& tensor, std::span<std::byte> bytes) {
      bytes_ = bytes;
      observer(tensor);
      bytes_ = {};
    });
  }
  // Of the tensor being observed; empty in between.
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  OrtRunner& runner_;
  std::span<std::byte> bytes_;
};

}  // namespace vernier
