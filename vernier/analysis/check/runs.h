#pragma once

#include <map>
#include <memory>
#include <vector>

#include "vernier/analysis/check/check.h"
#include "vernier/analysis/check/graphs.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {

// Whether ONNX Runtime takes the model, and what later checks need of the run.
struct Runs {
  Findings findings;
  std::unique_ptr<OrtRunner> runner;            // null: refused
  std::vector<std::vector<Tensor>> samples;     // what it ran on, at least one if it ran
  std::vector<Tensor> outputs;                  // of the first sample
  std::map<std::string, std::int64_t> lengths;  // of the axes that integer inputs index
  bool deterministic = true;                    // a second run gave the same

  bool ran() const { return !samples.empty(); }
};

Runs check_runs(const Graphs& graphs, const CheckOptions& options);

// Random inputs of these shapes; the sample is the number of the draw.
std::vector<Tensor> draw_inputs(const Runs& runs, std::span<const TensorSpec> inputs,
                                const std::map<std::string, Shape>& shapes, std::int64_t sample);

// Operators that no runtime, or only this one, has.
Findings check_operators(const Graphs& graphs);

}  // namespace vernier
