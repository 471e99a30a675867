#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/task/task.h"
#include "vernier/analysis/verdict.h"
#include "vernier/metrics/bootstrap.h"

namespace vernier {

// All numbers of a result are rounded to 4 decimals; metrics are in percent.

struct MetricResult {
  std::string name;
  double candidate = 0;
  std::optional<double> reference;
  std::optional<double> delta;   // candidate - reference
  ConfidenceInterval interval;   // bootstrap, of the delta if there is one, else of the candidate
  std::optional<double> chance;  // what guessing without looking gives
  bool operator==(const MetricResult&) const = default;
};

struct ClassResult {
  std::int64_t label = 0;
  std::string name;  // the label's name, or its number
  std::int64_t support = 0;
  double candidate = 0;
  std::optional<double> reference;
  bool operator==(const ClassResult&) const = default;
};

// How alike the two sides answer, beyond their metrics; empty where the task has no such measure.
struct Agreement {
  std::optional<Flips> flips;
  std::optional<double> neighbour_overlap;  // mean share of common neighbours, 0 to 1
  std::optional<double> rank_correlation;   // mean Spearman correlation, -1 to 1
  std::optional<double> changed_share;      // of pixels or tokens, 0 to 1
  bool operator==(const Agreement&) const = default;
};

// Where the time went, in seconds.
struct TaskTimings {
  double waiting = 0;    // for examples to be read, decoded and preprocessed
  double reference = 0;  // inside the runtime
  double candidate = 0;  // the same
  double scoring = 0;
  bool operator==(const TaskTimings&) const = default;
};

// How well a task is done: by the candidate alone, or beside its reference.
struct TaskResult {
  std::int64_t samples = 0;
  std::vector<MetricResult> metrics;
  Agreement agreement;
  // Those that the two sides answer otherwise, by their number: in the dataset, where they are from
  // one, else among the samples.
  std::vector<FlippedSample> flipped;
  std::map<std::int64_t, std::string> flipped_names;  // of the classes in them that have names
  std::string class_metric;
  std::vector<ClassResult> classes;
  std::vector<std::pair<std::string, std::int64_t>> counts;  // of the candidate
  std::vector<std::string> warnings;
  Verdict verdict;
  TaskTimings timings;       // of models that were run
  bool interrupted = false;  // only what was done before is scored
  bool operator==(const TaskResult&) const = default;
};

struct JudgeOptions {
  double verdict = 0.5;    // percentage points that a metric may be below the reference's...
  bool two_sided = false;  // ...or above it
  std::vector<Limit> limits;
  BootstrapOptions bootstrap;
  std::map<std::int64_t, std::string> class_names;  // by label; those without one are numbers
};

// The measures of agreement that are there, by name: flipped, flipped_to_wrong, flipped_to_right,
// neighbour_overlap, rank_correlation, changed_share.
std::vector<std::pair<std::string, double>> agreement_values(const Agreement& agreement);

// What limits may name: the metrics, the metric of the classes, and, where there is a reference,
// <metric>_delta and the measures of agreement that go with such metrics.
std::vector<std::string> task_limit_metrics(const TaskMetrics& metrics, bool has_reference);

// Judges the candidate's scores: a metric that is NaN fails, one that differs from the reference's
// by more than the verdict allows fails, and so do a broken limit and samples answered with NaN.
// Where the interval of such a difference holds zero, the samples are too few to tell, and the
// verdict is inconclusive. A metric that is no better than chance is a warning, unless it is 100.
// `reference` may be null.
TaskResult judge_scores(const Scores* reference, const Scores& candidate,
                        const JudgeOptions& options = {});

}  // namespace vernier
