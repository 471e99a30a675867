#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/check/finding.h"
#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/analysis/verdict.h"
#include "vernier/data/samples.h"
#include "vernier/model/model.h"
#include "vernier/runtime/crash.h"
#include "vernier/runtime/host_runner.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

struct CheckOptions {
  std::vector<std::string> only;        // ids; empty: all
  std::vector<std::string> disable;     // ids
  std::filesystem::path reference;      // ONNX, TorchScript, recorded or hosted; empty: none
  HostOptions host = {};                // of a reference that a host runs
  std::filesystem::path preprocessing;  // empty: the file beside the model, if any
  // The samples that the model runs on; unset: random ones, of sizes that the model takes.
  std::function<std::unique_ptr<Samples>(const Model&)> samples;
  double tolerance = 1e-3;      // largest difference from the reference
  bool strict = false;          // warnings fail as well
  bool weight_evidence = true;  // fail where the reference has other weights
  OrtOptions runtime;
  std::shared_ptr<Runner> hosted = {};  // by check() itself: a host is started once
  // Every run in a process of its own, which is forked: a kernel that crashes is a finding.
  bool isolated = false;
  double trial_seconds = 60;  // after which such a run counts as one that does not end; 0: never
  std::function<void(const ProcessEnded&)> process_ended;  // called when it did not end well
};

struct CheckResult {
  Findings findings;  // errors, warnings, notes; each in the order of explanations()
  std::optional<WeightEvidence> weights;  // against those of a reference
  Verdict
      verdict;  // limits on the number of errors and, if strict, of warnings; other weights fail
  std::int64_t count(Severity severity) const;
  bool operator==(const CheckResult&) const = default;
};

// Looks for everything that explanations() lists in an ONNX file. What is wrong with the file is a
// finding; Error is thrown for a file that is not there, ids that do not exist, and a reference or
// samples that cannot be used.
CheckResult check(const std::filesystem::path& model, const CheckOptions& options = {});

}  // namespace vernier
