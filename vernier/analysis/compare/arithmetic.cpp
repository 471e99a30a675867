#include "vernier/analysis/compare/arithmetic.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "vernier/analysis/pairing/lockstep.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/index.h"
#include "vernier/runtime/exact.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

struct OutputNoises {
  NoiseSums exact, as_run;
};

// Of each output that has the same name and shape in both models.
std::map<std::string, OutputNoises> measure_outputs(const Model& model, const OrtOptions& runtime,
                                                    const std::vector<ExactSample>& samples) {
  OrtRunner runner(model.clone(), runtime);
  std::map<std::string, OutputNoises> noises;
  for (const ExactSample& sample : samples) {
    const std::vector<Tensor> as_run = runner.run(sample.inputs);
    for (std::size_t i = 0; i < as_run.size(); ++i)
      for (const Tensor& expected : sample.reference) {
        const Tensor& exact = sample.exact[i];
        if (expected.name != exact.name || expected.shape != exact.shape ||
            as_run[i].shape != exact.shape || !is_float(exact.dtype))
          continue;
        OutputNoises& noise = noises[exact.name];
        noise.exact = pool(noise.exact, measure_noise(expected, exact));
        noise.as_run = pool(noise.as_run, measure_noise(expected, as_run[i]));
      }
  }
  return noises;
}

// The node as the file calls it: ONNX Runtime appends "_token_1" to the names of nodes that it
// moves.
std::string name_in_file(const Model& model, const std::string& node) {
  const ModelIndex index(model);
  const std::string original = node.substr(0, node.rfind("_token_"));
  return !index.node(node) && index.node(original) ? original : node;
}

}  // namespace

std::optional<InexactOperator> first_inexact_operator(const Model& model, const Model& exact,
                                                      const OrtOptions& runtime,
                                                      const std::vector<Tensor>& inputs) {
  OrtOptions watching = runtime;
  watching.watch = Watch::all();
  watching.optimization = Optimization::disabled;
  watching.models_at_once = 2;
  OrtRunner as_run(model.clone(), watching), in_exact(exact.clone(), watching);
  LockstepOptions lockstep;
  for (const WatchedTensor& tensor : as_run.watched()) lockstep.requests[tensor.name] = 1;
  std::string first;
  double sqnr = 0;
  const auto observe = [&](const ObservedTensor& tensor, const TakeReference& take) {
    const Tensor* expected = lockstep.requests.contains(tensor.name) ? take(tensor.name) : nullptr;
    if (!expected || !first.empty() || expected->dtype != tensor.dtype ||
        expected->shape.size() != tensor.shape.size() ||
        std::ranges::equal(expected->bytes, tensor.bytes))
      return;
    first = tensor.name;
    sqnr = sqnr_db(measure_noise(*expected, tensor));
  };
  run_lockstep(in_exact, inputs, as_run, inputs, observe, lockstep);
  if (first.empty()) return std::nullopt;
  const ModelIndex index(model);
  const FoundTensor* writer = index.tensor(first);
  if (!writer) return std::nullopt;
  return InexactOperator{node_label(*writer->node), writer->node->op_type(), sqnr};
}

std::optional<ArithmeticLoss> measure_arithmetic_loss(const Model& model, const OrtOptions& runtime,
                                                      const std::vector<ExactSample>& samples) {
  if (runtime.exact) return std::nullopt;
  std::optional<ArithmeticLoss> worst;
  for (const auto& [output, noise] : measure_outputs(model, runtime, samples)) {
    const ArithmeticLoss loss{output, sqnr_db(noise.exact), sqnr_db(noise.as_run)};
    if (std::isfinite(loss.db()) && (!worst || loss.db() > worst->db())) worst = loss;
  }
  if (!worst || !(worst->db() > noticeable_loss_db) || !is_cpu(runtime.provider)) return worst;
  // session.x64quantprecision=1 stores weights of the graph that runs so that no kernel saturates.
  const Model executed = optimize(model, runtime.optimization.value_or(Optimization::all));
  OrtOptions precise = runtime;
  precise.exact = true;
  worst->precise_db = sqnr_db(measure_outputs(executed, precise, samples).at(worst->output).as_run);
  Model unsaturated = executed.clone();
  make_weights_unsigned(unsaturated);
  worst->first_operator = first_inexact_operator(executed, unsaturated, runtime, samples[0].inputs);
  if (auto& first = worst->first_operator) first->node = name_in_file(model, first->node);
  return worst;
}

}  // namespace vernier
