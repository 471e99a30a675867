#include "vernier/analysis/quantize/tune.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/quantize.h"
#include "vernier/error.h"
#include "vernier/report/tune.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  QuantizeCommand quantize;
  std::string target, cost = "nodes", fallback = "float";
};

int run(Options& options) {
  QuantizeCommand& command = options.quantize;
  require_writable({.file = command.quantized.string()});
  require_writable(command.output);
  TuneOptions analysis{
      .quantize = quantize_options(command),
      .target = parse_target(options.target),
      .cost = parse_tune_cost(options.cost),
      .fallback = options.fallback == "16" ? TuneFallback::bits16 : TuneFallback::floating};
  const Model model = Model::load(command.model);
  const CalibrationData data = calibration_data(model, command.input);
  if (!data.inputs.samples)
    throw Error(fmt::format("[tune] {}: a target is reached on data; give --data or --dataset",
                            model.name()));
  print_warnings(data.inputs.warnings);
  TuneResult result = with_progress("tuning", [&](Progress progress) {
    analysis.quantize.progress = std::move(progress);
    return tune(model, *data.inputs.samples, analysis);
  });
  QuantizeResult& quantized = *result.quantized;
  quantized.warnings.insert(quantized.warnings.begin(), data.doubts.begin(), data.doubts.end());
  const fs::path floating = float_model_path(command.quantized);
  quantized.float_model.save(floating);
  quantized.model.save(command.quantized);
  TuneSubject subject{.run = quantize_run("tune", command, data),
                      .files = {.quantized = command.quantized.filename(),
                                .floating = floating.filename(),
                                .source_bytes = model_bytes(floating),
                                .quantized_bytes = model_bytes(command.quantized)},
                      .target = analysis.target,
                      .cost = analysis.cost};
  subject.run.settings.emplace_back("target", options.target);
  subject.run.interrupted = quantized.interrupted;
  write_result(command.output, describe_tune(subject, result),
               [&] { return tune_json(subject, result); });
  if (quantized.interrupted) return exit_interrupted;
  return exit_code(result.reached ? Outcome::pass : Outcome::fail);
}

}  // namespace

void add_tune(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand(
      "tune", "Quantize all but the fewest nodes with which a target is reached");
  OptionGroup main(*command, main_group);
  main.add("MODEL,-m,--model", options->quantize.model, "The float32 .onnx model", "MODEL")
      ->required();
  main.add("--target", options->target,
           "What to reach on held-back samples: 'sqnr_db>30', 'agreement>0.99', "
           "'top1_accuracy_drop<0.5' with labels",
           "METRIC>VALUE")
      ->required();
  main.add("-o,--output", options->quantize.quantized, "Where to write the model", "OUT.onnx")
      ->required();
  main.add("--cost", options->cost,
           "What to spend least of: nodes, bytes of weights, or latency (multiply-adds)")
      ->check(CLI::IsMember({"nodes", "bytes", "latency"}))
      ->capture_default_str();
  main.add("--fallback", options->fallback,
           "What the other nodes are: float, or activations of 16 bits")
      ->check(CLI::IsMember({"float", "16"}))
      ->capture_default_str();
  add_quantizing_options(*command, options->quantize);
  command->footer(
      "Example:\n  vernier tune model.onnx --target 'sqnr_db>30' --data calibration.npz -o "
      "model.mixed.onnx\n");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
