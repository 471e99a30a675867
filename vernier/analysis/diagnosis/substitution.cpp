#include "vernier/analysis/diagnosis/substitution.h"

#include <algorithm>
#include <utility>

#include "vernier/analysis/compare/compare.h"
#include "vernier/analysis/layers/plan.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Runs the reference and keeps one of its layers from each run.
class Capturing : public Runner {
 public:
  Capturing(Runner& runner, std::string layer) : runner_(runner), layer_(std::move(layer)) {}
  const std::vector<TensorSpec>& inputs() const override { return runner_.inputs(); }
  const std::vector<TensorSpec>& outputs() const override { return runner_.outputs(); }
  bool outputs_are_positional() const override { return runner_.outputs_are_positional(); }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer&) override {
    return runner_.run(inputs, [&](const ObservedTensor& tensor) {
      if (tensor.name == layer_) captured_ = copy(tensor);
    });
  }
  const Tensor& captured() const { return captured_; }

 private:
  Runner& runner_;
  std::string layer_;
  Tensor captured_;
};

// Runs the candidate with the captured layer in place of its watched tensor.
class Substituting : public Runner {
 public:
  Substituting(OrtRunner& runner, const Capturing& reference)
      : runner_(runner), reference_(reference) {}
  const std::vector<TensorSpec>& inputs() const override { return runner_.inputs(); }
  const std::vector<TensorSpec>& outputs() const override { return runner_.outputs(); }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer&) override {
    return runner_.run(inputs, [&](const ObservedTensor& tensor) {
      const Tensor right = convert(reference_.captured(), tensor.dtype);
      is_substituted_ = right.bytes.size() == tensor.writable.size();
      if (is_substituted_) std::ranges::copy(right.bytes, tensor.writable.begin());
    });
  }
  bool is_substituted() const { return is_substituted_; }

 private:
  OrtRunner& runner_;
  const Capturing& reference_;
  bool is_substituted_ = false;
};

}  // namespace

std::optional<std::vector<PairResult>> outputs_with_layer(const LayerRow& row,
                                                          const Model& candidate, Samples& samples,
                                                          const SubstitutionOptions& options) {
  if (row.tensor.empty() || !row.compared || row.layout) return std::nullopt;
  const LayersReference reference = open_layers_reference(options.reference);
  Capturing capturing(*reference.runner, row.layer);
  OrtOptions runtime = options.candidate_runtime;
  runtime.watch = Watch::only({row.tensor});
  OrtRunner watched(candidate.clone(), runtime);
  Substituting substituting(watched, capturing);
  CompareOptions compare_options{.io = options.io};
  compare_options.outputs_by_position = capturing.outputs_are_positional();
  CompareResult result = compare(capturing, substituting, samples, compare_options);
  if (!substituting.is_substituted()) return std::nullopt;
  return std::move(result.outputs);
}

}  // namespace vernier
