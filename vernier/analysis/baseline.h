#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/limits.h"

namespace vernier {

struct CompareResult;
struct DebugResult;
struct TaskResult;

// An accepted figure. A later run may be worse by at most the tolerance.
struct AcceptedFigure {
  Limit limit;  // its value is the accepted figure
  double tolerance = 0;
  bool operator==(const AcceptedFigure&) const = default;
};

// Accepted figures, kept in a JSON file that is reviewed like code.
using Baseline = std::vector<AcceptedFigure>;

// For each output, in exact arithmetic if it was run: SQNR, mean and worst sample, and how often
// the largest element is the same. SQNR is accepted up to 120 dB: beyond that two outputs differ
// only by rounding, which depends on the machine.
Baseline baseline_of(const CompareResult& result);
Baseline baseline_of(const DebugResult& result);  // cumulative SQNR of each output
Baseline baseline_of(const TaskResult& result);   // every metric of the candidate

// Throws Error for a file that is not a baseline, and for metrics that the command does not have.
Baseline read_baseline(const std::filesystem::path& path, std::span<const std::string> metrics);

// Keeps the tolerances of figures that the file already has. Throws Error if there is no figure.
void write_baseline(const std::filesystem::path& path, Baseline baseline);

// The limits that a run breaks if it has fallen behind.
std::vector<Limit> limits_of(const Baseline& baseline);

}  // namespace vernier
