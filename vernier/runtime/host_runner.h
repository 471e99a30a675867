#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "vernier/runtime/runner.h"

namespace vernier {

enum class HostWatch { nothing, layers, operators };

struct HostOptions {
  std::string source;           // see is_host_source()
  std::string python;           // the interpreter; if empty, see find_python()
  std::string task;             // of a Hugging Face model whose config names no class
  std::string weights;          // a state dict to load into the model
  std::int64_t seed = 42;       // for randomly initialised weights
  bool open_attention = false;  // run fused attention as separate operators
  HostWatch watch = HostWatch::nothing;
  DType precision = DType::f32;  // f32 or f64
  int threads = 0;               // 0 lets the host choose
  std::chrono::seconds timeout{300};
  std::size_t ring_bytes = std::size_t{32} << 20;
  // One sample in the candidate's input format. The host runs it once to find the model's outputs
  // and layers. If empty, the host runs an example of its own.
  std::vector<Tensor> example;
  std::vector<std::string> output_names;  // the candidate's output names
};

// Whether the text names a model that a host runs: FILE.py:FUNCTION, package.module:FUNCTION,
// hf:FOLDER or hf:ID, torchvision:NAME, timm:NAME, an exported program (.pt2), host:COMMAND, or the
// path of a NamedModel.
bool is_host_source(const std::string& text);

// Adds the example and the candidate's output names to the options; the host needs them to describe
// its model.
HostOptions described_by(HostOptions options, std::vector<Tensor> example,
                         const std::vector<TensorSpec>& candidate_outputs);

// Starts a host, a process that runs the model in its own framework (see docs/host-protocol.md),
// and asks it for a description. A NamedModel is opened in this process instead. Throws Error with
// the host's message, or with how it ended.
std::unique_ptr<Runner> open_host_runner(const HostOptions& options);

}  // namespace vernier
