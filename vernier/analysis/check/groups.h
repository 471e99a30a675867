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

// Whether the outputs are those of the reference, on zeros, ones, large values and random ones, or
// on the samples that were given. Throws Error when the reference cannot be used.
Findings check_consistency(const ModelIndex& index, const Runs& runs, const CheckOptions& options);

// ---- dynamic axes

// Axes that are declared dynamic and are not: every declaration is tried.
Findings check_declared_axes(const ModelIndex& index, const Runs& runs, Runner& as_written);
// Axes that are declared fixed though the graph would take another size.
Findings check_fixed_axes(const ModelIndex& index, const Runs& runs, const CheckOptions& options);

// ---- operators

// Operators that no runtime, or only this one, has.
Findings check_operators(const ModelIndex& index);

// ---- training mode

// What is left of training: active Dropout, batch statistics, random operators.
Findings check_training_mode(const ModelIndex& index);

// ---- numerics

// What the elements of weights and constants say.
Findings check_weights(const ModelIndex& index);

// What runs of the samples show.
struct Live {
  // Of tensors and inputs, by the names that probes give them.
  std::map<std::string, Shape> shapes;
  std::map<std::string, RealRange> ranges;  // of float tensors, over all samples
  Findings findings;
};
// NaN and infinity on generated inputs, with the operator that made them first.
Live check_live(const ModelIndex& index, const Runs& runs, Runner& watched);

// Types, epsilons and unfolded normalisations. `live` may be empty: its shapes tell the length of
// axes that are not declared.
Findings check_numerics(const ModelIndex& index, const Live& live);

// Indices that reach past their table: constant ones, and inputs at the end of their range.
Findings check_indices(const ModelIndex& index, const Runs& runs);
// Indices among inputs that were given, before they are run.
Findings check_given_indices(const Runs& runs, std::span<const Tensor> inputs);

// ---- preprocessing

// Whether the first operators and the input of an image model fit how its images are prepared.
// Throws Error when the preprocessing that the options name cannot be read.
Findings check_preprocessing(const ModelIndex& index, const CheckOptions& options);

// ---- structure

// Whether the weights can be read at all: external data that is missing or elsewhere, a file that
// is too large.
Findings check_files(const ModelIndex& index);
// Whether the file is larger than ONNX files can be.
std::optional<Finding> check_file_size(const std::filesystem::path& path);
// What is in the graph for nothing, and what it lacks.
Findings check_structure(const ModelIndex& index);
// Tensors without a declared shape for which ONNX Runtime infers one.
Findings check_shapes(const ModelIndex& index, const CheckOptions& options);

// ---- quantization

// QuantizeLinear and DequantizeLinear that are out of place, or whose numbers make no sense.
Findings check_quantization(const ModelIndex& index);

// Quantizers whose range is far beyond what their tensor can reach, or what the samples reach where
// they were given.
Findings check_calibration(const ModelIndex& index, const Live& live, bool given_samples);

}  // namespace vernier
