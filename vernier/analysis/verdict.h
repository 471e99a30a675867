#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/analysis/limits.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

enum class Precision;

// The only place that judges: every command measures, and asks here what its numbers mean.
// Sentences are made in report/verdict.h.

enum class FailureKind {
  broken,      // a limit was not kept
  unmeasured,  // a limit is on something that was not measured, or could not be
  nonfinite,   // NaN or infinity
  missing,     // one side lacks it
  shape,       // the sides have different shapes
  failed       // a run of its own failed: `value` is the number of its failures
};
std::string_view failure_kind_name(FailureKind kind);

struct Failure {
  std::string subject;  // name of the output, tensor, class...; empty: the whole run
  std::string group;    // what the subject is: "output", "weight", "class"...
  std::string metric;   // for nonfinite: "candidate_nan"...; for missing: the side without it
  double value = NAN;
  std::optional<Limit> limit;
  FailureKind kind = FailureKind::broken;
  Shape reference_shape, candidate_shape;  // of a shape failure
  // The change of layout that makes them agree; empty if none does.
  std::string layout;
  // What the subject's own run said: the error of one that could not be measured, the first failure
  // of one that failed. Empty if unknown.
  std::string reason;
  bool operator==(const Failure&) const = default;
};

// An output, tensor or layer that a side, "reference" or "candidate", does not have.
Failure missing_failure(std::string subject, std::string group, std::string side);
Failure shape_failure(std::string subject, std::string group, Shape reference, Shape candidate,
                      std::string layout = "");
Failure nonfinite_failure(std::string subject, std::string group, std::string metric, double value);

// How many elements of each side are not finite.
struct NonfiniteCounts {
  std::int64_t reference_nan = 0, reference_inf = 0, candidate_nan = 0, candidate_inf = 0;
};
// One failure for each count above 0.
std::vector<Failure> nonfinite_failures(const std::string& subject, const std::string& group,
                                        const NonfiniteCounts& counts);

// Reasons why figures prove nothing, whatever they are.
enum class DoubtKind {
  unlike_calibration,  // the inputs are unlike those that the quantizers were calibrated on
  other_calibration,   // the same for real inputs: their preprocessing or the calibration is wrong
  unlike_training,     // the inputs are unlike those that the batch norms were trained on
  clipping,            // a quantizer cuts off a large share of what goes into it
  narrow_range,        // one quantizer's range is far below what goes into it; others fit
  changed_scale,       // a bias has another scale than its products, unlike all other biases
  narrow_input,        // the input quantizer's range is far below what later ones expect
  other_inputs,        // synthetic inputs that fit nearly as well break the limits
  costly_range,        // a range fits so badly that a fitting one improves the outputs
  other_structure,     // the candidate in float32 is not quite the reference
  unproven_structure,  // the same, and what stayed quantized does not explain it
  missing_activation,  // the candidate has fewer activation functions than the reference
  other_node,          // a node differs from the reference's, which synthetic inputs may not show
  other_checkpoint,    // weights near the reference's, with whose the outputs are clearly better
  misplaced_bias,      // all zeros, or in another order, which the outputs hardly show
  transposed_weight,   // a weight's axes are swapped, which the outputs do not show
  unproven_weight,     // of a layer that was fused, which what follows hardly depends on
  alike_samples,       // the network computes almost the same for all samples
  unknown_inputs,      // synthetic inputs, and nothing tells whether they resemble real ones
  unknown_reference,   // the reference computes NaN or infinity from synthetic inputs
  near_limit,          // broken by no more than synthetic inputs may cost compared with real ones
  other_ids,           // few of an output's class ids (or other integers) equal the reference's
  other_float_ids,     // the same of the candidate in float32, where only ties may differ
  empty_output,        // no sample has an element of an output: nothing was compared
  quiet_part,          // a part of an output differs, but holds next to nothing
  at_chance,           // the reference's answers are unrelated to the labels
  few_samples,         // the difference may be chance; `limit` samples would decide
  interrupted,         // only some of the samples were run; without a limit: not all was done
  caches_not_run,      // the caches of a decoder could not be compared
  not_run,             // check could not run the model, or not in every way: see its findings
  inconclusive_rows,   // rows of a zoo are inconclusive: `value` of `limit`
  missing_rows         // rows of a zoo are not measured: `value` of `limit`
};
std::string_view doubt_kind_name(DoubtKind kind);

struct Doubt {
  DoubtKind kind = DoubtKind::unlike_calibration;
  std::string subject;  // the quantized tensor, missing operator or metric; empty: the inputs
  double value = 0;
  double limit = 0;
  bool operator==(const Doubt&) const = default;
};

enum class Outcome { pass, fail, inconclusive };
std::string_view outcome_name(Outcome outcome);
// The outcome that another run has written; nullopt for any other text.
std::optional<Outcome> parse_outcome(std::string_view name);

// 0 for pass, 1 for fail, 3 for inconclusive.
int exit_code(Outcome outcome);
// Whether a command that ends with this exit code has judged.
bool is_exit_code(int code);

struct Verdict {
  Outcome outcome = Outcome::inconclusive;  // until something is judged
  std::vector<Failure> failures;            // if inconclusive: they may not be real
  std::vector<Doubt> doubts;
  std::vector<Limit> limits;  // as requested; if empty, a pass says only that all was comparable
  bool pass() const { return outcome == Outcome::pass; }
  // False of a pass without limits: only that all was comparable is known.
  bool has_judged() const { return !pass() || !limits.empty(); }
  bool operator==(const Verdict&) const = default;
};

// Fail if there are failures, else pass.
Verdict make_verdict(std::vector<Limit> limits, std::vector<Failure> failures);

// Each of these adds to a verdict and decides the outcome again; nothing else does.

// Adds failures, if any: the outcome is fail, unless the run was interrupted.
Verdict with_failures(Verdict verdict, std::vector<Failure> failures);
// with_failures() of those whose subject has no failure of their kind yet.
Verdict with_further_failures(Verdict verdict, const std::vector<Failure>& failures);
// Adds the failure that explains the others, before them.
Verdict with_cause(Verdict verdict, Failure cause);
// Adds a doubt: a pass becomes inconclusive, a fail stays.
Verdict with_doubt(Verdict verdict, Doubt doubt);
// Adds doubts, if any: inconclusive, since neither failures nor a pass can be relied on.
Verdict withheld(Verdict verdict, std::vector<Doubt> doubts);
// Withholds the verdict of a run that was stopped after `done` of `total` samples; without counts,
// of a search that was.
Verdict interrupted_verdict(Verdict verdict, std::int64_t done = 0, std::int64_t total = 0);

// What limits apply to: its name, the group by which limits may also name it, and its metrics. A
// metric without a value could not be measured.
struct Judged {
  std::string name, group;
  std::vector<std::pair<std::string, std::optional<double>>> metrics;
};

// The failures of limits that are not kept. A limit also fails if its metric could not be measured,
// or if no subject has that metric.
std::vector<Failure> judge(std::span<const Limit> limits, std::span<const Judged> subjects);

// The verdict on metrics of which few samples were measured. `doubts` has one, with the metric as
// its subject, for each limit that the metric's interval leaves open. If no failure is certain,
// they are what the verdict says.
Verdict make_verdict(std::vector<Limit> limits, std::vector<Failure> failures,
                     std::vector<Doubt> doubts);

// The failures but for broken limits on NaN, where NaN has a failure of its own.
std::vector<Failure> without_nan(std::vector<Failure> failures);

// The failures of one subject.
std::vector<Failure> failures_of(const Verdict& verdict, std::string_view subject);

// The limits that a candidate of this precision must keep if no others are given.
std::vector<Limit> default_limits(Precision precision);

// The default limits on a part of an output, whose figures are noisier.
std::vector<Limit> default_part_limits(Precision precision);
// Differences behind a Sigmoid or Softmax that prove no loss, whatever the SQNR: on inputs where
// nothing is found, scores are close to zero, and rounding is as large.
double quiet_difference(Precision precision);

// The default limit on class ids and other integers, which have no SQNR: the share that equals the
// reference's.
Limit default_ids_limit(Precision precision);

}  // namespace vernier
