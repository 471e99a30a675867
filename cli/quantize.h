#pragma once

#include <filesystem>

#include "cli/input_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "vernier/analysis/quantize/calibration_data.h"
#include "vernier/analysis/quantize/quantize.h"

namespace vernier::cli {

// Parts that the commands that write quantized models share.

// --data --input-data --dataset --synthetic and related options.
void add_calibration_options(CLI::App& command, CalibrationInput& input);

// The options of `vernier quantize`, and of `vernier convert` for quantized precisions.
struct QuantizeCommand {
  std::string model;
  std::filesystem::path quantized;
  std::string precision = "int8";
  std::string placement = "integer", target = "any";
  bool fast = false, tune = false;
  std::vector<std::string> keep, keep_8bit, fail_if;
  std::int64_t block_size = 32;
  bool asymmetric = false;
  std::filesystem::path ranges, save_ranges;
  CalibrationInput input;
  int threads = 0;
  PartOptions parts;  // only the checkpoint is used
  OutputOptions output;
};
// --target-cpu.
void add_target_option(OptionGroup& group, std::string& target);

// All options except the model, the output path, the precision and the limits.
void add_quantizing_options(CLI::App& command, QuantizeCommand& options);
int run_quantize(QuantizeCommand& options);
QuantizeOptions quantize_options(const QuantizeCommand& options);
// Throws Error if options of block-wise weights are given and none of the precisions has 4 bits.
void require_blocks(const QuantizeCommand& options, std::span<const std::string> precisions);
// The checkpoint of a command on `model`. `options` must outlive it.
MeasuredParts checkpoint_of(const QuantizeCommand& options, const Model& model,
                            const CalibrationData& data);
RunDescription quantize_run(const std::string& name, const QuantizeCommand& options,
                            const CalibrationData& data);

// -f --report --no-color; -o names the model, not the report.
void add_quantize_output_options(CLI::App& command, OutputOptions& options);

// The path of the float model: "q.float.onnx" for "q.onnx".
std::filesystem::path float_model_path(const std::filesystem::path& quantized);

// The size of a model file and its .data file, in bytes.
std::int64_t model_bytes(const std::filesystem::path& path);

}  // namespace vernier::cli
