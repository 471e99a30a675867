#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "vernier/analysis/diagnosis.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/report/command_line.h"
#include "vernier/report/detail.h"
#include "vernier/report/diagnosis.h"
#include "vernier/report/graph_json.h"

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

// What tells quantize and repair of the same inputs.
std::string data_argument(const InputSpec& input) {
  if (!input.data.empty()) return "--data " + shell_argument(input.data.string());
  if (!input.dataset.name.empty()) return "--dataset " + shell_argument(input.dataset.name);
  return "";  // nothing is made for inputs that are made up
}

void describe(RunDescription& run, const Options& options, const DiagnosisResult& result) {
  run.precision = result.precision;
  run.inputs = result.inputs;
  if (result.compare) run.samples = result.compare->samples;
  describe_io(options.io, run);
  run.interrupted = result.interrupted;
  describe_host(run, result.versions);
}

std::string detail_of(const DetailRecord& record, const DiagnosisResult& result,
                      const std::string& choice) {
  if (result.debug) return detail_json(record, *result.debug, parse_detail(choice));
  if (result.layers) return detail_json(record, *result.layers, parse_detail(choice));
  return "";
}

// The screen, beside the file that holds everything.
void show_screen(const Options& options, DiagnosisSubject subject, const DiagnosisResult& result) {
  if (session()) return;
  subject.report = options.output.file;
  write_result({.no_color = options.output.no_color}, describe_diagnosis(subject, result), {});
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
  DetailRecord detail;
  diagnosis.layers.show_pair = diagnosis.debug.show_pair = detail_recorder(options.output, detail);
  const DiagnosisResult result = [&] {
    ProgressBar bar("diagnosing");
    diagnosis.asking = [&](Question question) {
      bar.begin(fmt::format("diagnosing: {}", question_name(question)));
      return Progress(std::ref(bar));
    };
    return diagnose(reference_path, resolved.model, options.input, diagnosis);
  }();
  DiagnosisSubject subject{
      .run = describe_run("diagnose", resolved, reference_path, options.runtime),
      .candidate = resolved.model.string(),
      .reference = reference_path.string(),
      .data = data_argument(options.input)};
  describe(subject.run, options, result);
  if (!options.output.file.empty()) show_screen(options, subject, result);
  write_result(options.output, describe_diagnosis(subject, result),
               [&] { return diagnosis_json(subject, result); },
               {.graph = [&] { return graph_json(load_candidate(resolved.model)); },
                .detail = [&] { return detail_of(detail, result, options.output.detail); }});
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
  add_detail_option(*command, options->output);
  command->footer(
      "Example:\n  vernier diagnose model.int8.onnx model.onnx --data images/ -o report.html\n");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
