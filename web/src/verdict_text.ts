// The verdict in words, as vernier/report/verdict.cpp says it: a saved result has names and figures only.
import { as_list, as_number, as_text, type JsonObject } from "./data";
import { words } from "./format";

const most_failures = 3; // in one line

const counted: { [metric: string]: string } = {
  reference_nan: "NaN in the reference",
  reference_inf: "infinities in the reference",
  candidate_nan: "NaN in the candidate",
  candidate_inf: "infinities in the candidate",
  non_finite_samples: "samples have NaN or infinity in their answer",
};

function reason(failure: JsonObject): string {
  const metric = as_text(failure.metric);
  const value = as_number(failure.value) ?? NaN;
  const [, sign = "", limit = ""] = /([<>]=?)(.*)$/.exec(as_text(failure.limit)) ?? [];
  switch (as_text(failure.kind)) {
    case "unmeasured": return `${metric} was not measured`;
    case "missing": return `missing in the ${metric}`;
    case "shape": return "its shape is not the reference's";
    case "nonfinite": return counted[metric] ? `${value} ${counted[metric]}` : /^(reference|candidate)$/.test(metric) ? `NaN or infinity in the ${metric}` : `${metric} is NaN`;
  }
  if (metric === "weight_steps") return `not the reference's: ${value.toPrecision(3)} steps off`;
  if (metric === "weight_sqnr_db") return Number.isFinite(value) ? `not the reference's: ${value.toFixed(1)} dB` : "the reference has no weight like it";
  if (metric === "unquantized_sqnr_db") return `not the reference's network: in float32 it has ${value.toFixed(1)} dB`;
  if (metric === "equal_share") return `${(100 * value).toFixed(1)} % of its numbers are the reference's`;
  if (metric === "kl_behind_cache") return `behind its cache it says something else than without one: KL ${value.toPrecision(3)}`;
  return `${metric} ${Number(value.toPrecision(6))} ${sign} ${limit}`.trim();
}

function failures_text(failures: JsonObject[]): string {
  const texts = failures.slice(0, most_failures).map((failure) => {
    const subject = as_text(failure.subject);
    return subject ? `${as_text(failure.group)} ${subject}: ${reason(failure)}`.trim() : reason(failure);
  });
  if (failures.length > most_failures) texts.push(`and ${failures.length - most_failures} more`);
  return texts.join("; ");
}

// "@" stands for what is doubted.
const doubts: { [kind: string]: string } = {
  unlike_calibration: "these inputs are unlike the calibration data",
  other_calibration: "these inputs are unlike those that the candidate was calibrated on",
  unlike_training: "these inputs are unlike the training data, as the reference's batch norms tell",
  clipping: "the quantizer of @ clips much of what goes into it",
  narrow_range: "what goes into the quantizer of @ is far beyond its range, though these inputs fit the others",
  changed_scale: "the bias behind @ is stored in other steps than what it is added to: a scale was changed",
  narrow_input: "the tensors behind @ fill their ranges only with larger inputs than its quantizer holds",
  other_inputs: "on other made-up inputs that fit nearly as well, output @ does not keep the limits",
  costly_range: "the range of the quantizer of @ does not fit what goes into it, and the outputs suffer",
  other_structure: "in float32 output @ of the candidate is not quite the reference's: it may not compute the same",
  missing_activation: "the candidate has fewer activation functions like @ than the reference: one may be lost",
  other_node: "node @ is not what the reference has in its place, which made-up inputs need not show",
  alike_samples: "the outputs hardly differ between samples, and the weights could not be compared",
  unknown_inputs: "nothing tells whether these made-up inputs are like real ones",
  near_limit: "these inputs were made up, and real ones may be better",
  other_ids: "many numbers in output @ are not the reference's, and decibels say nothing of them",
  at_chance: "the reference is no better than chance (@)",
  few_samples: "so few samples show such a @ by chance, too",
  interrupted: "the run was interrupted: run it to its end",
  caches_not_run: "behind its cache a model could not be run, so that only text without one is scored: @",
  not_run: "the model could not be tried, so what needs a run was not checked",
};

export const doubt_texts = (verdict: JsonObject): string[] =>
  as_list(verdict.doubts).map((doubt) => as_text(doubt.text) || (doubts[as_text(doubt.kind)] ?? words(as_text(doubt.kind))).replace("@", () => as_text(doubt.subject)));

export function saved_verdict(verdict: JsonObject): string {
  const failures = failures_text(as_list(verdict.failures));
  if (verdict.outcome !== "inconclusive") return failures;
  const why = doubt_texts(verdict).join("; ") || "nothing was measured";
  return failures ? `${failures}, but ${why}` : why;
}
