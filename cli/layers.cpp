#include "vernier/analysis/layers/layers.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/model_argument.h"
#include "cli/output_options.h"
#include "cli/progress.h"
#include "cli/runtime_options.h"
#include "cli/validators.h"
#include "vernier/error.h"
#include "vernier/report/layers.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string candidate;
  std::string reference;
  std::optional<double> tolerance;
  std::string truth;
  int around = 3;
  int top = 10;
  ModelIdOptions id;
  InputOptions input{.default_distribution = "normal"};
  RuntimeOptions runtime;
  OutputOptions output;
};

fs::path reference_path(const Options& options, const ModelArgument& argument) {
  if (!options.reference.empty()) return options.reference;
  if (!argument.reference.empty()) return argument.reference;
  throw Error(
      fmt::format("[layers] {}: no reference; pass --reference MODEL.pt, MODEL.onnx or TENSORS.npz",
                  argument.name));
}

LayersOptions layers_options(const Options& options, const fs::path& reference) {
  return {.reference = reference,
          .tolerance = options.tolerance,
          .truth = !options.truth.empty(),
          .runtime = runner_options(options.runtime).onnx};
}

int show(const Options& options, const LayersSubject& subject, const LayersResult& result) {
  const bool full = output_format(options.output) == "md";
  write_result(options.output, describe_layers(subject, result, full),
               [&] { return layers_json(subject, result); });
  return exit_code(result.verdict, result.interrupted);
}

LayersSubject subject_of(const Options& options, const std::string& candidate,
                         const fs::path& reference) {
  return {.candidate = candidate,
          .reference = reference.filename(),
          .inputs = "recorded",
          .tolerance = options.tolerance.value_or(default_tolerance),
          .optimize = options.runtime.optimize,
          .around = options.around,
          .top = options.top,
          .runtimes = {.torch = model_format(reference) == ModelFormat::torchscript}};
}

int run_recorded(const Options& options, const ModelArgument& argument) {
  const fs::path reference = reference_path(options, argument);
  if (model_format(reference) != ModelFormat::recorded)
    throw Error(fmt::format(
        "[layers] {}: recorded tensors of the candidate are compared with recorded ones; record "
        "the reference's with 'vernier record --tensors leaves'",
        reference.string()));
  const LayersSubject subject = subject_of(options, argument.name, reference);
  return show(options, subject,
              validate_recorded_layers(argument.model, layers_options(options, reference)));
}

int run(const Options& options) {
  require_writable(options.output);
  const ModelArgument argument = resolve_model_argument({options.candidate}, options.id);
  if (model_format(argument.model) == ModelFormat::recorded) return run_recorded(options, argument);
  if (model_format(argument.model) != ModelFormat::onnx)
    throw Error(
        fmt::format("[layers] {}: the candidate must be an .onnx model or tensors recorded "
                    "from one; export it first",
                    argument.model.string()));
  const fs::path reference = reference_path(options, argument);
  const Model candidate = Model::load(argument.model);
  Inputs inputs = make_inputs(options.input, candidate.inputs(), argument.model);
  print_warnings(inputs.warnings);
  ProgressBar progress("validating");
  LayersOptions layers = layers_options(options, reference);
  layers.progress = std::ref(progress);
  const LayersResult result = validate_layers(candidate, *inputs.samples, layers);
  LayersSubject subject = subject_of(options, argument.name, reference);
  subject.inputs = inputs.description;
  subject.runtimes.onnxruntime = true;
  return show(options, subject, result);
}

}  // namespace

void add_layers(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand(
      "layers", "Find the layer at which an exported model starts to differ, and why");
  command
      ->add_option("candidate,--candidate", options->candidate,
                   "The exported model: a file, the folder of an export, or a model's id; or "
                   "tensors recorded from it")
      ->required()
      ->type_name("C.onnx|ID|C.npz");
  command
      ->add_option("--reference", options->reference,
                   "What it was made from: TorchScript, another .onnx, or recorded tensors (known "
                   "for an export and an id)")
      ->type_name("R.pt|R.onnx|R.npz");
  command
      ->add_option(
          "--tolerance", options->tolerance,
          "A layer exceeds when its max_abs_diff is greater (default: 1e-4, or what rounding "
          "explains)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--truth", options->truth,
                   "Run the reference in this precision as well, and measure both against it")
      ->check(CLI::IsMember({"fp64"}));
  command->add_option("--around", options->around, "Rows shown before and after the origin")
      ->check(at_least(0))
      ->capture_default_str();
  command->add_option("--top", options->top, "Rows of the table of the worst")
      ->check(at_least(1))
      ->capture_default_str();
  add_input_options(*command, options->input);
  add_runtime_options(*command, options->runtime);
  add_model_id_options(*command, options->id);
  add_output_options(*command, options->output);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
