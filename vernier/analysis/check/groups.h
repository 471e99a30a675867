#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "vernier/analysis/check/check.h"
#include "vernier/analysis/check/finding.h"
#include "vernier/analysis/check/runs.h"
#include "vernier/model/quantizer.h"

namespace vernier {

// ---- consistency

// Whether the outputs agree with the reference's on zeros, ones, large values and random inputs, or
// on the given samples. Throws Error if the reference cannot be used.
Findings check_consistency(const ModelIndex& index, const Runs& runs, const CheckOptions& options);

// ---- dynamic axes

// Axes that are declared dynamic but accept no other size.
Findings check_declared_axes(const ModelIndex& index, const Runs& runs, Runner& as_written);
// Axes that are declared fixed although the graph accepts other sizes.
Findings check_fixed_axes(const ModelIndex& index, const Runs& runs, const CheckOptions& options);

// ---- operators

// Operators that no runtime has, or only ONNX Runtime.
Findings check_operators(const ModelIndex& index);

// ---- training mode

// Leftovers of training: active Dropout, batch statistics, random operators.
Findings check_training_mode(const ModelIndex& index);

// ---- numerics

// NaN, overflow, subnormal numbers and dead channels in weights and constants.
Findings check_weights(const ModelIndex& index);

// What runs on the samples showed.
struct ObservedTensors {
  // Shapes of tensors and inputs, by the names that probes report.
  std::map<std::string, Shape> shapes;
  std::map<std::string, RealRange> ranges;  // of float tensors, over all samples
  Findings findings;
};
// Finds NaN and infinity, and the operator that first produced them.
ObservedTensors check_values(const ModelIndex& index, const Runs& runs, Runner& watched);

// Checks types, epsilons and unfolded normalisations. Shapes in `observed`, which may be empty,
// take precedence over declared ones.
Findings check_numerics(const ModelIndex& index, const ObservedTensors& observed);

// Indices beyond the end of their table: constant ones, and inputs at the end of their range.
Findings check_indices(const ModelIndex& index, const Runs& runs);
// Indices in given inputs, checked before they are run.
Findings check_given_indices(const Runs& runs, std::span<const Tensor> inputs);

// ---- preprocessing

// Whether the input and the first operators of an image model fit its preprocessing. Throws Error
// if the preprocessing that the options name cannot be read.
Findings check_preprocessing(const ModelIndex& index, const CheckOptions& options);

// ---- structure

// Whether the weights can be read: external data that is missing or outside the folder, and a file
// that is too large.
Findings check_files(const ModelIndex& index);
// A finding if the file is larger than ONNX files can be.
std::optional<Finding> check_file_size(const std::filesystem::path& path);
// Unused and duplicate parts of the graph, old versions, and unsorted nodes.
Findings check_structure(const ModelIndex& index);
// Tensors without a declared shape for which ONNX Runtime infers one.
Findings check_shapes(const ModelIndex& index, const CheckOptions& options);

// ---- quantization

// QuantizeLinear and DequantizeLinear that are misplaced or have invalid parameters.
Findings check_quantization(const ModelIndex& index);

// Quantizers whose range is far larger than what their tensor can reach or, with given samples,
// what it does reach.
Findings check_calibration(const ModelIndex& index, const ObservedTensors& observed,
                           bool given_samples);

}  // namespace vernier
