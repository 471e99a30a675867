#include "vernier/analysis/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/progress.h"
#include "cli/runtime_options.h"
#include "vernier/error.h"
#include "vernier/report/number.h"

namespace vernier::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  std::vector<std::string> tensors = {"outputs"};
  InputOptions inputs;
  RuntimeOptions runtime;
};

void require_recordable(const Options& options, ModelFormat format) {
  if (format == ModelFormat::recorded)
    throw Error(fmt::format("[record] {}: is recorded already; give a model (.onnx or .pt)",
                            options.model));
  if (format == ModelFormat::onnx && std::ranges::count(options.tensors, "leaves"))
    throw Error(fmt::format("[record] {}: only a TorchScript model has leaves; pass --tensors all",
                            options.model));
}

std::unique_ptr<Runner> open(const Options& options, const TensorSelection& tensors) {
  RunnerOptions runner = runner_options(options.runtime);
  if (tensors.needs_intermediates()) {
    runner.onnx.watch = Watch::all();
    runner.torch.watch_leaves = true;
  }
  return open_runner(options.model, runner);
}

// One line for each reason, with the first few names.
void print_left_out(const std::vector<UnwatchedTensor>& tensors) {
  constexpr std::size_t shown = 3;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto& [name, reason] : tensors) by_reason[reason].push_back(name);
  for (auto& [reason, names] : by_reason) {
    const std::size_t count = names.size();
    if (count > shown) names.resize(shown);
    fmt::print(stderr, "warning: left out: {}{}: {}\n", fmt::join(names, ", "),
               count > shown ? fmt::format(" and {} more", count - shown) : "", reason);
  }
}

int run(const Options& options) {
  const ModelFormat format = model_format(options.model);
  require_recordable(options, format);
  RecordOptions record_options{.output = options.output,
                               .tensors = parse_selection(options.tensors)};
  const bool run_model = record_options.tensors.needs_run();
  const bool specs_only = !run_model && format == ModelFormat::onnx;
  const std::unique_ptr<Runner> runner =
      specs_only ? nullptr : open(options, record_options.tensors);
  const Inputs inputs = make_inputs(
      options.inputs, specs_only ? Model::load(options.model).inputs() : runner->inputs(),
      options.model);
  print_warnings(inputs.warnings);

  RecordResult result;
  {
    ProgressBar bar("record");
    record_options.progress = std::ref(bar);
    result = record(*inputs.samples, runner.get(), record_options);
  }
  if (run_model) print_left_out(runner->unwatched());
  print_left_out(result.left_out);
  fmt::print("{}: {} of {}\n", options.output, format_count(result.tensors.size(), "array"),
             format_count(result.samples, "sample"));
  if (result.interrupted) fmt::print(stderr, "interrupted: kept the samples that were finished\n");
  return result.interrupted ? exit_interrupted : exit_pass;
}

}  // namespace

void add_record(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("record", "Run a model and save its tensors");
  command->add_option("MODEL", options->model, ".onnx, or TorchScript in .pt")->required();
  command
      ->add_option("-o,--output", options->output,
                   "OUT.npz, or a folder for an .npz a sample: that also holds tensors whose shape "
                   "varies")
      ->required()
      ->type_name("PATH");
  command
      ->add_option("--tensors", options->tensors,
                   "inputs (runs nothing), outputs, all, leaves (of PyTorch), or a pattern such as "
                   "'*/Relu_output_0'; several with commas")
      ->delimiter(',')
      ->capture_default_str()
      ->type_name("WHICH");
  add_input_options(*command, options->inputs);
  add_runtime_options(*command, options->runtime);
  command->footer(
      "Example:\n  vernier record model.onnx -o tensors.npz --tensors all --samples 8\n");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
