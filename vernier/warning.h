#pragma once

#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace vernier {

// What a result has to say besides its figures and its verdict. Each kind names the fields that it
// sets; sentences are made in report/warning.h.
enum class WarningKind {
  reported,  // subject: the sentence of a runtime or of an error
  // Files of inputs.
  cast_array,      // subject: the input, other: the file; more: the array's type, the model's
  permuted_rows,   // as cast_array; more: the shape of the array's rows, the model's
  leftover_rows,   // as cast_array; value: how many, limit: of how many; more: the batch
  leftover_runs,   // other: the file; value: how many, limit: of how many; more: the steps
  unnamed_arrays,  // other: the file; value: how many, limit: how many of them are taken
  unused_array,    // subject, other: the file
  // Examples of a dataset that are left out. value: how many, limit: of how many, other: the
  // first problem, if it is told here.
  unreadable_images,
  without_label,
  unknown_labels,
  // Inputs and outputs.
  unbound_input,       // subject: of the candidate; the reference has none like it
  input_by_position,   // subject, other: the reference's
  permuted_input,      // subject; more: the candidate's shape, the reference's, the permutation
  squeezed_input,      // subject; more: the candidate's shape, the reference's
  widened_input,       // as squeezed_input: axes of size 1 are added
  output_by_position,  // subject, other: the reference's
  reordered_outputs,   // subject: their names in the candidate's order, other: in the reference's
  nonfinite_input,     // subject; value: the first sample with NaN or infinity
  zero_output,         // subject; value: how many more are zero in every sample
  constant_output,     // subject; value: how many more are the same in every sample
  own_tokens,          // after the first that differs, figures compare different texts
  // The two files.
  not_quantized,        // subject: the file whose name says that it is
  quantized_reference,  // subject: the file
  same_files,
  // What figures rest on.
  input_overflow,       // subject; value: how many times its quantizer's range
  costly_quantization,  // the weights are the reference's
  quiet_sample,         // subject; value: its SQNR, limit: relative to the other samples' signal
  unmeasured_form,      // subject: why the candidate could not be run in float32
  unproven_form,     // subject: the output; value: its SQNR in float32, limit: how many operators
                     // or constants stay rounded, other: one of them
  unmeasured_nodes,  // subject: why quantizers could not be switched
  // Layers.
  not_compared,       // subject: the reason, more: the layers
  too_many_tensors,   // to search by value
  unmeasured_errors,  // subject: why the candidate does not run on the reference's tensors
  // Tasks.
  at_chance,         // subject: the metric, value, limit: chance
  few_neighbours,    // value: how many vote
  only_top1,         // the predictions are classes
  certain_metric,    // subject: the metric; value: the number of classes, which it covers
  classes_left_out,  // subject: one of them, value: how many
  batch_dependence,  // value: SQNR of answers in a batch against answers alone
  // Quantization.
  few_samples,        // value; limit: how many to give at least, 0: not said
  nonfinite_values,   // subject: the tensor, value: how many
  synthetic_samples,  // nothing shows whether they are like real ones
  fitting_samples,    // synthetic, but like those of training
};

struct Warning {
  WarningKind kind = WarningKind::reported;
  std::string subject = {}, other = {};
  double value = 0, limit = 0;
  std::vector<std::string> more = {};
  bool operator==(const Warning&) const = default;
};

// What runtimes say themselves.
inline std::vector<Warning> reported(std::vector<std::string> sentences) {
  std::vector<Warning> warnings;
  for (std::string& sentence : sentences) warnings.push_back({.subject = std::move(sentence)});
  return warnings;
}

}  // namespace vernier
