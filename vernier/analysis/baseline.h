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

// A figure that was accepted. A later run may be worse by the tolerance and no more.
struct AcceptedFigure {
  Limit limit;  // its value is the accepted one
  double tolerance = 0;
  bool operator==(const AcceptedFigure&) const = default;
};

// Accepted figures, kept in a file of JSON that is reviewed like code.
using Baseline = std::vector<AcceptedFigure>;

// Of each output: SQNR on average and of the worst sample, and how often the largest element is the
// same, as they are judged. Beyond 120 dB two outputs differ by rounding alone, which other
// machines do otherwise: no more is accepted.
Baseline baseline_of(const CompareResult& result);
Baseline baseline_of(const DebugResult& result);  // what each output has lost
Baseline baseline_of(const TaskResult& result);   // every metric of the candidate

// Throws Error for what is no baseline, and for metrics that the command has not.
Baseline read_baseline(const std::filesystem::path& path, std::span<const std::string> metrics);

// Tolerances of figures that the file has already are kept. Throws Error without any figure.
void write_baseline(const std::filesystem::path& path, Baseline baseline);

// Under which conditions a run has fallen behind.
std::vector<Limit> limits_of(const Baseline& baseline);

}  // namespace vernier
