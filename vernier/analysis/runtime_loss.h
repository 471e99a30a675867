#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/data/samples.h"
#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// What is lost between the file and its results on this machine: the SQNR of the candidate's
// output against the reference's, with arithmetic as the file says and as it runs here.
struct RuntimeLoss {
  std::string output;  // the one that loses most
  double exact_sqnr_db = 0;
  double deployed_sqnr_db = 0;
  std::int64_t samples = 0;
  double loss_db() const;   // 0 where both are exact
  bool is_notable() const;  // more than 0.5 dB, or not a number
  bool operator==(const RuntimeLoss&) const = default;
};

// Measures it on the first samples, where the model holds integers: kernels for uint8 x int8
// saturate on some CPUs. `deployed` runs the model with `runtime`. Nothing for a model without
// integers, or one that is run with exact arithmetic anyway.
std::optional<RuntimeLoss> measure_runtime_loss(Runner& reference, Runner& deployed,
                                                const Model& model, const OrtOptions& runtime,
                                                Samples& samples, std::int64_t most_samples = 4);

// One way of running the candidate.
struct RuntimeStage {
  std::string name;       // "exact", "off", "basic", "extended", "all", or a provider
  double sqnr_db = 0;     // of the worst output against the reference's
  double change_db = 0;   // of the worst output against that of the stage before; inf: the same
  bool is_moved = false;  // by more than rounding explains
  std::vector<std::string> optimizers;  // whose absence leaves the output where it was
  bool operator==(const RuntimeStage&) const = default;
};

// Runs the candidate as the file says, at each optimisation level and on the provider of `runtime`,
// and compares each stage with the reference and with the stage before. Of the first stage that is
// moved, the optimisers that move it are found by disabling them.
std::vector<RuntimeStage> run_stages(Runner& reference, const Model& model,
                                     const OrtOptions& runtime, Samples& samples,
                                     std::int64_t most_samples = 4);

}  // namespace vernier
