#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/quantize.h"

namespace vernier {

// One configuration of a model, beside the float model.
struct SweepRow {
  std::string precision;  // "fp32", "fp16", "w8a8"...
  std::string file;       // its name
  std::int64_t bytes = 0;
  double sqnr_db = 0;                      // at the output, on held-back samples, as the file says
  double deployed_sqnr_db = 0;             // as ONNX Runtime computes it here
  double latency_ratio = 1;                // median of alternating runs over the float model's
  std::optional<std::int64_t> peak_bytes;  // of a process that runs one sample
  std::optional<double> agreement, accuracy;
  std::optional<double> kl_mean;  // of a decoder: KL of the next token, in nats, as the file says
  std::string failure;            // why there is no file; empty: there is one
  bool best = false;              // no other row is smaller, faster and closer
  bool was_there = false;         // finished by an earlier sweep
};

struct SweepOptions {
  std::vector<std::string> precisions;
  std::filesystem::path folder;
  QuantizeOptions quantize;  // but for its precision
  std::string inputs;        // what the samples are, for telling whether a row is still right
  std::int64_t latency_runs = 15;
  // The peak memory of a process that loads the model and runs one sample; null: not measured.
  std::function<std::optional<std::int64_t>(const std::filesystem::path&)> peak_memory;
  std::function<bool(std::size_t done, std::size_t total, const std::string& next)> progress;
};

struct SweepResult {
  std::vector<SweepRow> rows;  // the float model first
  std::int64_t held_back_samples = 0;
  std::vector<std::string> warnings;
  bool interrupted = false;
};

// Writes and measures the model in each precision. Each finished one is a model and a row in a
// .json beside it; a row of the same model, samples and options is not made again.
SweepResult sweep(const Model& model, Samples& samples, const SweepOptions& options);

}  // namespace vernier
