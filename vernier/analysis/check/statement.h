#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "vernier/tensor/dtype.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// What a finding says, as data. Each kind names the values that it has, in order; sentences are
// made in report/finding.h. Where a value is a statement itself, its kind is one of the parts
// below.
enum class StatementKind {
  none,     // an optional part that is not there; the remedy of the finding's explanation
  message,  // the message of a runtime or of an Error
  // Operators.
  contrib_operator,       // operator, domain
  custom_operator,        // operator, domain
  unknown_operator,       // operator
  unregistered_operator,  // domain, operator
  newer_operator,         // operator, the opset that it came with, the model's opset
  removed_operator,       // operator, the opset that removed it, the model's opset
  // Runs.
  damaged_file,
  too_large_inputs,
  no_size_runs,        // message
  needs_values,        // message: random numbers do not do
  ungenerated_type,    // input, its type
  undeclared_shape,    // input
  other_output_shape,  // the declared shape, the shape of a run
  second_run_failed,   // message
  output_varies,       // output
  tensor_varies,       // output, the first tensor that differs, the operator that writes it
  // Consistency.
  output_differs,       // part: the sample, part: how the output differs
  nonfinite_reference,  // part: the sample, count in the reference, count in the model
  // Parts: samples.
  given_samples,
  random_sample,  // number
  zeros,
  ones,
  large_values,
  // Parts: how an output differs.
  missing_output,
  other_shape,       // the model's shape, the reference's
  nonfinite_output,  // and the reference is finite
  low_sqnr,          // dB, limit
  large_difference,  // max_abs_diff, limit
  // Dynamic axes.
  frozen_axis,         // axis, the size that fails, part: the node that freezes it
  failing_axis,        // axis, the size that fails, message
  frozen_output,       // axis, its size, output, its shape, its declared shape
  frozen_output_node,  // the same, part: the node that freezes it
  mixed_rows,          // axis, its size, row, dB
  mixed_scales,        // the same, in a model that quantizes dynamically
  fixed_batch,         // size, another size that runs
  fixed_sequence,      // length, another length that runs
  // Parts: the node that freezes an axis.
  constant_shape,  // operator, node, shape
  constant_input,  // operator, node, input, shape
  // Training mode.
  training_dropout,    // ratio
  untested_dropout,    // ratio; before opset 7
  switchable_dropout,  // the input that switches it, ratio
  training_batchnorm,
  untested_batchnorm,  // before opset 7
  statistics_outputs,
  computed_statistics,  // tensor
  batch_mean,           // tensor, the node that computes its mean
  random_operator,      // operator
  // Numerics: values.
  nonfinite_in_output,  // part: what, tensor, part: its writer, output
  nonfinite_inside,     // part: what, tensor, part: its writer
  constant_index,       // index, table, axis, length
  last_index,           // input, rows of the table, index, message
  given_index,          // index, rows of the table
  // Parts: what is not finite, and its writer.
  nan,
  infinity,
  nan_or_infinity,
  written_by,  // operator
  // Numerics: types.
  f64_input,         // part: how far it goes
  f64_node,          // operator, part: how far it goes
  f64_nodes,         // part: how many nodes
  cast_round_trip,   // tensor, its type, the narrow type, part: what is between the casts
  around_node,       // part: operator, node
  follows_node,      // operator, node
  epsilon_vanishes,  // epsilon, type
  added_vanishes,    // number, type
  long_softmax,      // length
  // Numerics: weights.
  nonfinite_elements,  // count of NaN, of infinities, of all
  beyond_f16,          // count, of all, the largest magnitude
  subnormal_elements,  // count, of all, percent
  dead_channels,       // count, of all, operator, node
  // Preprocessing.
  rescaled_twice,
  byte_mean_in_graph,  // mean
  unit_mean_in_graph,  // mean
  byte_mean_rescaled,  // mean
  unit_mean_unscaled,  // mean
  normalised_twice,    // mean and std of the graph, mean and std of the preprocessing
  never_normalised,
  reversed_twice,
  bgr_mean,             // mean, part: whose
  rgb_mean,             // mean, part: whose
  layout_of_sidecar,    // the model's layout, the sidecar's
  layout_of_config,     // the model's layout, the preprocessing's
  other_channel_count,  // the model's channels, length of mean or std
  other_image_size,     // height, width; the model's height, width
  // Parts: whose mean.
  of_graph,
  of_preprocessing,
  // Files.
  data_elsewhere,  // file
  short_data,      // bytes needed, offset, file, its bytes
  needed_by,       // part: what is wrong with the data, count of weights
  oversized_file,  // bytes, most bytes
  // Structure.
  old_opset,        // opset
  old_ir_version,   // opset, its IR version, the file's
  unread_weight,    // bytes
  weight_as_input,  // bytes
  repeated_name,
  unused_node,    // operator
  unsorted_node,  // tensor
  unread_input,
  reads_identity,  // node
  constant_bytes,  // bytes
  duplicates,      // bytes, weights
  missing_shape,   // of one tensor
  missing_shapes,  // count
  // Quantization.
  unpaired_quantize,    // the reader's operator, its name
  mismatched_pair,      // node, its scale, its zero point, scale and zero point here
  requantized,          // the same
  broken_scale,         // part: which, scale
  subnormal_scale,      // part: which, scale
  zero_point_overflow,  // zero point, type
  zero_point_type,      // its type, the type of the stored numbers
  nonzero_zero_point,   // zero point, type
  unfilled_range,       // tensor, low, high; operator or part: by what; low, high
  float_weight,         // operator
  // Parts: which scale, by what a range is reached.
  only_scale,
  scale_of,  // index, count
  given_data,
  // Remedies, where the explanation's is not the one.
  closest_operator,    // operator
  newer_opset,         // opset
  replacing_operator,  // operator, the last opset that has the one it replaces
  deployed_batch,
  calibration_inputs,
};

struct StatementValue;

struct Statement {
  StatementKind kind = StatementKind::none;
  std::vector<StatementValue> values;
  bool operator==(const Statement&) const;
};

struct StatementValue
    : std::variant<std::string, std::int64_t, double, DType, Shape, std::vector<Dim>,
                   std::vector<double>, std::vector<std::string>, Statement> {
  using variant::variant;
};

inline bool Statement::operator==(const Statement&) const = default;

}  // namespace vernier
