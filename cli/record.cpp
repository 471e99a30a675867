#include "vernier/analysis/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "vernier/error.h"
#include "vernier/report/number.h"

namespace vernier::cli {
namespace {

struct RecordCommand {
  std::string model;
  ModelIdOptions id;
  HostOptions host;
  std::string output;
  std::vector<std::string> tensors = {"outputs"};
  InputSpec inputs;
  TextInput text;
  IoMapping io;
  RuntimeOptions runtime;
};

void require_recordable(const RecordCommand& options, ModelFormat format) {
  if (format == ModelFormat::recorded)
    throw Error(fmt::format("[record] {}: is recorded already; give a model (.onnx or .pt)",
                            options.model));
  if (format == ModelFormat::onnx && std::ranges::count(options.tensors, "leaves"))
    throw Error(fmt::format("[record] {}: only a PyTorch model has leaves; pass --tensors all",
                            options.model));
}

// The opened model. An ONNX model is kept, because its inputs are drawn by its graph.
struct OpenedModel {
  std::optional<Model> onnx;
  std::unique_ptr<Runner> runner;  // null if nothing is run
};

// Whether only outputs are selected, by kind or by name.
bool are_outputs(const TensorSelection& tensors, const std::vector<TensorSpec>& outputs) {
  const std::vector<std::string> names = names_of(outputs);
  return !tensors.intermediates && std::ranges::all_of(tensors.patterns, [&](const auto& pattern) {
    return std::ranges::count(names, pattern) > 0;
  });
}

OpenedModel open_model(const RecordCommand& options, const TensorSelection& tensors,
                       ModelFormat format) {
  RunnerOptions runner = runner_options(options.runtime);
  runner.torch.watch_leaves = tensors.needs_intermediates();
  if (format == ModelFormat::hosted) {
    runner.host = own_host(options.host, options.id, options.inputs);
    if (tensors.needs_intermediates() && runner.host.watch == HostWatch::nothing)
      runner.host.watch = HostWatch::layers;
  }
  if (format != ModelFormat::onnx) return {.runner = open_runner(options.model, runner)};
  OpenedModel opened{.onnx = Model::load(options.model)};
  if (!are_outputs(tensors, opened.onnx->outputs())) runner.onnx.watch = Watch::all();
  if (tensors.needs_run())
    opened.runner = std::make_unique<OrtRunner>(opened.onnx->clone(), runner.onnx);
  return opened;
}

// Prints one line per reason, with the first few of the selected tensors.
void print_left_out(const std::vector<UnwatchedTensor>& tensors, const TensorSelection& asked) {
  constexpr std::size_t shown = 3;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const UnwatchedTensor& tensor : tensors)
    if (asked.intermediates || asked.has_pattern_of(tensor.name))
      by_reason[tensor.reason].push_back(tensor.name);
  for (auto& [reason, names] : by_reason) {
    const std::size_t count = names.size();
    if (count > shown) names.resize(shown);
    fmt::print(stderr, "warning: left out: {}{}: {}\n", fmt::join(names, ", "),
               count > shown ? fmt::format(" and {} more", count - shown) : "", reason);
  }
}

int run_record(RecordCommand& options) {
  const ModelFormat format = model_format(options.model);
  require_recordable(options, format);
  read_text_input(options.text, options.model, options.id.python, options.inputs);
  const bool has_tokens = !options.inputs.tokens.empty() || !options.inputs.data.empty();
  if (options.inputs.whole_sequences && has_tokens && !options.inputs.samples)
    options.inputs.samples = all_samples;
  RecordOptions record_options{.output = options.output,
                               .tensors = parse_selection(options.tensors)};
  const OpenedModel model = open_model(options, record_options.tensors, format);
  const std::vector<TensorSpec> specs = model.onnx ? model.onnx->inputs() : model.runner->inputs();
  require_inputs(options.io, specs);
  const Inputs inputs = make_inputs({.inputs = specs,
                                     .path = options.model,
                                     .onnx = model.onnx ? &*model.onnx : nullptr,
                                     .io = options.io},
                                    options.inputs);
  print_warnings(inputs.warnings);
  if (model.runner) print_warnings(model.runner->warnings());
  record_options.order = inputs.order;
  record_options.made_up = !has_real_inputs(options.inputs);
  const RecordResult result = with_progress("record", record_options.progress, [&] {
    return record(*inputs.samples, model.runner.get(), record_options);
  });
  if (record_options.tensors.needs_run())
    print_left_out(model.runner->unwatched(), record_options.tensors);
  print_left_out(result.left_out, {.intermediates = true});
  fmt::print("{}: {} of {}\n", options.output, format_count(result.tensors.size(), "array"),
             format_count(result.samples, "sample"));
  if (result.interrupted) fmt::print(stderr, "interrupted: kept the samples that were finished\n");
  return result.interrupted ? exit_interrupted : exit_pass;
}

}  // namespace

void add_record(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<RecordCommand>();
  auto* command = program.add_subcommand("record", "Run a model and save its tensors");
  OptionGroup main(*command, main_group);
  main.add("MODEL,-m,--model", options->model,
           ".onnx, TorchScript in .pt, or a PyTorch model (FILE.py:FUNCTION, hf:ID, timm:NAME, "
           ".pt2)",
           "MODEL")
      ->required();
  main.add("-o,--output", options->output,
           "OUT.npz; or a folder with an .npz for each sample, which also holds tensors whose "
           "shape varies",
           "PATH")
      ->required();
  main.add("--tensors", options->tensors,
           "inputs (runs nothing), outputs, all, leaves (of PyTorch), labels (of a dataset), or a "
           "pattern such as '*/Relu_output_0'; several with commas",
           "WHICH")
      ->delimiter(',')
      ->default_str("outputs");
  add_input_options(*command, options->inputs);
  add_text_options(*command, options->text);
  OptionGroup(*command, "Inputs")
      .flag("--whole-sequences", options->inputs.whole_sequences,
            "Of a decoder: all tokens of a sequence at once, so that the logits are a reference of "
            "eval --task text-generation");
  add_constant_options(*command, options->io);
  add_runtime_options(*command, options->runtime);
  add_live_model_options(*command, options->id, options->host);
  command->footer(
      "Example:\n  vernier record model.onnx -o tensors.npz --tensors all --samples 8\n");
  command->callback([options, &exit_code] { exit_code = run_record(*options); });
}

}  // namespace vernier::cli
