#include "cli/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/progress.h"
#include "vernier/error.h"
#include "vernier/report/quantize.h"
#include "vernier/tensor/atomic_file.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

Effort effort_of(const QuantizeCommand& options) {
  if (options.fast) return Effort::fast;
  return options.tune ? Effort::tune : Effort::normal;
}

}  // namespace

void require_blocks(const QuantizeCommand& options, std::span<const std::string> precisions) {
  const bool has_blocks = std::ranges::any_of(precisions, [](const std::string& precision) {
    return precision != "fp16" && parse_quantized_precision(precision).weight_bits == 4;
  });
  if (!has_blocks && (!options.keep_8bit.empty() || options.asymmetric || options.block_size != 32))
    throw Error(
        "[quantize] --block-size, --asymmetric and --keep-8bit are of weights in blocks; pass "
        "--precision int4, or leave them out");
}

QuantizeOptions quantize_options(const QuantizeCommand& options) {
  QuantizeOptions result{.precision = parse_quantized_precision(options.precision),
                         .placement = parse_placement(options.placement),
                         .target = parse_target_cpu(options.target),
                         .effort = effort_of(options),
                         .keep_nodes = options.keep,
                         .keep_8bit = options.keep_8bit,
                         .block_size = options.block_size,
                         .symmetric_weights = !options.asymmetric,
                         .limits = parse_limits(options.fail_if, quantize_limit_metrics()),
                         .threads = options.threads};
  if (options.block_size < 16 || (options.block_size & (options.block_size - 1)) != 0)
    throw Error(fmt::format(
        "[quantize] --block-size {}: expected a power of 2 of at least 16, as MatMulNBits takes it",
        options.block_size));
  if (!options.ranges.empty()) result.given_ranges = read_ranges(options.ranges);
  return result;
}

MeasuredParts checkpoint_of(const QuantizeCommand& options, const Model& model,
                            const CalibrationData& data) {
  return {options.parts,
          options.output,
          {.candidate = options.model,
           .reference = {},
           .candidate_model = &model,
           .inputs = data.inputs.description,
           .samples = data.inputs.samples.get(),
           .sections = {}}};
}

RunDescription quantize_run(const std::string& name, const QuantizeCommand& options,
                            const CalibrationData& data) {
  RunDescription run{.command = name,
                     .candidate = options.quantized.filename(),
                     .reference = fs::path(options.model).filename(),
                     .precision = options.precision,
                     .device = "cpu",
                     .inputs = data.inputs.description,
                     .settings = {{"placement", options.placement}, {"target_cpu", options.target}},
                     .runtimes = {.onnxruntime = true}};
  if (data.inputs.samples) run.samples = data.inputs.samples->size();
  return run;
}

int run_quantize(QuantizeCommand& options) {
  require_model_writable(options.quantized);
  require_model_writable(float_model_path(options.quantized));
  require_writable(options.output);
  require_blocks(options, {&options.precision, 1});
  QuantizeOptions analysis = quantize_options(options);
  const Model model = Model::load(options.model);
  CalibrationData data = calibration_data(model, options.input);
  print_warnings(data.inputs.warnings);
  MeasuredParts checkpoint = checkpoint_of(options, model, data);
  analysis.records = checkpoint.records();
  QuantizeResult result = with_progress("quantizing", analysis.progress, [&] {
    return quantize(model, data.inputs.samples.get(), analysis);
  });
  result.warnings = with_doubts(data, std::move(result.warnings));

  const fs::path floating = float_model_path(options.quantized);
  result.float_model.save(floating);
  result.model.save(options.quantized);
  if (!options.save_ranges.empty())
    write_file_atomically(options.save_ranges, ranges_json(result.choices.ranges));
  QuantizeSubject subject{.run = quantize_run("quantize", options, data),
                          .files = {.quantized = options.quantized.filename(),
                                    .floating = floating.filename(),
                                    .source_bytes = model_bytes(floating),
                                    .quantized_bytes = model_bytes(options.quantized)}};
  subject.run.interrupted = result.interrupted;
  write_result(options.output, describe_quantize(subject, result),
               [&] { return quantize_json(subject, result); });
  if (result.verdict.limits.empty()) return result.interrupted ? exit_interrupted : exit_pass;
  return exit_code(result.verdict, result.interrupted);
}

fs::path float_model_path(const fs::path& quantized) {
  return fs::path(quantized).replace_extension(".float.onnx");
}

std::int64_t model_bytes(const fs::path& path) {
  std::int64_t bytes = static_cast<std::int64_t>(fs::file_size(path));
  const fs::path data = fs::path(path).concat(".data");
  if (fs::exists(data)) bytes += static_cast<std::int64_t>(fs::file_size(data));
  return bytes;
}

void add_calibration_options(CLI::App& command, CalibrationInput& input) {
  add_input_options(command, input.spec);
  add_constant_options(command, input.io);
  add_text_options(command, input.text);
  command.get_option("--input-data")
      ->description(
          "Calibration data: an .npz with an array for each input, its leading axis the samples, "
          "or a "
          "folder with an .npz for each sample");
  OptionGroup(command, main_group)
      .flag("--synthetic", input.synthetic,
            "Calibrate on synthetic inputs: only if no real ones can be had");
}

void add_quantize_output_options(CLI::App& command, OutputOptions& options) {
  add_written_options(command, options, "report", "--report", {});
}

void add_target_option(OptionGroup& group, std::string& target) {
  group.choice("--target-cpu", target,
               "CPUs that must compute it right: any (also without VNNI), native or vnni",
               {"any", "native", "vnni"});
}

void add_quantizing_options(CLI::App& command, QuantizeCommand& options) {
  add_calibration_options(command, options.input);
  OptionGroup main(command, main_group);
  auto* fast = main.flag("--fast", options.fast, "Minmax ranges, per channel; try nothing");
  main.flag("--tune", options.tune, "Try every tensor until nothing is gained")->excludes(fast);
  OptionGroup placing(command, "Quantizers");
  add_target_option(placing, options.target);
  placing.choice(
      "--placement", options.placement,
      "integer: what runs in integers; inputs: operands alone; all: as ONNX Runtime does",
      {"integer", "inputs", "all"});
  placing
      .add("--keep-float", options.keep, "Keep nodes in float: names or globs, with commas", "LIST")
      ->delimiter(',');
  placing
      .add("--keep-8bit", options.keep_8bit,
           "Of --precision int4: nodes whose weights have 8 bits, names or globs, with commas",
           "LIST")
      ->delimiter(',');
  placing.add("--block-size", options.block_size,
              "Of --precision int4: weights that share a scale, a power of 2", "N");
  placing.flag("--asymmetric", options.asymmetric,
               "Of --precision int4: a zero point for each block");
  placing.add("--ranges", options.ranges, "Calibration ranges to use as they are", "FILE");
  placing.add("--save-ranges", options.save_ranges, "Write the ranges in use, to edit", "FILE");
  add_threads_option(command, options.threads);
  add_checkpoint_option(command, options.parts);
  add_quantize_output_options(command, options.output);
}

void add_quantize(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<QuantizeCommand>();
  auto* command = program.add_subcommand(
      "quantize", "Quantize an ONNX model, and keep only steps that measurably help");
  OptionGroup main(*command, main_group);
  main.add("MODEL,-m,--model", options->model, "The float32 .onnx model", "MODEL")->required();
  main.add("-o,--output", options->quantized, "Where to write the quantized model", "OUT.onnx")
      ->required();
  main.choice("--precision", options->precision, "Precision of weights and activations",
              quantized_precision_names());
  add_quantizing_options(*command, *options);
  add_limit_options(*command, options->fail_if,
                    "Fail when METRIC<VALUE holds on held-back samples, as in 'sqnr_db<30'; "
                    "repeatable");
  command->footer(
      "Example:\n  vernier quantize model.onnx --data calibration.npz -o model.int8.onnx\n");
  command->callback([options, &exit_code] { exit_code = run_quantize(*options); });
}

}  // namespace vernier::cli
