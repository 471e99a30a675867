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
#include "vernier/runtime/host_runner.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

class ProcessEnded;

struct CheckOptions {
  std::vector<std::string> only;        // ids to check; empty for all
  std::vector<std::string> disable;     // ids to skip
  std::filesystem::path reference;      // ONNX, TorchScript, recorded or hosted; empty for none
  HostOptions host = {};                // for a hosted reference
  std::filesystem::path preprocessing;  // empty for the file beside the model, if any
  // The samples that the model runs on; if empty, random ones, of sizes that the model accepts.
  std::function<std::unique_ptr<Samples>(const Model&)> samples;
  double tolerance = 1e-3;      // largest allowed difference from the reference
  bool strict = false;          // warnings fail as well
  bool weight_evidence = true;  // fail if the reference has other weights
  OrtOptions runtime;
  // Set by check(), to start the host and to parse an ONNX reference only once.
  std::shared_ptr<Runner> hosted = {};
  std::shared_ptr<const ModelIndex> reference_model = {};  // null if it cannot be read
  // Runs every trial in a forked process, so that a kernel that crashes is a finding.
  bool isolated = false;
  double trial_seconds = 60;  // timeout of a run in such a process; 0 for none
  std::function<void(const ProcessEnded&)> process_ended;  // on a crash, timeout or lack of memory
};

struct CheckResult {
  Findings findings;  // errors, warnings, notes; each in the order of finding_kinds()
  std::optional<WeightEvidence> weights;  // compared with the reference's
  Verdict verdict;  // fails on errors, on warnings if strict, and on other weights
  std::int64_t count(Severity severity) const;
  bool operator==(const CheckResult&) const = default;
};

// Checks an ONNX file for everything that finding_kinds() lists. Defects of the file are findings;
// throws Error for a missing file, unknown ids, and an unusable reference or samples.
CheckResult check(const std::filesystem::path& model, const CheckOptions& options = {});

// The model to check; null if the file is damaged, which is a finding. Throws Error for a
// missing file and for other formats.
std::unique_ptr<const ModelIndex> load_to_check(const std::filesystem::path& path);
// check() of a model that load_to_check() has loaded.
CheckResult check(const std::filesystem::path& path, const ModelIndex* model,
                  const CheckOptions& options);

}  // namespace vernier
