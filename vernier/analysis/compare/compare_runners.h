#pragma once

#include <filesystem>
#include <memory>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {

// Two models of any format, of which only outputs can be compared, and what both are fed.
struct OpenedRunners {
  std::unique_ptr<Runner> reference, candidate;
  Inputs inputs;
};

struct OpenRunnersOptions {
  RunnerOptions reference, candidate;  // a host's example: what it is asked to run first
  IoMapping io;
};

// Inputs are the reference's, else the candidate's; a live candidate is told what it will be fed.
// Two recordings must hold equally many samples.
OpenedRunners open_runners(const std::filesystem::path& reference,
                           const std::filesystem::path& candidate, const InputSpec& spec,
                           OpenRunnersOptions options);

}  // namespace vernier
