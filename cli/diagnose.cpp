#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/input_options.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "vernier/analysis/diagnosis/diagnosis.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/error.h"
#include "vernier/report/command_line.h"
#include "vernier/report/detail.h"
#include "vernier/report/diagnosis.h"
#include "vernier/report/graph_json.h"

namespace vernier::cli {
namespace {

struct DiagnoseCommand {
  ModelOptions models;
  InputSpec input{.default_samples = default_diagnose_samples};
  IoMapping io;
  bool quick = false;
  std::string data;
  std::vector<CLI::Option*> preparing;  // options of datasets
  std::vector<CLI::Option*> shaping;    // other options that repair and tune need
  RuntimeOptions runtime;
  OutputOptions output;
};

// --data is an array file or a dataset. An array file with options of a dataset is taken as a
// dataset.
void take_data(DiagnoseCommand& options) {
  const std::filesystem::path path = options.data;
  const auto prepared = std::ranges::find_if(
      options.preparing, [](const CLI::Option* option) { return option->count() > 0; });
  if (prepared != options.preparing.end() && path.empty() && options.input.dataset.name.empty())
    throw Error(
        fmt::format("[diagnose] {}: there is no dataset; give --data", (*prepared)->get_name()));
  if (path.empty()) return;
  const bool is_array = path.extension() == ".npz" || path.extension() == ".npy";
  if (is_array && prepared == options.preparing.end())
    options.input.data = path;
  else
    options.input.dataset.name = options.data;
}

// The option as it was given, " --mean 0.5,0.5"; empty if it was not.
std::string given(const CLI::Option& option) {
  if (option.count() == 0) return "";
  const auto& values = option.results();
  if (is_flag(option)) return (values[0] == "false" ? " --no-" : " --") + option.get_lnames()[0];
  const std::string name = " --" + option.get_lnames()[0] + " ";
  if (option.get_delimiter() != 0)
    return name + shell_argument(fmt::format("{}", fmt::join(values, ",")));
  std::string text;
  for (const std::string& value : values) text += name + shell_argument(value);
  return text;
}

// The arguments that give repair and tune the same inputs.
std::string data_argument(const DiagnoseCommand& options) {
  const InputSpec& input = options.input;
  std::string text;
  if (!input.data.empty())
    text = "--data " + shell_argument(input.data.string());
  else if (!input.dataset.name.empty())
    text = "--dataset " + shell_argument(input.dataset.name);
  else
    return "";  // synthetic inputs cannot be passed on
  for (const CLI::Option* option : options.preparing) text += given(*option);
  for (const CLI::Option* option : options.shaping) text += given(*option);
  return text;
}

// Allows options of datasets with --data, which may be a dataset, and collects them.
void find_data_options(CLI::App& command, DiagnoseCommand& options) {
  CLI::Option* dataset = command.get_option("--dataset");
  for (CLI::Option* option : command.get_options())
    if (option->get_group() == dataset_group) {
      option->remove_needs(dataset);
      options.preparing.push_back(option);
    }
  for (const char* name : {"--shape", "--set"}) options.shaping.push_back(command.get_option(name));
}

void describe(RunDescription& run, const DiagnoseCommand& options, const DiagnosisResult& result) {
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

// Shows the result on the screen, in addition to the file.
void show_screen(const DiagnoseCommand& options, DiagnosisSubject subject,
                 const DiagnosisResult& result) {
  if (session()) return;
  subject.report = options.output.file;
  write_result({.no_color = options.output.no_color}, describe_diagnosis(subject, result), {});
}

int run_diagnose(DiagnoseCommand& options) {
  require_writable(options.output);
  take_data(options);
  const ResolvedModel resolved = resolve_model_argument(options.models.models, options.models.id);
  const auto reference_path = resolve_reference(options.models, resolved);
  RunnerOptions runner = runner_options(options.runtime);
  runner.host = host_options(options.models, resolved);
  runner.torch.watch_leaves = true;  // weights are identified by their leaves
  DiagnosisOptions diagnosis{
      .quick = options.quick,
      .compare = {.candidate_runtime = runner.onnx, .reference_runtime = runner.onnx},
      .layers = {.host = runner.host, .io = options.io, .runtime = runner.onnx},
      .debug = {.runtime = runner.onnx, .io = options.io},
      .runner = runner};
  diagnosis.compare.compare.io = options.io;
  std::string graph;
  if (shows_graph(options.output))
    diagnosis.loaded = [&](const ModelIndex& candidate) { graph = graph_json(candidate); };
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
      .data = data_argument(options)};
  describe(subject.run, options, result);
  if (!options.output.file.empty()) show_screen(options, subject, result);
  write_result(options.output, describe_diagnosis(subject, result),
               [&] { return diagnosis_json(subject, result); },
               {.graph = [&] { return graph; },
                .detail = [&] { return detail_of(detail, result, options.output.detail); }});
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace

void add_diagnose(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<DiagnoseCommand>();
  auto* command =
      program.add_subcommand("diagnose", "Find what is wrong, where, why, and what repairs it");
  add_model_options(*command, options->models,
                    "The candidate: .onnx file, folder of an export, or an id", ",--candidate")
      ->required();
  OptionGroup main(*command, main_group);
  main.add("--data", options->data, "Real inputs: an .npz or .npy, or a dataset", "PATH");
  main.flag("--quick", options->quick,
            "Stop after five questions: skip where it starts and how to fix it");
  add_input_options(*command, options->input, "--input-data");
  add_io_options(*command, options->io);
  add_runtime_options(*command, options->runtime);
  add_model_id_options(*command, options->models.id);
  add_host_options(*command, options->models);
  add_output_options(*command, options->output);
  add_detail_option(*command, options->output);
  find_data_options(*command, *options);
  command->footer(
      "Example:\n  vernier diagnose model.int8.onnx model.onnx --data images/ -o report.html\n");
  command->callback([options, &exit_code] { exit_code = run_diagnose(*options); });
}

}  // namespace vernier::cli
