#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "vernier/runtime/runner.h"

namespace vernier {

enum class HostWatch { nothing, layers, operators };

struct HostOptions {
  std::string source;           // as is_host_source() knows them
  std::string python;           // the interpreter; empty: see find_python()
  std::string task;             // of a Hugging Face model that names no class
  std::string weights;          // a state dict to load into the model
  std::int64_t seed = 42;       // of weights that are made at random
  bool open_attention = false;  // run fused attention operator by operator
  HostWatch watch = HostWatch::nothing;
  DType precision = DType::f32;  // f32 or f64
  int threads = 0;               // 0: as many as the host wants
  std::chrono::seconds timeout{300};
  std::size_t ring_bytes = std::size_t{32} << 20;
  // A sample as the candidate takes it: the host runs it once to say what it returns and shows.
  // Without one, it runs an example of its own.
  std::vector<Tensor> example;
  std::vector<std::string> output_names;  // of the candidate
};

// Whether the text names a model that a host runs: FILE.py:FUNCTION, package.module:FUNCTION,
// hf:FOLDER or hf:ID, torchvision:NAME, timm:NAME, a program in .pt2, or host:COMMAND.
bool is_host_source(const std::string& text);

// The options with an example and the outputs of the candidate, by which a host describes its
// model.
HostOptions described_by(HostOptions options, std::vector<Tensor> example,
                         const std::vector<TensorSpec>& candidate_outputs);

// Starts a host, which is a process that runs the model in its own framework (see
// docs/host-protocol.md), and asks it for a description. Throws Error with what the host says or
// how it ended.
std::unique_ptr<Runner> open_host_runner(const HostOptions& options);

}  // namespace vernier
