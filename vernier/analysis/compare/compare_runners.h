#pragma once

#include <filesystem>
#include <memory>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {

// Two opened models of any format, of which only outputs can be compared, and their inputs.
struct OpenedRunners {
  std::unique_ptr<Runner> reference, candidate;
  Inputs inputs;
};

struct OpenRunnersOptions {
  RunnerOptions reference, candidate;  // host.example: the inputs of a host's first run
  IoMapping io;
};

// Inputs are made for the reference, or for the candidate if the reference takes none; a live
// candidate is told what it will be fed. Throws Error if two recordings differ in sample count.
OpenedRunners open_runners(const std::filesystem::path& reference,
                           const std::filesystem::path& candidate, const InputSpec& spec,
                           OpenRunnersOptions options);

}  // namespace vernier
