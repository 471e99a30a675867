#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/task/task.h"
#include "vernier/analysis/verdict.h"
#include "vernier/metrics/bootstrap.h"
#include "vernier/warning.h"

namespace vernier {

// All numbers of a result are rounded to 4 decimals. Metrics are in percent, except fill-mask's.

struct MetricResult {
  std::string name;
  double candidate = 0;
  std::optional<double> reference;
  std::optional<double> delta;   // candidate - reference
  ConfidenceInterval interval;   // bootstrap, of the delta if there is one, else of the candidate
  std::optional<double> chance;  // score of the best guess that ignores the input
  bool allowed = false;          // the delta keeps JudgeOptions::verdict; false if there is none
  bool uncertain = false;        // the delta is allowed, but not all of its interval
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

// How similarly the two sides answer, beyond their metrics; nullopt if the task does not measure
// it.
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
  double candidate = 0;  // inside the runtime
  double scoring = 0;
  bool operator==(const TaskTimings&) const = default;
};

// How well a task is done by the candidate, alone or compared with its reference.
struct TaskResult {
  std::int64_t samples = 0;
  std::vector<MetricResult> metrics;
  Agreement agreement;
  // The samples that the two sides answer differently, by their number in the dataset if they are
  // from one, else among the samples.
  std::vector<FlippedSample> flipped;
  std::map<std::int64_t, std::string> flipped_names;  // of the classes in `flipped`
  std::string class_metric;
  std::vector<ClassResult> classes;
  std::vector<std::pair<std::string, std::int64_t>> counts;  // for the candidate
  std::vector<Warning> warnings;
  Verdict verdict;
  TaskTimings timings;       // if models were run
  bool interrupted = false;  // only the samples before the interruption are scored
  bool operator==(const TaskResult&) const = default;
};

struct JudgeOptions {
  double verdict = 0.5;    // allowed drop below the reference's metric, in percentage points
  bool two_sided = false;  // limits a rise above it alike
  std::vector<Limit> limits;
  BootstrapOptions bootstrap;
  // By label; classes without a name are shown by number.
  std::map<std::int64_t, std::string> class_names;
};

// The measures of agreement that are set, by name: flipped, flipped_to_wrong, flipped_to_right,
// neighbour_overlap, rank_correlation, changed_share.
std::vector<std::pair<std::string, double>> agreement_values(const Agreement& agreement);

// The metrics that limits may name: the task's metrics, the metric of its classes and, if there is
// a reference, <metric>_delta and the measures of agreement that the task has.
std::vector<std::string> task_limit_metrics(const TaskMetrics& metrics, bool has_reference);

// Judges the candidate's scores. Failures are: a metric that is NaN, a metric further from the
// reference's than `options.verdict` allows, a broken limit, and samples that a side answers with
// NaN. The verdict is inconclusive if all failures are such differences and their intervals hold
// zero: the samples are too few to tell. A metric that is no better than chance is a warning,
// unless it is 100. `reference` may be null.
TaskResult judge_scores(const Scores* reference, const Scores& candidate,
                        const JudgeOptions& options = {});

// A warning if an example is answered differently alone than in a batch, by more than the order of
// additions explains. `alone_db` is the SQNR between the two answers.
std::optional<Warning> batch_dependence(double alone_db);

}  // namespace vernier
