#pragma once

#include <filesystem>
#include <memory>

#include "vernier/analysis/compare/compare.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {

// Two opened models of any format, of which only outputs can be compared, and their inputs.
struct OpenedRunners {
  std::unique_ptr<Runner> reference, candidate;
  Inputs inputs;
};

struct CompareRunnersOptions {
  CompareOptions compare;                 // of its evidence, nothing is to be set
  Precision precision = Precision::fp32;  // the candidate's, which such a file does not tell
  RunnerOptions reference, candidate;     // host.example: the inputs of a host's first run
};

// Inputs are made for the reference, or for the candidate if the reference takes none; a live
// candidate is told what it will be fed. Completes `options.compare` for compare(): limits,
// evidence and how outputs are paired. Throws Error if two recordings differ in sample count.
OpenedRunners open_runners(const std::filesystem::path& reference,
                           const std::filesystem::path& candidate, const InputSpec& spec,
                           CompareRunnersOptions& options);

}  // namespace vernier
