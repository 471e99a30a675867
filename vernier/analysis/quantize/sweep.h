#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/quantize.h"
#include "vernier/warning.h"

namespace vernier {

// The model in one precision, compared with the float model.
struct SweepRow {
  std::string precision;  // "fp32", "fp16", "w8a8"...
  std::string file;       // file name
  std::int64_t bytes = 0;
  double sqnr_db = 0;           // on held-back samples, in exact arithmetic
  double deployed_sqnr_db = 0;  // as ONNX Runtime computes it on this CPU
  double latency_ratio = 1;     // latency over the float model's, median of alternating runs
  std::optional<std::int64_t> peak_bytes;  // peak memory of a process that runs one sample
  std::optional<double> agreement, accuracy;
  std::optional<double> kl_mean;  // KL of a decoder's next token, in nats, in exact arithmetic
  std::string failure;            // why there is no model; empty if there is one
  bool best = false;              // on the Pareto front of size, latency and deployed SQNR
  bool was_there = false;         // read from an earlier sweep
};

struct SweepOptions {
  std::vector<std::string> precisions;
  std::filesystem::path folder;
  QuantizeOptions quantize;  // its precision is ignored
  std::string inputs;        // description of the samples, part of a row's signature
  std::int64_t latency_runs = 15;
  // Peak memory of a process that loads the model and runs one sample; null if not measured.
  std::function<std::optional<std::int64_t>(const std::filesystem::path&)> peak_memory;
  std::function<bool(std::size_t done, std::size_t total, const std::string& next)> progress;
};

struct SweepResult {
  std::vector<SweepRow> rows;  // the float model first
  std::int64_t held_back_samples = 0;
  std::vector<Warning> warnings;
  bool interrupted = false;
};

// Writes and measures the model in each precision. Each finished one is a model file and a row in a
// .json file beside it; a row of the same model, samples and options is reused.
SweepResult sweep(const Model& model, Samples& samples, const SweepOptions& options);

}  // namespace vernier
