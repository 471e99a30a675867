#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

// Runs a model whose session can be closed, to make room for others: the next run opens it again.
class ReopeningRunner : public Runner {
 public:
  ReopeningRunner(Model model, OrtOptions options)
      : model_(std::move(model)), options_(std::move(options)) {}

  void close() { runner_.reset(); }

  const std::vector<TensorSpec>& inputs() const override { return opened().inputs(); }
  const std::vector<TensorSpec>& outputs() const override { return opened().outputs(); }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer = {}) override {
    return opened().run(inputs, observer);
  }
  std::vector<WatchedTensor> watched() const override { return opened().watched(); }
  std::vector<UnwatchedTensor> unwatched() const override { return opened().unwatched(); }

 private:
  OrtRunner& opened() const {
    if (!runner_) runner_.emplace(model_.clone(), options_);
    return *runner_;
  }

  Model model_;
  OrtOptions options_;
  mutable std::optional<OrtRunner> runner_;
};

}  // namespace vernier
