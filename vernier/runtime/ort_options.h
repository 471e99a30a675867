#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace Ort {
struct SessionOptions;
}

namespace vernier {

// Which tensors the observer is shown.
struct Watch {
  enum class What { none, outputs, all, names, glob };
  What what = What::none;
  std::vector<std::string> names = {};  // exact names, or patterns with * and ? for glob

  static Watch none() { return {}; }
  static Watch outputs() { return {What::outputs}; }
  static Watch all() { return {What::all}; }
  static Watch only(std::vector<std::string> names) { return {What::names, std::move(names)}; }
  static Watch glob(std::string pattern) { return {What::glob, {std::move(pattern)}}; }

  bool intermediates() const { return what != What::none && what != What::outputs; }
  bool operator==(const Watch&) const = default;
};

// ONNX Runtime's graph optimisation levels.
enum class Optimization { disabled, basic, extended, all };

struct OrtOptions {
  Watch watch;
  // Unset: disabled while intermediate tensors are watched, else all. Set while they are watched:
  // the tensors seen are those of the optimised graph.
  std::optional<Optimization> optimization;
  std::vector<std::string> disabled_optimizers;  // by ONNX Runtime's names: "MatMulAddFusion"
  // Integer products as the model says, whatever the CPU: int8 weights become uint8, for which no
  // kernel saturates, MatMulNBits does not round activations, and optimisation is off where it
  // would replace float arithmetic between quantizers by integers.
  bool exact = false;
  int threads = 0;  // 0: as many as there are cores
  // How many models run at the same time: each gets its share of the threads, and threads that wait
  // for work leave their core to the others.
  int models_at_once = 1;
  std::string provider = "cpu";
  std::map<std::string, std::string> provider_options;
  std::map<std::string, std::string> config;  // of the session, by ONNX Runtime's keys
  bool operator==(const OrtOptions&) const = default;
};

// The threads of one of several models that run at the same time; 0 for the runtime's own choice.
int threads_of_each(int threads, int models_at_once);

// Names of the execution providers of this build of ONNX Runtime: "cpu", "cuda", ...
std::vector<std::string> available_providers();

// "CPUExecutionProvider" is "cpu".
std::string provider_name(std::string provider);

// Whether a provider's name, in whatever spelling, is that of the cpu.
bool is_cpu(const std::string& provider);

// For a session with these threads, this execution provider and level. Throws Error for a provider
// that cannot be used.
Ort::SessionOptions session_options(const OrtOptions& options, Optimization level);

}  // namespace vernier
