#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

class ModelIndex;

// Whether a loss, between exact arithmetic and the file as run, is reported and explained.
inline bool is_noticeable_loss(std::optional<double> loss_db) {
  return loss_db.value_or(0) > noticeable_db;
}

// Whether a run regained more than half of the loss: what that run changed is then the cause.
inline bool gives_back(double loss_db, std::optional<double> regained_db) {
  return regained_db && *regained_db > loss_db / 2;
}

// A sample, with the outputs of the float model and of the quantized model in exact arithmetic.
struct ExactSample {
  std::vector<Tensor> inputs;
  std::vector<Tensor> reference, exact;
};

// An operator of the graph that ONNX Runtime runs whose output differs from exact arithmetic.
struct InexactOperator {
  std::string node, op;
  double sqnr_db = 0;  // of the output on exact inputs, against the output in exact arithmetic
  bool operator==(const InexactOperator&) const = default;
};

// A change that a run has shown to regain most of a loss.
struct RuntimeRemedy {
  enum class Kind {
    x64_precision,   // session.x64quantprecision=1: integer kernels that do not saturate
    float_products,  // session.qdq_matmulnbits_accuracy_level=1: activations are not rounded
    accuracy_level,  // attribute accuracy_level=1 on the file's own MatMulNBits nodes
    keep_in_float,   // the nodes are left unquantized
    no_integers,     // session.disable_quant_qdq=1: Q-DQ pairs are not replaced by integer kernels
    basic_level      // optimisations up to ORT_ENABLE_BASIC
  };
  Kind kind = Kind::x64_precision;
  std::vector<std::string> nodes = {};  // nodes of the file to change; empty for a session option
  double sqnr_db = 0;                   // with the remedy, of the output that loses most
  bool operator==(const RuntimeRemedy&) const = default;
};

// SQNR of one output of a quantized model against the float model's output, in three arithmetics.
struct ArithmeticLoss {
  std::string output;                // the output that loses most
  double exact_db = 0;               // integer arithmetic as the file specifies it
  double as_run_db = 0;              // this CPU's kernels, with ONNX Runtime's optimisations
  std::optional<double> precise_db;  // as run, but with session.x64quantprecision=1
  std::optional<InexactOperator> first_operator;  // the first in execution order
  std::optional<RuntimeRemedy> remedy;            // the cheapest one that was found
  double db() const { return exact_db - as_run_db; }
  // What session.x64quantprecision=1 regains; nullopt if it was not measured.
  std::optional<double> regained_db() const {
    return precise_db ? std::optional(*precise_db - as_run_db) : std::nullopt;
  }
  bool operator==(const ArithmeticLoss&) const = default;
};

// Whether a loss counts as one of this CPU's integer kernels: if it is too small to be explained,
// or if session.x64quantprecision=1 is its remedy.
inline bool is_of_kernels(std::optional<double> loss_db, const std::optional<ArithmeticLoss>& why) {
  return !is_noticeable_loss(loss_db) ||
         (why && why->remedy && why->remedy->kind == RuntimeRemedy::Kind::x64_precision);
}

// A quantized model, its float model and how it is run. If `reference` is null, no remedy that
// keeps nodes in float is tried.
struct LossyModel {
  const ModelIndex& model;
  const ModelIndex* reference = nullptr;
  const OrtOptions& runtime;
};

// Measures the loss of this machine's default run on the samples, and explains it if it is
// noticeable. nullopt if no output could be compared, or if the runtime asks for exact arithmetic.
std::optional<ArithmeticLoss> measure_arithmetic_loss(const LossyModel& lossy,
                                                      const std::vector<ExactSample>& samples);

// Runs a model and returns the SQNR of the output that loses most; NaN if that output cannot be
// compared, as one of another shape.
using ScoreRun = std::function<double(const Model& model, const OrtOptions& runtime)>;

// Explains a loss on the CPU; does nothing on other providers. Adds what x64quantprecision regains,
// the first inexact operator on one sample, and the cheapest remedy that a run proves.
void explain_loss(ArithmeticLoss& loss, const LossyModel& lossy, const std::vector<Tensor>& inputs,
                  const ScoreRun& score);

// The operators of `executed`, a graph as ONNX Runtime runs it, whose outputs differ from those of
// `exact` in exact arithmetic, in execution order. Every operator is given exact inputs. Tensors
// are paired by name. Operators with far less noise than the worst one are left out.
std::vector<InexactOperator> inexact_operators(const ModelIndex& executed, const ModelIndex& exact,
                                               const OrtOptions& runtime,
                                               const std::vector<Tensor>& inputs);

}  // namespace vernier
