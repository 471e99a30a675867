#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/model/edit.h"
#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

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
  int threads = 0;  // 0: as many as there are cores
  std::string provider = "cpu";
  std::map<std::string, std::string> provider_options;
};

// Runs an ONNX model with ONNX Runtime, showing the watched tensors to the observer as they are
// produced: in execution order, never two at once, without keeping any of them.
class OrtRunner : public Runner {
 public:
  explicit OrtRunner(Model model, OrtOptions options = {});
  ~OrtRunner() override;
  OrtRunner(OrtRunner&&) noexcept;

  const std::vector<TensorSpec>& inputs() const override;
  const std::vector<TensorSpec>& outputs() const override;
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer = {}) override;

  // What is watched, and what was asked for but cannot be, with the reason.
  const Probes& probes() const;
  // Outputs that are no numeric tensors (sequences, strings...): run() leaves them out.
  const std::vector<OtherValue>& skipped_outputs() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The model as ONNX Runtime's optimiser leaves it for the cpu provider.
Model optimize(const Model& model, Optimization level);

// Names of the execution providers of this build of ONNX Runtime: "cpu", "cuda", ...
std::vector<std::string> available_providers();

}  // namespace vernier
