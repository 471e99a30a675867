#include "vernier/report/finding.h"

#include <fmt/args.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vernier/report/explanations.h"

namespace vernier {
namespace {

// The sentence of each kind, with its values in order.
const char* pattern(StatementKind kind) {
  using enum StatementKind;
  switch (kind) {
    case none: return "";
    case message: return "{}";
    // Operators.
    case contrib_operator: return "{} is of domain {}";
    case custom_operator: return "{} is of domain '{}', which ONNX Runtime does not have";
    case unknown_operator: return "ONNX has no operator {}";
    case unregistered_operator: return "the domain {} has no operator {} in ONNX Runtime";
    case newer_operator: return "{} came with opset {}, the model imports {}";
    case removed_operator: return "{} was removed in opset {}, the model imports {}";
    // Runs.
    case damaged_file: return "the file is damaged, or not an ONNX model";
    case too_large_inputs: return "the declared inputs are too large to generate";
    case no_size_runs: return "no size that was tried for its dynamic axes runs: {}";
    case needs_values: return "it does not run on random numbers: {}";
    case ungenerated_type:
      return "input '{}' has type {}, only tensors of numbers can be generated";
    case undeclared_shape: return "input '{}' declares no shape";
    case other_output_shape: return "it is declared as {}, and a run gives {}";
    case second_run_failed: return "a second run fails: {}";
    case output_varies: return "output '{}' differs between two runs";
    case tensor_varies:
      return "output '{}' differs between two runs, and '{}' is the first tensor that does, "
             "written by {}";
    // Consistency.
    case output_differs: return "on {} it {}";
    case nonfinite_reference: return "on {} the reference holds {} NaN or infinities, the model {}";
    case given_samples: return "given samples";
    case random_sample: return "random sample {}";
    case zeros: return "zeros";
    case ones: return "ones";
    case large_values: return "large values";
    case missing_output: return "is missing, the reference has it";
    case other_shape: return "has the shape {}, the reference's is {}";
    case nonfinite_output: return "holds NaN or infinity, the reference does not";
    case low_sqnr: return "has {:.1f} dB, expected {:g}";
    case large_difference: return "differs by up to {:.3g} from the reference, allowed {:g}";
    // Dynamic axes.
    case frozen_axis: return "'{}' is declared dynamic, but size {} fails in {}";
    case failing_axis: return "'{}' is declared dynamic, but size {} fails: {}";
    case frozen_output: return "with '{}' of {}, output '{}' has the shape {} and is declared {}";
    case frozen_output_node:
      return "with '{}' of {}, output '{}' has the shape {} and is declared {}: in {}";
    case mixed_rows:
      return "with '{}' of {}, row {} of the output is only {:.1f} dB from what its sample gives "
             "alone";
    case mixed_scales:
      return "with '{}' of {}, row {} of the output is only {:.1f} dB from what its sample gives "
             "alone; dynamic quantization takes its scales from the whole batch";
    case fixed_batch: return "its batch is declared as {}, and the graph runs with {} too";
    case fixed_sequence: return "its length is declared as {}, and the graph runs with {} too";
    case constant_shape: return "{} '{}', whose shape is the constant {}";
    case constant_input: return "{} '{}', which takes the constant '{}' of shape {}";
    // Training mode.
    case training_dropout: return "training_mode is true and the ratio {:g}";
    case untested_dropout: return "is_test is 0 and the ratio {:g}";
    case switchable_dropout:
      return "'{}' switches training mode on at run time, with a ratio of {:g}";
    case training_batchnorm: return "training_mode is 1";
    case untested_batchnorm: return "is_test is 0";
    case statistics_outputs: return "it has outputs for the statistics of the batch";
    case computed_statistics: return "its mean or variance is computed at run time ('{}')";
    case batch_mean: return "the mean of '{}' over axis 0 ({}) is subtracted from it";
    case random_operator: return "{} draws anew in every run";
    // Numerics: values.
    case nonfinite_in_output: return "{} first appears in '{}'{}, and output '{}' holds it";
    case nonfinite_inside: return "{} first appears in '{}'{}, and no output holds it";
    case constant_index: return "index {:g} is read from '{}', whose axis {} has {} elements";
    case last_index: return "input '{}' indexes a table of {} rows, and index {} fails: {}";
    case given_index: return "the given index {:g} is past a table of {} rows";
    case nan: return "NaN";
    case infinity: return "infinity";
    case nan_or_infinity: return "NaN or infinity";
    case written_by: return ", written by {}";
    // Numerics: types.
    case f64_input: return "this input is float64{}";
    case f64_node: return "this {} gives float64{}";
    case f64_nodes: return "; {} nodes of the graph compute in it";
    case cast_round_trip: return "'{}' goes from {} to {} and back{}";
    case around_node: return " around {} '{}'";
    case follows_node: return "it follows {} '{}'";
    case epsilon_vanishes: return "its epsilon {:g} is 0 in {}";
    case added_vanishes: return "the {:g} that it adds is 0 in {}";
    case long_softmax: return "it sums {} float16 numbers";
    // Numerics: weights.
    case nonfinite_elements: return "{} NaN and {} infinite of {} elements";
    case beyond_f16: return "{} of {} elements are beyond 65504, up to {:g}";
    case subnormal_elements: return "{} of {} elements ({:.1f}%) are subnormal";
    case dead_channels: return "{} of {} output channels of {} '{}' are all zero";
    // Preprocessing.
    case rescaled_twice: return "both the graph and the preprocessing divide by 255";
    case byte_mean_in_graph:
      return "the graph subtracts a mean of {}, which is of [0,255], and the preprocessing gives "
             "[0,1]";
    case unit_mean_in_graph:
      return "the graph subtracts a mean of {}, which is of [0,1], and the preprocessing gives "
             "[0,255]";
    case byte_mean_rescaled:
      return "the preprocessing's mean of {} is of [0,255], and it rescales to [0,1]";
    case unit_mean_unscaled:
      return "the preprocessing's mean of {} is of [0,1], and its values stay in [0,255]";
    case normalised_twice:
      return "the graph applies mean {} and std {}, the preprocessing mean {} and std {}";
    case never_normalised: return "neither the graph nor the preprocessing subtracts a mean";
    case reversed_twice: return "both the graph and the preprocessing reverse the channels";
    case bgr_mean:
      return "the mean {} of the {} is that of ImageNet in the order BGR, and the preprocessing "
             "gives RGB";
    case rgb_mean:
      return "the mean {} of the {} is that of ImageNet in the order RGB, and the preprocessing "
             "gives BGR";
    case layout_of_sidecar: return "the model takes {}, the sidecar gives {}";
    case layout_of_config: return "the model takes {}, the preprocessing gives {}";
    case other_channel_count: return "the model takes {} channels, mean or std has {}";
    case other_image_size:
      return "the preprocessing gives {}x{} (height x width), the model takes {}x{}";
    case of_graph: return "graph";
    case of_preprocessing: return "preprocessing";
    // Files.
    case data_elsewhere: return "its data is in '{}'";
    case short_data: return "it needs {} bytes from byte {} of '{}', which has {}";
    case needed_by: return "{}, which {} weights need";
    case oversized_file: return "the file has {} bytes, ONNX files at most {}";
    // Structure.
    case old_opset: return "the model imports opset {}";
    case old_ir_version: return "opset {} came with IR version {}, the file has {}";
    case unread_weight: return "nothing reads its {} bytes";
    case weight_as_input: return "this weight of {} bytes is listed as an input";
    case repeated_name: return "the graph stores it more than once";
    case unused_node: return "no output depends on this {}";
    case unsorted_node: return "it reads '{}', which a later node writes";
    case unread_input: return "no node reads it";
    case reads_identity: return "it reads the Identity '{}'";
    case constant_bytes: return "it holds {} bytes";
    case duplicates: return "{} bytes are wasted: '{}' holds the same";
    case missing_shape: return "shape inference gives the shapes of 1 tensor that declares none";
    case missing_shapes: return "shape inference gives the shapes of {} tensors that declare none";
    // Quantization.
    case unpaired_quantize: return "its numbers go to {} '{}' without DequantizeLinear";
    case mismatched_pair:
      return "'{}' quantizes with scale {:g} and zero point {:g}, this dequantizes with scale {:g} "
             "and zero point {:g}";
    case requantized:
      return "'{}' before it has scale {:g} and zero point {:g}, it has scale {:g} and zero point "
             "{:g}";
    case broken_scale: return "{} is {:g}";
    case subnormal_scale: return "{} is the subnormal number {:g}";
    case zero_point_overflow: return "its zero point {} does not fit into {}";
    case zero_point_type: return "its zero point is {}, the stored numbers are {}";
    case nonzero_zero_point: return "its zero point is {:g}, {} wants 0";
    case unfilled_range:
      return "'{}' is quantized over [{:.4g}, {:.4g}], and {} reaches [{:.4g}, {:.4g}]";
    case float_weight:
      return "this {} has a float weight, with quantized operators before and behind it";
    case only_scale: return "its scale";
    case scale_of: return "scale {} of {}";
    case given_data: return "the given data";
    // Remedies.
    case closest_operator: return "The closest operator is {}: was that meant?";
    case newer_opset: return "Export with opset {} or newer.";
    case replacing_operator: return "Use {} instead, or opset {}.";
    case deployed_batch: return "Evaluate with the batch that is deployed.";
    case calibration_inputs:
      return "Compare on inputs like those of its calibration, with --input-data.";
  }
  return "";
}

// Values as patterns take them: numbers keep their type, everything else is text.
std::int64_t filled_in(std::int64_t number) { return number; }
double filled_in(double number) { return number; }
std::string filled_in(const std::string& name) { return name; }
std::string filled_in(DType dtype) { return std::string(dtype_name(dtype)); }
std::string filled_in(const Shape& shape) { return format_shape(shape); }
std::string filled_in(const std::vector<Dim>& shape) { return format_shape(shape); }
std::string filled_in(const std::vector<double>& numbers) {
  return fmt::format("[{:.4g}]", fmt::join(numbers, ", "));
}
std::string filled_in(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, "', '"));
}
std::string filled_in(const Statement& part) { return statement_text(part); }

}  // namespace

std::string statement_text(const Statement& statement) {
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  for (const StatementValue& value : statement.values)
    std::visit([&](const auto& held) { values.push_back(filled_in(held)); }, value);
  return fmt::vformat(pattern(statement.kind), values);
}

std::string evidence_text(const Occurrence& found) { return statement_text(found.evidence); }

std::string remedy_text(const Finding& finding) {
  return finding.remedy.kind == StatementKind::none ? std::string(explanation(finding.id).remedy)
                                                    : statement_text(finding.remedy);
}

}  // namespace vernier
