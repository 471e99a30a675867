#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/data/samples.h"
#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// One way of running the candidate.
struct RuntimeStage {
  std::string name;       // "exact", "off", "basic", "extended", "all", or a provider
  double sqnr_db = 0;     // of the worst output against the reference's
  double change_db = 0;   // of the worst output against the previous stage's; inf if equal
  bool is_moved = false;  // the output changed by more than rounding explains
  std::vector<std::string> optimizers;  // the output does not change if all of them are disabled
  bool operator==(const RuntimeStage&) const = default;
};

// Runs the candidate in exact arithmetic, at each optimisation level and on the provider of
// `runtime`. Compares each stage with the reference and the previous stage, on the first samples.
// If the first stage that is moved runs on the CPU, finds the optimisers that move it by disabling
// them.
std::vector<RuntimeStage> run_stages(Runner& reference, const Model& model,
                                     const OrtOptions& runtime, Samples& samples,
                                     const IoMapping& io = {});

}  // namespace vernier
