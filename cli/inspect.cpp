#include "vernier/analysis/inspect.h"

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/report/inspect.h"

namespace vernier::cli {
namespace {

struct InspectCommand {
  std::string model;
  bool tensors = false;
  ModelIdOptions id;
  HostOptions host;
  InputSpec inputs;
  RuntimeOptions runtime;
  OutputOptions output;
};

// Runs the first sample, or that of --sample-index.
LiveTensors run_sample(const InspectCommand& options, const Model* onnx) {
  const std::filesystem::path path = options.model;
  RunnerOptions runner_settings = runner_options(options.runtime);
  runner_settings.onnx.watch = Watch::all();
  runner_settings.torch.watch_leaves = true;
  const ModelFormat format = model_format(path);
  if (format == ModelFormat::hosted) {
    runner_settings.host = own_host(options.host, options.id, options.inputs);
    if (runner_settings.host.watch == HostWatch::nothing)
      runner_settings.host.watch = HostWatch::layers;
  }
  const std::unique_ptr<Runner> runner =
      onnx ? std::make_unique<OrtRunner>(onnx->clone(), runner_settings.onnx)
           : open_runner(path, runner_settings);
  if (format == ModelFormat::recorded) {
    const std::int64_t sample = options.inputs.sample_index.value_or(0);
    runner->seek(sample);
    LiveTensors live = watch_tensors(*runner, {}, onnx);
    live.inputs = "recorded";
    live.sample = sample;
    return live;
  }
  const Inputs inputs =
      make_inputs({.inputs = runner->inputs(), .path = path, .onnx = onnx}, options.inputs);
  print_warnings(inputs.warnings);
  LiveTensors live = watch_tensors(*runner, inputs.samples->sample(0), onnx);
  live.inputs = inputs.description;
  live.sample = inputs.samples->number(0);
  return live;
}

int run_inspect(const InspectCommand& options) {
  require_writable(options.output);
  const bool hosted = model_format(options.model) == ModelFormat::hosted;
  const auto onnx = index_if_onnx(options.model);
  const Inspection inspection =
      onnx ? inspect(*onnx)
           : inspect(options.model,
                     hosted ? own_host(options.host, options.id, options.inputs) : HostOptions{});
  const std::string name = display_name(options.model);
  std::optional<LiveTensors> live;
  if (options.tensors) live = run_sample(options, onnx ? &onnx->model() : nullptr);
  write_result(options.output, describe_inspection(name, inspection, live),
               [&] { return inspection_json(name, inspection, live); });
  return exit_pass;
}

}  // namespace

void add_inspect(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<InspectCommand>();
  auto* command = program.add_subcommand("inspect", "Show what a model holds");
  OptionGroup main(*command, main_group);
  main.add("MODEL,-m,--model", options->model,
           ".onnx, TorchScript in .pt, a PyTorch model (FILE.py:FUNCTION, hf:ID, timm:NAME, .pt2), "
           "or "
           "recorded .npz",
           "MODEL")
      ->required();
  main.flag("--tensors", options->tensors,
            "Run one sample and list every tensor: dtype, shape, min, max, mean, and where NaN or "
            "infinity first appears");
  add_input_options(*command, options->inputs);
  add_runtime_options(*command, options->runtime);
  add_live_model_options(*command, options->id, options->host);
  add_output_options(*command, options->output);
  command->footer("Example:\n  vernier inspect model.onnx --tensors --input-data inputs.npz\n");
  command->callback([options, &exit_code] { exit_code = run_inspect(*options); });
}

}  // namespace vernier::cli
