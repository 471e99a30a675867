#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

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
  // nullopt: disabled if intermediate tensors are watched, else all. If both are set, the observer
  // is shown the tensors of the optimised graph.
  std::optional<Optimization> optimization;
  std::vector<std::string> disabled_optimizers;  // by ONNX Runtime's names: "MatMulAddFusion"
  // Makes integer products independent of the CPU: int8 weights become uint8, whose kernels do not
  // saturate; MatMulNBits does not round activations; optimisation is disabled if it would replace
  // float arithmetic between quantizers by integer kernels.
  bool exact = false;
  int threads = 0;  // 0 means one per core
  // How many models run at the same time. The threads are divided among them, and idle threads do
  // not spin.
  int models_at_once = 1;
  std::string provider = "cpu";
  std::map<std::string, std::string> provider_options;
  std::map<std::string, std::string> config;  // session config entries, by ONNX Runtime's keys
  bool operator==(const OrtOptions&) const = default;
};

// The number of threads for each of several models that run at the same time; 0 lets the runtime
// choose.
int threads_of_each(int threads, int models_at_once);

// The execution providers in the loaded ONNX Runtime: "cpu", "cuda", ...
std::vector<std::string> available_providers();
// Whether a session can be made for one of these: its libraries may be missing.
bool can_be_used(const std::string& provider);

// Throws Error unless the loaded ONNX Runtime has the provider.
void require_provider(const std::string& provider);

// The short name of a provider: "cpu" for "CPUExecutionProvider".
std::string provider_name(std::string provider);

// Whether the provider is the CPU's, in any spelling.
bool is_cpu(const std::string& provider);

}  // namespace vernier
