#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// From here on, what integer kernels lose is a finding.
inline constexpr double noticeable_loss_db = 0.5;

// Whether a run without saturating kernels gave back most of what was lost: these are to blame
// then.
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
  double sqnr_db = 0;  // of its output, against that in exact arithmetic
  bool operator==(const InexactOperator&) const = default;
};

// SQNR of one output of a quantized model against the float model's, in three arithmetics.
struct ArithmeticLoss {
  std::string output;                // the one that loses most
  double exact_db = 0;               // integer products as the file says
  double as_run_db = 0;              // by this CPU's kernels, with ONNX Runtime's optimisations
  std::optional<double> precise_db;  // the same with session.x64quantprecision=1
  std::optional<InexactOperator> first_operator;  // in the order of execution
  double db() const { return exact_db - as_run_db; }
  bool operator==(const ArithmeticLoss&) const = default;
};

// Runs the samples as this machine does by default. Where the loss is noticeable and the provider
// is the cpu, also with session.x64quantprecision=1, and the first sample operator by operator.
// Nothing where no output could be compared, or `runtime` asks for exact arithmetic.
std::optional<ArithmeticLoss> measure_arithmetic_loss(const Model& model, const OrtOptions& runtime,
                                                      const std::vector<ExactSample>& samples);

// The first operator of `model` whose output differs from that of `exact`, a model with the same
// nodes and other weights; nothing: none does.
std::optional<InexactOperator> first_inexact_operator(const Model& model, const Model& exact,
                                                      const OrtOptions& runtime,
                                                      const std::vector<Tensor>& inputs);

}  // namespace vernier
