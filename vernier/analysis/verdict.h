#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/analysis/limits.h"
#include "vernier/model/precision.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The only judge: every command measures, and asks here what its numbers mean. Sentences are made
// in report/verdict.h.

enum class FailureKind {
  broken,      // a limit was not kept
  unmeasured,  // a limit is on something that was not, or could not be, measured
  nonfinite,   // NaN or infinity
  missing,     // one side does not have it
  shape        // the sides have different shapes
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
  std::string layout;                      // that makes these agree, if any does
  bool operator==(const Failure&) const = default;
};

// Why figures prove nothing, whatever they are.
enum class DoubtKind {
  unlike_calibration,  // the inputs are unlike those that the quantizers were calibrated on
  other_calibration,   // the same of real inputs: their preprocessing or the calibration is wrong
  unlike_training,     // the inputs are unlike those that the batch norms were trained on
  clipping,            // a quantizer cuts off a large share of what goes into it
  narrow_range,        // a quantizer's range is far below what goes into it, others' are not
  changed_scale,       // a bias is stored in other steps than its products, unlike all others
  narrow_input,        // the input's quantizer has a range far below what those behind it expect
  other_inputs,        // made-up inputs that fit nearly as well do not keep the limits
  costly_range,        // a range fits so badly that one that fits betters the outputs
  other_structure,     // the candidate in float32 is not quite the reference
  missing_activation,  // the candidate has fewer activation functions than the reference
  other_node,          // a node is not the reference's, and made-up inputs need not show it
  alike_samples,       // to the network all samples are one sample
  unknown_inputs,      // made-up inputs, and nothing tells whether they are like real ones
  unknown_reference,   // of made-up inputs the reference makes NaN or infinity
  near_limit,          // broken by no more than made-up inputs may lose beside real ones
  other_ids,           // of an output's class ids or the like few are the reference's
  quiet_part,          // a part of an output is unlike, where there is next to nothing in it
  at_chance,           // the reference's answers have nothing to do with the labels
  few_samples,         // a difference that so few samples show by chance; the limit would decide
  interrupted,         // only some of the samples were run
  caches_not_run,      // what a decoder keeps for the next token could not be compared
  not_run              // check could not try the model, or not in every way: see its findings
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

// 0 for a pass, 1 for a failure, 3 where nothing can be said.
int exit_code(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::inconclusive;  // until something was judged
  std::vector<Failure> failures;  // where it is inconclusive: limits that may be broken for nothing
  std::vector<Doubt> doubts;
  std::vector<Limit> limits;  // that were asked for; none: a pass says only that all was comparable
  bool pass() const { return outcome == Outcome::pass; }
  bool operator==(const Verdict&) const = default;
};

// Fails where there are failures, else passes.
Verdict make_verdict(std::vector<Limit> limits, std::vector<Failure> failures);

// Each of these gives a verdict with more to it, and decides the outcome anew; nothing else does.

// What was found besides: it fails, unless the run was interrupted. None: the verdict as it was.
Verdict with_failures(Verdict verdict, std::vector<Failure> failures);
// The failure that explains the others stands before them.
Verdict with_cause(Verdict verdict, Failure cause);
// Nothing passes with a doubt; what fails fails in spite of it.
Verdict with_doubt(Verdict verdict, Doubt doubt);
// Inconclusive: what failed may have failed, and what passed passed, for nothing. No doubt: the
// verdict as it was.
Verdict withheld(Verdict verdict, std::vector<Doubt> doubts);
// Of a run that was stopped when `done` of its `total` samples were: withheld.
Verdict interrupted_verdict(Verdict verdict, std::int64_t done, std::int64_t total);

// What limits may speak of: its name, the group by which limits may also name it, and the metrics
// that it has; one without a value could not be measured.
struct Judged {
  std::string name, group;
  std::vector<std::pair<std::string, std::optional<double>>> metrics;
};

// The limits that are not kept. A limit on a metric that could not be measured fails, and so does
// one that no subject has a value for.
std::vector<Failure> judge(std::span<const Limit> limits, std::span<const Judged> subjects);

// The failures of one subject.
std::vector<Failure> failures_of(const Verdict& verdict, std::string_view subject);

// What a candidate of this precision is expected to keep when nothing else is asked.
std::vector<Limit> default_limits(Precision precision);

// The same of a part of an output, whose figures are noisier.
std::vector<Limit> default_part_limits(Precision precision);
// Behind a Sigmoid or Softmax: differences that prove no loss, whatever the decibels. Inputs on
// which nothing is found have scores of next to nothing, and rounding is as large.
double quiet_difference(Precision precision);

// The same of class ids and the like, which have no decibels: the share that is the reference's.
Limit default_ids_limit(Precision precision);

}  // namespace vernier
