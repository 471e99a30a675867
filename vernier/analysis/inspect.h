#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vernier/metrics/tensor_statistics.h"
#include "vernier/model/summary.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {

// What a model is, from its file alone.
struct Inspection {
  ModelFormat format = ModelFormat::onnx;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<OtherValue> other_inputs;  // that are not numeric tensors
  std::vector<OtherValue> other_outputs;
  std::vector<WeightTotal> weights;  // largest first; of PyTorch: parameters and buffers
  std::optional<ModelSummary> onnx;
  std::vector<WatchedTensor> leaves;  // of PyTorch, in the order of the graph
  std::vector<UnwatchedTensor> unwatched_leaves;
  std::int64_t recorded_samples = 0;
  std::vector<std::string> warnings;
};

Inspection inspect(const ModelIndex& index);
// `host` says how a host runs a model that is not a file.
Inspection inspect(const std::filesystem::path& path, const HostOptions& host = {});

// A tensor as one run produced it.
struct LiveTensor {
  std::string name;
  std::string op;  // "Conv", the type of a PyTorch leaf; empty for inputs and recorded arrays
  DType dtype = DType::f32;
  Shape shape;
  TensorStatistics statistics;
};

struct LiveTensors {
  std::string inputs;               // what it was run on: "random uniform, seed 42"
  std::int64_t sample = 0;          // number of the sample
  std::vector<LiveTensor> tensors;  // inputs, then in execution order
  std::vector<UnwatchedTensor> unwatched;
  int first_nan = -1;  // index of the first tensor with NaN, or infinity; -1 if none
  int first_inf = -1;
};

// The tensors of one run. The runner must have been opened with everything watched; `onnx` is the
// model that it runs, null for other formats.
LiveTensors watch_tensors(Runner& runner, std::span<const Tensor> inputs, const Model* onnx);

}  // namespace vernier
