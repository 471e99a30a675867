#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// From here on, what is lost between the file and its run is a finding.
inline constexpr double noticeable_loss_db = 0.5;

// Whether a run gave back most of what was lost: what it did otherwise is to blame then.
inline bool gives_back(double loss_db, std::optional<double> regained_db) {
  return regained_db && *regained_db > loss_db / 2;
}

// A sample, what the float model makes of it, and the quantized one in exact arithmetic.
struct ExactSample {
  std::vector<Tensor> inputs;
  std::vector<Tensor> reference, exact;
};

// An operator of the graph that ONNX Runtime runs, whose output is not what exact arithmetic gives.
struct InexactOperator {
  std::string node, op;
  double sqnr_db = 0;  // of its output on exact inputs, against that in exact arithmetic
  bool operator==(const InexactOperator&) const = default;
};

// What gives back most of a loss, as a run has shown.
struct RuntimeRemedy {
  enum class Kind {
    x64_precision,   // session.x64quantprecision=1: integer kernels that do not saturate
    float_products,  // session.qdq_matmulnbits_accuracy_level=1: activations are not rounded
    accuracy_level,  // the same for MatMulNBits nodes of the file, by their attribute
    keep_in_float,   // nodes that are not quantized
    no_integers,     // session.disable_quant_qdq=1: no integer kernels in the place of Q-DQ pairs
    basic_level      // optimisations up to ORT_ENABLE_BASIC
  };
  Kind kind = Kind::x64_precision;
  std::vector<std::string> nodes = {};  // of the file, for a remedy that changes it
  double sqnr_db = 0;                   // of the output that loses most, with it
  bool operator==(const RuntimeRemedy&) const = default;
};

// SQNR of one output of a quantized model against the float model's, in three arithmetics.
struct ArithmeticLoss {
  std::string output;                // the one that loses most
  double exact_db = 0;               // integer products as the file says
  double as_run_db = 0;              // by this CPU's kernels, with ONNX Runtime's optimisations
  std::optional<double> precise_db;  // the same with session.x64quantprecision=1
  std::optional<InexactOperator> first_operator;  // in the order of execution
  std::optional<RuntimeRemedy> remedy;            // the cheapest
  double db() const { return exact_db - as_run_db; }
  // What session.x64quantprecision=1 gives back; nothing: not measured.
  std::optional<double> regained_db() const {
    return precise_db ? std::optional(*precise_db - as_run_db) : std::nullopt;
  }
  bool operator==(const ArithmeticLoss&) const = default;
};

// The models of a loss. `reference` is the float model, or null: then no node is kept in float.
struct LossyModel {
  const Model& model;
  const Model* reference = nullptr;
  const OrtOptions& runtime;
};

// Runs the samples as this machine does by default. A noticeable loss is explained. Nothing where
// no output could be compared, or the runtime asks for exact arithmetic.
std::optional<ArithmeticLoss> measure_arithmetic_loss(const LossyModel& lossy,
                                                      const std::vector<ExactSample>& samples);

// The SQNR of the output that loses most, of a model that is run so.
using ScoreRun = std::function<double(const Model& model, const OrtOptions& runtime)>;

// Adds to a loss on the cpu what x64quantprecision gives back, the first operator where it opens,
// found on one sample, and the cheapest remedy that a run shows to give back most of it.
void explain_loss(ArithmeticLoss& loss, const LossyModel& lossy, const std::vector<Tensor>& inputs,
                  const ScoreRun& score);

// The operators of `executed`, a graph as ONNX Runtime runs it, whose output differs from that of
// `exact` in exact arithmetic, each on exact inputs and in the order of execution. Tensors are
// paired by name. Operators that add far less noise than the worst one are left out.
std::vector<InexactOperator> inexact_operators(const Model& executed, const Model& exact,
                                               const OrtOptions& runtime,
                                               const std::vector<Tensor>& inputs);

}  // namespace vernier
