#include "vernier/analysis/compare/arithmetic.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "vernier/analysis/pairing/introduced.h"
#include "vernier/analysis/quantize/tune.h"
#include "vernier/error.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/index.h"
#include "vernier/runtime/exact.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// An operator is reported if its SQNR is less than this above the worst operator's.
constexpr double far_less_db = 12;
// A different order of additions alone leaves at least this SQNR.
constexpr double only_rounding_db = 90;

struct OutputNoises {
  NoiseSums exact, as_run;
};

// The noise of each float output that has the same name and shape in both models.
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

// The node's name in the file: ONNX Runtime appends "_token_1" to the names of nodes that it moves.
std::string name_in_file(const ModelIndex& index, const std::string& node) {
  const std::string original = node.substr(0, node.rfind("_token_"));
  return !index.node(node) && index.node(original) ? original : node;
}

// SQNR without the mean of integer tensors: quantized codes have a zero point, which is no signal.
double own_sqnr_db(const TensorView& expected, const TensorView& found) {
  const std::vector<double> reference = to_f64(expected), candidate = to_f64(found);
  const auto count = static_cast<double>(reference.size());
  double mean = 0, signal = 0, noise = 0;
  if (!is_float(expected.dtype))
    for (const double value : reference) mean += value / count;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    signal += (reference[i] - mean) * (reference[i] - mean);
    noise += (reference[i] - candidate[i]) * (reference[i] - candidate[i]);
  }
  return noise == 0 ? INFINITY : 10 * std::log10(signal / noise);
}

// Level `all` is lowered to `extended`: its layout changes rename tensors.
Optimization named_level(const OrtOptions& runtime) {
  return std::min(runtime.optimization.value_or(Optimization::all), Optimization::extended);
}

// Tries changes to the run, the cheapest first, until one regains most of the loss.
class Remedies {
 public:
  Remedies(const LossyModel& lossy, const ScoreRun& score, const ArithmeticLoss& loss)
      : lossy_(lossy), score_(score), loss_(loss) {}

  std::optional<RuntimeRemedy> cheapest(const Model& executed,
                                        const std::vector<InexactOperator>& operators) {
    using Kind = RuntimeRemedy::Kind;
    if (loss_.precise_db) consider(Kind::x64_precision, {}, [&] { return *loss_.precise_db; });
    const std::vector<std::string> rounding = nodes_with_rounded_activations(lossy_.model.model());
    if (nodes_with_rounded_activations(executed).size() > rounding.size())
      consider(Kind::float_products, {},
               [&] { return with_config("session.qdq_matmulnbits_accuracy_level"); });
    if (!rounding.empty())
      consider(Kind::accuracy_level, rounding, [&] {
        Model changed = lossy_.model.model().clone();
        keep_activations_in_float(changed);
        return score_(changed, lossy_.runtime);
      });
    for (const std::vector<std::string>& nodes : nodes_to_keep(operators))
      consider(Kind::keep_in_float, nodes, [&] {
        return score_(keep_nodes(lossy_.model, *lossy_.reference, nodes), lossy_.runtime);
      });
    if (has_dequantized_operands(lossy_.model.model()))
      consider(Kind::no_integers, {}, [&] { return with_config("session.disable_quant_qdq"); });
    consider(Kind::basic_level, {}, [&] {
      OrtOptions basic = lossy_.runtime;
      basic.optimization = Optimization::basic;
      return score_(lossy_.model.model(), basic);
    });
    return std::move(found_);
  }

 private:
  template <typename Run>
  void consider(RuntimeRemedy::Kind kind, std::vector<std::string> nodes, Run run) {
    if (found_) return;
    try {
      const double sqnr = run();
      if (gives_back(loss_.db(), sqnr - loss_.as_run_db))
        found_ = RuntimeRemedy{kind, std::move(nodes), sqnr};
    } catch (const Stopped&) {
      throw;
    } catch (const Error&) {
      // A change that cannot be run is no remedy.
    }
  }

  double with_config(const char* key) {
    OrtOptions runtime = lossy_.runtime;
    runtime.config[key] = "1";
    return score_(lossy_.model.model(), runtime);
  }

  // The sets of nodes to try: the first operator, then all operators of its type.
  std::vector<std::vector<std::string>> nodes_to_keep(
      const std::vector<InexactOperator>& operators) const {
    if (operators.empty() || !lossy_.reference) return {};
    std::vector<std::vector<std::string>> sets = {{operators.front().node}};
    std::vector<std::string> alike;
    for (const InexactOperator& each : operators)
      if (each.op == operators.front().op) alike.push_back(each.node);
    if (alike.size() > 1) sets.push_back(std::move(alike));
    std::erase_if(sets, [&](const std::vector<std::string>& nodes) {
      return !can_keep_nodes(lossy_.model, *lossy_.reference, nodes);
    });
    return sets;
  }

  const LossyModel& lossy_;
  const ScoreRun& score_;
  const ArithmeticLoss& loss_;
  std::optional<RuntimeRemedy> found_;
};

}  // namespace

std::vector<InexactOperator> inexact_operators(const ModelIndex& executed, const ModelIndex& exact,
                                               const OrtOptions& runtime,
                                               const std::vector<Tensor>& inputs) {
  OrtOptions watching = runtime;
  watching.watch = Watch::all();
  watching.optimization = Optimization::disabled;
  watching.models_at_once = 2;
  OrtRunner as_run(executed.model().clone(), watching);
  watching.exact = true;
  OrtRunner in_exact(exact.model().clone(), watching);
  RequestCounts requests;
  for (const WatchedTensor& tensor : as_run.watched()) requests[tensor.name] = 1;
  std::vector<std::pair<std::string, double>> tensors;
  const auto measure = [&](const ObservedTensor& tensor, const TakeReference& take) {
    const Tensor* expected = requests.contains(tensor.name) ? take(tensor.name) : nullptr;
    if (!expected || expected->dtype != tensor.dtype ||
        expected->bytes.size() != tensor.bytes.size())
      return std::vector<std::byte>();
    tensors.emplace_back(tensor.name, own_sqnr_db(*expected, tensor));
    return expected->bytes;
  };
  run_on_reference_inputs(in_exact, inputs, as_run, inputs, measure, requests);
  double worst = only_rounding_db - far_less_db;
  for (const auto& [tensor, sqnr] : tensors)  // -inf, of a tensor without signal, is no measure
    if (std::isfinite(sqnr)) worst = std::min(worst, sqnr);
  std::vector<InexactOperator> operators;
  for (const auto& [tensor, sqnr] : tensors)
    if (const FoundTensor* writer = executed.tensor(tensor); writer && sqnr < worst + far_less_db)
      operators.push_back(
          {name_in_file(exact, node_label(*writer->node)), writer->node->op_type(), sqnr});
  return operators;
}

void explain_loss(ArithmeticLoss& loss, const LossyModel& lossy, const std::vector<Tensor>& inputs,
                  const ScoreRun& score) {
  if (!is_cpu(lossy.runtime.provider)) return;
  // As session.x64quantprecision=1 does: stores the graph's weights so that no kernel saturates.
  Model unsaturated =
      optimize(lossy.model.model(), lossy.runtime.optimization.value_or(Optimization::all));
  make_weights_unsigned(unsaturated);
  OrtOptions as_it_is = lossy.runtime;
  as_it_is.optimization = Optimization::disabled;
  if (const double precise = score(unsaturated, as_it_is); !std::isnan(precise))
    loss.precise_db = precise;
  const ModelIndex executed(optimize(lossy.model.model(), named_level(lossy.runtime)));
  std::vector<InexactOperator> operators;
  try {
    operators = inexact_operators(executed, lossy.model, lossy.runtime, inputs);
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    // A graph that cannot be watched has no first operator.
  }
  if (!operators.empty()) loss.first_operator = operators.front();
  loss.remedy = Remedies(lossy, score, loss).cheapest(executed.model(), operators);
}

std::optional<ArithmeticLoss> measure_arithmetic_loss(const LossyModel& lossy,
                                                      const std::vector<ExactSample>& samples) {
  if (lossy.runtime.exact) return std::nullopt;
  std::optional<ArithmeticLoss> worst;
  for (const auto& [output, noise] : measure_outputs(lossy.model.model(), lossy.runtime, samples)) {
    const ArithmeticLoss loss{output, sqnr_db(noise.exact), sqnr_db(noise.as_run)};
    if (std::isfinite(loss.db()) && (!worst || loss.db() > worst->db())) worst = loss;
  }
  if (!worst || !is_noticeable_loss(worst->db())) return worst;
  explain_loss(*worst, lossy, samples[0].inputs,
               [&](const Model& model, const OrtOptions& runtime) {
                 const auto noises = measure_outputs(model, runtime, samples);
                 const auto found = noises.find(worst->output);
                 return found == noises.end() ? NAN : sqnr_db(found->second.as_run);
               });
  return worst;
}

}  // namespace vernier
