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
  double change_db = 0;   // of the worst output against that of the stage before; inf: the same
  bool is_moved = false;  // by more than rounding explains
  std::vector<std::string> optimizers;  // whose absence leaves the output where it was
  bool operator==(const RuntimeStage&) const = default;
};

// Runs the candidate as the file says, at each optimisation level and on the provider of `runtime`,
// and compares each stage with the reference and with the stage before, on the first samples. Of
// the first stage that is moved, the optimisers that move it are found by disabling them.
std::vector<RuntimeStage> run_stages(Runner& reference, const Model& model,
                                     const OrtOptions& runtime, Samples& samples,
                                     const IoMapping& io = {});

}  // namespace vernier
