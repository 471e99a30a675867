#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "vernier/analysis/diagnosis.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/report/diagnosis.h"

namespace vernier::cli {
namespace {

struct Options {
  ModelOptions models;
  InputSpec input{.default_samples = 64};
  IoMapping io;
  bool quick = false;
  std::string data;
  RuntimeOptions runtime;
  OutputOptions output;
};

// --data names whatever there is: arrays, or a dataset.
void take_data(Options& options) {
  const std::filesystem::path path = options.data;
  if (path.empty()) return;
  if (path.extension() == ".npz" || path.extension() == ".npy")
    options.input.data = path;
  else
    options.input.dataset.name = options.data;
}

int run(Options& options) {
  require_writable(options.output);
  take_data(options);
  const ResolvedModel resolved = resolve_model_argument(options.models.models, options.models.id);
  const auto reference_path = resolve_reference(options.models, resolved);
  RunnerOptions runner = runner_options(options.runtime);
  runner.host = host_options(options.models, resolved);
  runner.torch.watch_leaves = true;  // weights are told apart by the leaves that hold them
  DiagnosisOptions diagnosis{
      .quick = options.quick,
      .compare = {.candidate_runtime = runner.onnx, .reference_runtime = runner.onnx},
      .layers = {.host = runner.host, .io = options.io, .runtime = runner.onnx},
      .debug = {.runtime = runner.onnx, .io = options.io},
      .runner = runner};
  diagnosis.compare.compare.io = options.io;
  const DiagnosisResult result = with_progress("diagnosing", [&](Progress progress) {
    diagnosis.compare.compare.progress = std::move(progress);
    return diagnose(reference_path, resolved.model, options.input, diagnosis);
  });
  RunDescription run = describe_run("diagnose", resolved, reference_path, options.runtime);
  run.precision = result.precision;
  run.inputs = result.inputs;
  if (result.compare) run.samples = result.compare->samples;
  describe_io(options.io, run);
  run.interrupted = result.interrupted;
  describe_host(run, result.versions);
  write_result(options.output, describe_diagnosis(run, result),
               [&] { return diagnosis_json(run, result); });
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace

void add_diagnose(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand(
      "diagnose", "Find what is wrong between two models: where, why, and what brings it back");
  add_model_options(*command, options->models,
                    "The candidate: .onnx file, folder of an export, or an id", ",--candidate",
                    ",REFERENCE")
      ->required();
  OptionGroup main(*command, main_group);
  main.add("--data", options->data, "Real inputs: an .npz or .npy, or a dataset", "PATH");
  main.flag("--quick", options->quick, "Ask the first five questions: not where, nor what helps");
  add_input_options(*command, options->input);
  add_io_options(*command, options->io);
  add_runtime_options(*command, options->runtime);
  add_model_id_options(*command, options->models.id);
  add_host_options(*command, options->models);
  add_output_options(*command, options->output);
  command->footer("Example:\n  vernier diagnose model.int8.onnx model.onnx --data images/\n");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
