#include "vernier/analysis/quantize/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/quantize.h"
#include "vernier/error.h"
#include "vernier/exporting/process.h"
#include "vernier/model/precision.h"
#include "vernier/report/quantize.h"
#include "vernier/report/sweep.h"

extern char** environ;

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

struct SweepCommand {
  QuantizeCommand quantize;
  std::vector<std::string> precisions = {"fp16", "w8a8", "w8a16", "w8"};
  int runs = 15;
};

// Peak memory in bytes of `vernier record` running one sample of the model; nullopt if it fails.
std::optional<std::int64_t> peak_memory(const fs::path& model, const fs::path& folder) {
  const fs::path outputs = folder / "outputs.npz";
  std::vector<std::string> words = {
      "/proc/self/exe", "record", model.string(), "-o", outputs.string(), "--samples", "1"};

  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  const int failed = posix_spawn(&process, words[0].c_str(), &quiet, nullptr,
                                 exec_arguments(words).data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failed != 0) return std::nullopt;
  int status = 0;
  rusage usage{};
  const bool ended = wait4(process, &status, 0, &usage) == process;
  std::error_code ignored;
  fs::remove(outputs, ignored);
  if (!ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

int run_sweep(SweepCommand& options) {
  QuantizeCommand& command = options.quantize;
  require_no_report(command.quantized, "a folder of models");
  require_writable(command.output);
  const Model model = Model::load(command.model);
  if (precision_of(model) == Precision::int8)
    throw Error(fmt::format(
        "[sweep] {}: is quantized already; give the float model it was made from", model.name()));
  const CalibrationData data = calibration_data(model, command.input);
  if (!data.inputs.samples)
    throw Error(
        fmt::format("[sweep] {}: configurations are measured on data; give --data or "
                    "--dataset",
                    model.name()));
  print_warnings(data.inputs.warnings);
  MeasuredParts checkpoint = checkpoint_of(command, model, data);
  require_blocks(command, options.precisions);
  QuantizeOptions quantize = quantize_options(command);
  quantize.records = checkpoint.records();
  ProgressBar bar("sweeping");
  SweepResult result = sweep(
      model, *data.inputs.samples,
      {.precisions = options.precisions,
       .folder = command.quantized,
       .quantize = quantize,
       .inputs = data.inputs.description,
       .latency_runs = options.runs,
       .peak_memory = [&](const fs::path& file) { return peak_memory(file, command.quantized); },
       .progress =
           [&](std::size_t done, std::size_t total, const std::string&) {
             return bar(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
           }});
  result.warnings = with_doubts(data, std::move(result.warnings));
  RunDescription run = quantize_run("sweep", command, data);
  run.candidate.clear();
  run.precision.clear();
  run.interrupted = result.interrupted;
  write_result(command.output, describe_sweep(run, result),
               [&] { return sweep_json(run, result); });
  return result.interrupted ? exit_interrupted : exit_pass;
}

}  // namespace

void add_sweep(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<SweepCommand>();
  auto* command =
      program.add_subcommand("sweep", "Measure a model in several precisions, side by side");
  OptionGroup main(*command, main_group);
  main.add("MODEL,-m,--model", options->quantize.model, "The float32 .onnx model", "MODEL")
      ->required();
  main.add("--precisions", options->precisions,
           "fp16 and what vernier quantize --precision takes, with commas", "LIST")
      ->delimiter(',')
      ->default_str("fp16,w8a8,w8a16,w8");
  main.add("-o,--output", options->quantize.quantized,
           "Folder for the models; those that are finished there are not made again", "FOLDER")
      ->required();
  main.add("--runs", options->runs, "Alternating runs that latency is the median of", "N")
      ->check(at_least(1));
  add_quantizing_options(*command, options->quantize);
  command->footer(
      "Example:\n  vernier sweep model.onnx --precisions fp16,w8a8,w8 --data calibration.npz -o "
      "sweep\n");
  command->callback([options, &exit_code] { exit_code = run_sweep(*options); });
}

}  // namespace vernier::cli
