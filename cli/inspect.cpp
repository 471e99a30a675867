#include "vernier/analysis/inspect.h"

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/output_options.h"
#include "cli/runtime_options.h"
#include "vernier/report/inspect.h"

namespace vernier::cli {
namespace {

struct Options {
  std::string model;
  bool tensors = false;
  InputOptions inputs;
  RuntimeOptions runtime;
  OutputOptions output;
};

std::unique_ptr<Runner> open_watched(const Options& options) {
  RunnerOptions runner = runner_options(options.runtime);
  runner.onnx.watch = Watch::all();
  runner.torch.watch_leaves = true;
  return open_runner(options.model, runner);
}

// The first sample, or the one that was asked for.
LiveTensors run_sample(const Options& options) {
  const auto runner = open_watched(options);
  if (model_format(options.model) == ModelFormat::recorded) {
    const std::int64_t sample = options.inputs.sample_index.value_or(0);
    runner->seek(sample);
    LiveTensors live = watch_tensors(*runner, {}, options.model);
    live.inputs = "recorded";
    live.sample = sample;
    return live;
  }
  const Inputs inputs = make_inputs(options.inputs, runner->inputs(), options.model);
  print_warnings(inputs.warnings);
  LiveTensors live = watch_tensors(*runner, inputs.samples->sample(0), options.model);
  live.inputs = inputs.description;
  live.sample = inputs.samples->number(0);
  return live;
}

int run(const Options& options) {
  require_writable(options.output);
  const Inspection inspection = inspect(options.model);
  const std::string name = std::filesystem::path(options.model).filename().string();
  std::optional<LiveTensors> live;
  if (options.tensors) live = run_sample(options);
  write_result(options.output, describe_inspection(name, inspection, live),
               [&] { return inspection_json(name, inspection, live); });
  return exit_pass;
}

}  // namespace

void add_inspect(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("inspect", "Show what a model holds");
  command->add_option("MODEL", options->model, ".onnx, TorchScript in .pt, or recorded .npz")
      ->required();
  command->add_flag("--tensors", options->tensors,
                    "Run one sample and list every tensor: dtype, shape, min, max, mean, and where "
                    "NaN or infinity first appears");
  add_input_options(*command, options->inputs);
  add_runtime_options(*command, options->runtime);
  add_output_options(*command, options->output);
  command->footer("Example:\n  vernier inspect model.onnx --tensors --input-data inputs.npz\n");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
